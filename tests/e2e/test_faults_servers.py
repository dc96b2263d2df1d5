"""A short selection of the fault matrix on PostgreSQL and Redis; `make faults` runs all, on both backings."""

import matrix
import pytest


@pytest.fixture(scope="module")
def world(tmp_path_factory, redis_server, postgres_server):
    return matrix.World(tmp_path_factory.mktemp("servers"), redis=redis_server, postgres=postgres_server)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", matrix.short(on_servers=True), ids=matrix.Case.name)
def test_after_the_fault_the_state_is_true_and_nothing_is_lost(world, case):
    assert not any(matrix.counted(world, case).values())
