"""A short selection of the fault matrix, each case on one of the backings in turn; `make faults` runs all on both."""

import matrix
import pytest
from faulty import Skipped

SHORT = [case for case in matrix.CASES if case.short]
PLACED = [
    (case, "on_servers" if case.needs in (matrix.REDIS, matrix.POSTGRES) or place % 2 else "embedded")
    for place, case in enumerate(SHORT)
]


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    return matrix.World(tmp_path_factory.mktemp("embedded"))


@pytest.fixture(scope="module")
def on_servers(tmp_path_factory, redis_server, postgres_server):
    return matrix.World(tmp_path_factory.mktemp("servers"), redis=redis_server, postgres=postgres_server)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("case", "backing"),
    PLACED,
    ids=[f"{case.number}-{case.fault}-{case.moment}-{where}" for case, where in PLACED],
)
def test_after_the_fault_the_state_is_true_and_nothing_is_lost(request, backing, case):
    try:
        counters = case.run(request.getfixturevalue(backing), case.moment)
    except Skipped as exc:
        pytest.skip(str(exc))
    assert not any(counters.values())
