"""One thread a test process: small tensors gain nothing from two, and spinning threads starve each other."""

import os

import pytest
import servers

os.environ["OMP_NUM_THREADS"] = "1"


@pytest.fixture(scope="session")
def redis_server():
    """A Redis of this test process's own; whoever kills or freezes it leaves it running again."""
    with servers.Redis() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL of this test process's own; ask it for a `database()` of your own."""
    with servers.Postgres() as server:
        yield server
