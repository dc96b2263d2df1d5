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


@pytest.fixture
def sabotage(tmp_path, monkeypatch):
    """Code that runs in every child as it starts, or in the place of torch."""

    def place(torch=None, start=None):
        for name, code in (("torch", torch), ("sitecustomize", start)):
            if code is not None:
                (tmp_path / "first").mkdir(exist_ok=True)
                (tmp_path / "first" / f"{name}.py").write_text(code)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "first"))

    return place
