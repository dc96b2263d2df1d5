"""A pool that does not hear any more is told by hints that nobody takes although somebody is free."""

from types import SimpleNamespace

from app.core import schema
from app.core.settings import Settings
from worker import bell, hearing

LONG = hearing.PATIENCE + 1


def test_a_hint_that_lies_there_while_a_process_is_free_tells_that_none_hears():
    pool = hearing.Hearing()
    assert not pool.lost({"a"}, free=True, now=0.0)
    assert not pool.lost({"a", "b"}, free=True, now=hearing.PATIENCE)
    assert pool.lost({"a", "b"}, free=True, now=LONG)


def test_hints_that_come_and_are_taken_tell_nothing():
    pool = hearing.Hearing()
    assert not any(pool.lost({str(look)}, free=True, now=float(look)) for look in range(60))


def test_hints_wait_as_long_as_everybody_is_at_work():
    pool = hearing.Hearing()
    assert not any(pool.lost({"a"}, free=False, now=float(look)) for look in range(60))
    assert not pool.lost({"a"}, free=True, now=60.0), "the wait begins when one is free"
    assert pool.lost({"a"}, free=True, now=59.0 + LONG)


def test_a_process_that_is_about_to_start_is_not_counted(tmp_path):
    chosen = Settings(home=tmp_path)
    schema.upgrade(chosen.database)
    processes = [SimpleNamespace(pid=11), SimpleNamespace(pid=None)]
    relay = bell.Bell(chosen, SimpleNamespace(_pool=SimpleNamespace(_pool=processes)))
    assert relay._processes() == [11]
