"""Versions and aliases in SQL, on SQLite and on PostgreSQL: whoever races, one wins and the others are told."""

import threading

import pytest
import sqlalchemy
from sqlalchemy import select

from app.core import aliases, claims, errors, ids, jobs, models, ownership, schema
from app.core.callers import DEFAULT_PROJECT, Caller
from app.core.tables import Alias, AliasMove, Dataset, Intake, Model


@pytest.fixture
def database(database):
    return ownership.of(database, Caller("key", DEFAULT_PROJECT, frozenset()))


def hold(database):
    """A job in our hands."""
    with database.begin() as tx:
        known = {"name": "d", "options": {}, "bytes": 1, "source_sha256": ""}
        made = Dataset(id=ids.new("ds"), state=Intake.ready, **known)
        tx.add(made)
        tx.flush()
        jobs.create(tx, made, task="train", config={}, manifest={})
        return claims.claim(tx, owner="w", tasks=["train"], lease=90, crash_limit=3)


def publish(database, name="m", held=None):
    claim = held or hold(database)
    model = Model(id=ids.new("mdl"), job_id=claim.job_id, name=name, folder="f", sha256="", card={})
    with database.begin() as tx:
        claims.succeed(tx, claim, {}, model)
    return model


def together(works):
    """Do all at once; what each gave or raised."""
    start, results = threading.Barrier(len(works)), [None] * len(works)

    def one(place):
        start.wait(60)
        try:
            results[place] = works[place]()
        except errors.ServiceError as exc:
            results[place] = exc

    threads = [threading.Thread(target=one, args=(place,)) for place in range(len(works))]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    return results


def test_models_that_are_published_at_once_get_numbers_without_a_gap(database):
    held = [hold(database) for _ in range(8)]
    made = together([lambda claim=claim: publish(database, held=claim).version for claim in held])
    assert sorted(made) == list(range(1, 9))


def test_a_publication_that_is_lost_takes_no_number(database):
    zombie = hold(database)
    publish(database, held=zombie)
    with pytest.raises(claims.Lost):
        publish(database, held=zombie)
    assert publish(database).version == 2


def test_of_those_who_create_an_alias_at_once_one_does(database):
    model = publish(database)

    def create():
        with database.begin() as tx:
            return aliases.create(tx, model, "default").number

    found = together([create] * 6)
    assert found.count(1) == 1
    assert sum(isinstance(one, errors.Moved) for one in found) == 5


def test_of_those_who_move_an_alias_from_one_place_one_does(database):
    made = [publish(database) for _ in range(6)]
    with database.begin() as tx:
        aliases.create(tx, made[0], "default")

    def move(model):
        with database.begin() as tx:
            aliases.move(tx, tx.get(Model, model.id), "default", {1})
            return model.id

    found = together([lambda model=model: move(model) for model in made[1:]])
    (winner,) = [one for one in found if isinstance(one, str)]
    assert sum(isinstance(one, errors.Moved) for one in found) == 4
    with database.read() as tx:
        assert models.resolve(tx, "m").id == winner
        assert len(tx.scalars(select(AliasMove)).all()) == 2


def test_an_alias_never_points_at_what_is_being_deleted(database):
    first = publish(database)
    with database.begin() as tx:
        aliases.create(tx, first, "default")
    for _ in range(6):
        model = publish(database)

        def move(version=model.version):
            with database.begin() as tx:
                target = aliases.version(tx, "m", model_id=None, number=version)
                aliases.move(tx, target, "default", None)

        def remove(model_id=model.id):
            with database.begin() as tx:
                models.remove(tx, model_id)

        moved, removed = together([move, remove])
        assert (moved is None) != (removed is None), (moved, removed)
        assert getattr(moved or removed, "code", None) in ("unknown_version", "model_in_use")
        with database.read() as tx:
            assert tx.get(Model, tx.scalars(select(Alias)).one().model_id) is not None


def test_rollbacks_that_race_each_go_a_step(database):
    made = [publish(database) for _ in range(4)]
    with database.begin() as tx:
        aliases.create(tx, made[0], "default")
    for model in made[1:]:
        with database.begin() as tx:
            aliases.move(tx, tx.get(Model, model.id), "default", None)

    def roll():
        with database.begin() as tx:
            return aliases.rollback(tx, "m", "default").number

    assert sorted(together([roll] * 3)) == [5, 6, 7]
    with database.read() as tx:
        assert models.resolve(tx, "m").version == 1


def test_what_was_published_before_gets_numbers_by_age_and_keeps_its_rows_on_the_way_back(url):
    schema.upgrade(url, "0003")
    engine = sqlalchemy.create_engine(url)
    job = (
        "INSERT INTO jobs (id, task, state, config, manifest, rank, fence, attempts, crashes, preemptions, shrink,"
        " cancel_requested, last_event, created_at) VALUES ('{0}', 'train', 'succeeded', '{{}}', '{{}}', 0, 1, 1, 0, 0,"
        " 0, false, 1, 1)"
    )
    model = (
        "INSERT INTO models (id, job_id, name, folder, sha256, card, created_at, project_id)"
        " VALUES ('{0}', '{0}', '{1}', 'f', '', '{{}}', 1, '{2}')"
    )
    rows = [("1", "a", "p"), ("2", "b", "p"), ("3", "a", "p"), ("4", "a", "q")]
    with engine.begin() as connection:
        for row in rows:
            connection.exec_driver_sql(job.format(*row))
            connection.exec_driver_sql(model.format(*row))
    schema.upgrade(url)
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT id, version FROM models ORDER BY id").all()
        assert [tuple(row) for row in found] == [("1", 1), ("2", 1), ("3", 2), ("4", 1)]
        counts = connection.exec_driver_sql("SELECT project_id, name, last_version FROM model_names").all()
        assert {tuple(row) for row in counts} == {("p", "a", 2), ("p", "b", 1), ("q", "a", 1)}
    schema.downgrade(url, "0003")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT id FROM models ORDER BY id").scalars().all() == list("1234")
    engine.dispose()
