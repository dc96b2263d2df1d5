"""A home of its own for each test."""

import pytest
import workers


@pytest.fixture
def make_home(tmp_path):
    made = []

    def make(**more):
        made.append(workers.Home(tmp_path / f"home-{len(made)}", **more))
        return made[-1]

    yield make
    for home in made:
        home.close()


@pytest.fixture
def home(make_home):
    return make_home()
