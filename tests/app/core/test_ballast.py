"""Bytes set aside, and let go when a full disk would keep even a delete from being written."""

import sqlite3

import pytest
from sqlalchemy.exc import OperationalError

from app.core import ballast, db, settings

SIZE = 2**16


@pytest.fixture
def database(tmp_path):
    found = db.Database(settings.Settings(home=tmp_path).database)
    yield found
    found.close()


@pytest.fixture
def place(tmp_path, database):
    chosen = settings.Settings(home=tmp_path, ballast_bytes=SIZE)
    return ballast.Ballast(chosen, database), tmp_path / "ballast"


def full():
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return OperationalError("INSERT", None, error)


def test_the_bytes_are_really_taken_and_only_once(place):
    spare, file = place
    spare.lay()
    spare.lay()
    assert file.stat().st_blocks * 512 >= SIZE


def test_a_full_disk_costs_the_ballast_and_the_write_is_done(place, database):
    spare, file = place
    spare.lay()
    tries = []

    def write(tx):
        tries.append(file.exists())
        if file.exists():
            raise full()
        return "done"

    assert spare.pressing(database, write) == "done"
    assert tries == [True, False]
    with pytest.raises(OperationalError):  # nothing is left to let go
        spare.pressing(database, lambda tx: (_ for _ in ()).throw(full()))


def test_another_error_costs_nothing(place, database):
    spare, file = place
    spare.lay()
    with pytest.raises(OperationalError):
        spare.pressing(database, lambda tx: tx.connection().exec_driver_sql("SELECT * FROM nowhere"))
    assert file.exists()


def test_no_room_and_no_file_mean_no_ballast(tmp_path, monkeypatch):
    chosen = settings.Settings(home=tmp_path, ballast_bytes=SIZE)
    on_server = db.Database("postgresql+psycopg://nobody@localhost/none")
    ballast.Ballast(chosen, on_server).lay()
    on_server.close()
    monkeypatch.setattr(ballast, "ROOM", 2**50)
    ballast.Ballast(chosen, db.Database(chosen.database)).lay()
    assert list(tmp_path.iterdir()) == []
