"""A short selection of the fault matrix, on both backings; `make faults` runs all of it."""

import matrix
import pytest

SHORT = [case for case in matrix.CASES if case.short]


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    return matrix.World(tmp_path_factory.mktemp("embedded"))


@pytest.fixture(scope="module")
def on_servers(tmp_path_factory, redis_server, postgres_server):
    return matrix.World(tmp_path_factory.mktemp("servers"), redis=redis_server, postgres=postgres_server)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("case", SHORT, ids=lambda case: f"{case.number}-{case.fault}-{case.moment}")
@pytest.mark.parametrize("backing", ["embedded", "on_servers"])
def test_after_the_fault_the_state_is_true_and_nothing_is_lost(request, backing, case):
    world = request.getfixturevalue(backing)
    if not world.offers(case):
        pytest.skip("a fault of another backing")
    assert not any(case.run(world, case.moment).values())
