"""A short selection of the fault matrix on SQLite and the queue in the worker; `make faults` runs all, on both."""

import matrix
import pytest


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return matrix.World(tmp_path_factory.mktemp("embedded"))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", matrix.short(on_servers=False), ids=matrix.Case.name)
def test_after_the_fault_the_state_is_true_and_nothing_is_lost(world, case):
    assert not any(matrix.counted(world, case).values())
