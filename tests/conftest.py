"""One thread a test process: small tensors gain nothing from two, and spinning threads starve each other."""

import os

import faulty_line
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


@pytest.fixture(scope="session")
def s3_server():
    """An S3-compatible server of this test process's own; take a bucket of your own."""
    with servers.S3() as server:
        yield server


@pytest.fixture(scope="module")
def line(s3_server):
    """A line to that server which can be made to fail; whoever uses it heals it first."""
    proxy = faulty_line.Faulty(s3_server.port)
    yield proxy
    proxy.close()
