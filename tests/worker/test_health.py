"""The pulse of a worker: a file that its relay touches after each look at the queue."""

import os
import time

import pytest
from sqlalchemy.exc import OperationalError

from app.core import schema
from app.core.settings import Settings
from worker import bell, health


def test_a_worker_that_looks_at_the_queue_has_a_pulse(tmp_path):
    chosen = Settings(home=tmp_path, pulse=tmp_path / "pulse")
    schema.upgrade(chosen.database)
    relay = bell.Bell(chosen)
    assert not health.alive(chosen.pulse)
    relay.look()
    assert health.alive(chosen.pulse)


def test_a_worker_without_a_database_has_none(tmp_path):
    chosen = Settings(home=tmp_path, pulse=tmp_path / "pulse")
    schema.upgrade(chosen.database)
    relay = bell.Bell(chosen)
    (tmp_path / "c2s.sqlite3").rename(tmp_path / "away")
    (tmp_path / "c2s.sqlite3").mkdir()
    with pytest.raises(OperationalError):
        relay.look()
    assert not health.alive(chosen.pulse)


def test_an_old_pulse_is_none(tmp_path):
    pulse = tmp_path / "pulse"
    pulse.touch()
    assert health.alive(pulse)
    old = time.time() - health.STALE_SECONDS - 1
    os.utime(pulse, (old, old))
    assert not health.alive(pulse)
