"""Writers of one process share a transaction on SQLite: one flush for many, and yet each is answered for itself."""

import signal
import subprocess
import sys
import threading

import databases
import pytest
from sqlalchemy import event, func, insert, select
from sqlalchemy.exc import IntegrityError, OperationalError

from app.core import db, groups
from app.core.tables import Receipt

COUNT = 12


@pytest.fixture
def embedded(tmp_path):
    url = f"sqlite:///{tmp_path / 'c2s.sqlite3'}"
    databases.prepare(url)
    database = db.Database(url)
    yield database
    database.close()


def keep(key):
    def work(tx):
        tx.execute(insert(Receipt), {"key": key, "request": "r", "resource": key, "status": 202})
        return key

    return work


def kept(database):
    with database.read() as tx:
        return set(tx.scalars(select(Receipt.key)))


def together(database, works):
    """Carry out all of them while the turn to write is taken, so that they wait for it as one group."""
    outcomes = {}

    def one(name, work):
        try:
            outcomes[name] = database.write(work)
        except Exception as exc:
            outcomes[name] = exc

    threads = [threading.Thread(target=one, args=pair) for pair in works.items()]
    with database.begin():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(0.05)
    for thread in threads:
        thread.join(60)
    return outcomes


def test_every_writer_gets_its_own_answer_and_its_own_row(database):
    outcomes = together(database, {f"k{number}": keep(f"k{number}") for number in range(COUNT)})
    assert outcomes == {f"k{number}": f"k{number}" for number in range(COUNT)}
    assert kept(database) == set(outcomes)


def test_those_who_wait_share_one_transaction(embedded):
    begun = []
    event.listen(embedded.writer, "begin", begun.append)
    together(embedded, {f"k{number}": keep(f"k{number}") for number in range(COUNT)})
    assert len(begun) == 1


def test_what_fails_in_a_group_fails_alone(database):
    database.write(keep("taken"))

    def half(tx):
        keep("half")(tx)
        raise LookupError("after its first row")

    good = {f"k{number}": keep(f"k{number}") for number in range(COUNT)}
    outcomes = together(database, good | {"double": keep("taken"), "half": half})
    assert isinstance(outcomes.pop("double"), IntegrityError)
    assert isinstance(outcomes.pop("half"), LookupError)
    assert outcomes == {name: name for name in good}
    assert kept(database) == {"taken", *good}


def test_if_the_commit_fails_nobody_is_told_that_it_went_well(embedded):
    def refuse(_connection):
        raise OperationalError("COMMIT", None, OSError("disk full"))

    event.listen(embedded.writer, "commit", refuse)
    outcomes = []

    def one(work):
        with pytest.raises(OperationalError):
            embedded.write(work)
        outcomes.append("refused")

    threads = [threading.Thread(target=one, args=[keep(f"k{number}")]) for number in range(COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    event.remove(embedded.writer, "commit", refuse)
    assert (len(outcomes), kept(embedded)) == (COUNT, set())
    assert embedded.write(keep("later")) == "later"


def test_a_transaction_that_sqlite_undid_by_itself_fails_all_of_it(embedded):
    def undone(tx):
        tx.connection.dbapi_connection.execute("ROLLBACK")  # as the library does when the disk is full
        raise OperationalError("INSERT", None, OSError("disk full"))

    works = {"first": keep("first"), "undone": undone, **{f"k{n}": keep(f"k{n}") for n in range(COUNT)}}
    outcomes = together(embedded, works)
    done = {name for name, outcome in outcomes.items() if outcome == name}
    assert kept(embedded) == done
    assert isinstance(outcomes["undone"], OperationalError)
    assert embedded.write(keep("later")) == "later"


def test_who_waits_too_long_is_sent_away_and_writes_nothing():
    leave = threading.Event()
    queue = groups.Queue(lambda take: [leave.wait(60), take()], patience=0.2)
    leader = threading.Thread(target=queue.write, args=[None])
    leader.start()
    while not queue._led:
        pass
    with pytest.raises(TimeoutError):
        queue.write(None)
    assert len(queue._waiting) == 1
    leave.set()
    leader.join(60)
    assert not queue._led


KILLED = """
import os, signal, sys, threading
from sqlalchemy import insert
from app.core import db
from app.core.tables import Receipt
database = db.Database(sys.argv[1])
def one(key):
    row = {"key": key, "request": "r", "resource": key, "status": 202}
    database.write(lambda tx: tx.execute(insert(Receipt), row))
    os.write(1, f"{key} ".encode())  # the answer
    answered.set()
answered = threading.Event()
for number in range(300):
    threading.Thread(target=one, args=[f"k{number}"], daemon=True).start()
answered.wait()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_answered_survives_a_kill(embedded):
    found = subprocess.run(
        [sys.executable, "-c", KILLED, str(embedded.url)], capture_output=True, timeout=120
    )
    assert found.returncode == -signal.SIGKILL, found.stderr
    answered = set(found.stdout.decode().split())
    assert answered
    assert answered <= kept(embedded)


def test_a_session_inside_a_group_reads_and_writes_rows_as_objects(database):
    def work(tx):
        with db.mapped(tx, None) as session:
            session.add(Receipt(key="k", request="r", resource="x", status=202))
        with db.mapped(tx, None) as session:
            return session.scalar(select(func.count()).select_from(Receipt))

    assert database.write(work) == 1
    assert kept(database) == {"k"}
