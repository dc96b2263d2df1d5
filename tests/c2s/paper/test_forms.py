import dataclasses
from typing import NoReturn

import numpy as np
import pytest

from c2s import config, pipeline
from c2s.matrix import noise
from c2s.methods import method
from c2s.paper import forms, results, runs, settings, source

AUTO = runs.Run("mnist", "pair-0.45", "f-class2simi", "best")
ASKED = dataclasses.replace(AUTO, method="f-class2simi-exact")
BALANCED = np.full(10, 0.1)


@pytest.fixture(scope="module")
def blobs() -> source.Source:
    """120 + 40 small images of ten classes."""
    rng = np.random.default_rng(0)

    def drawn(rows: int) -> tuple[np.ndarray, np.ndarray]:
        y = np.arange(rows) % 10
        x = rng.integers(0, 60, size=(rows, 28, 28))
        for row, label in enumerate(y):
            x[row, 2 * label : 2 * label + 6, 4:24] += 150
        return x.astype(np.uint8), y

    return source.made("mnist", tuple(range(10)), drawn(120), drawn(40))


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = dataclasses.replace(settings.RECIPES["mnist"], batch_size=32)
    monkeypatch.setitem(settings.RECIPES, "mnist", recipe)
    monkeypatch.setitem(settings._SHORT, "mnist", (1, 2))


def refuse(*args: object, **kwargs: object) -> NoReturn:
    raise AssertionError("it must not train")


def test_pairs_tell_the_form_that_the_matrix_asked_for() -> None:
    flips, even = noise.pair_flip(10, 0.45), noise.symmetric(10, 0.4)
    assert forms.held_to(config.ForwardSimi(), flips, BALANCED) == "exact"
    assert forms.held_to(config.ReweightSimi(), even, BALANCED) == "similarity"
    assert forms.held_to(config.ReweightSimi(correction="exact"), even, BALANCED) == "exact"
    assert forms.held_to(config.Forward(), flips, BALANCED) is None


def test_where_auto_took_the_exact_form_the_run_that_asks_for_it_is_that_training(
    blobs: source.Source, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(method, "EXACT_ABOVE", -1.0)
    auto = runs.run_cell(AUTO, blobs, out=tmp_path / "shared")
    alone = runs.run_cell(ASKED, blobs, out=tmp_path / "alone")
    assert (auto["form"], alone["form"]) == ("exact", "exact")
    assert alone["epochs"] == auto["epochs"]
    monkeypatch.setattr(pipeline, "run", refuse)
    told = runs.run_cell(ASKED, blobs, out=tmp_path / "shared")
    assert told["same_as"] == auto["key"]
    assert (told["key"], told["method"]) == (ASKED.key, "f-class2simi-exact")
    assert told["config"]["method"]["correction"] == "exact"
    assert told["epochs"] == alone["epochs"]
    assert results.read(tmp_path / "shared" / runs.RESULTS) == [auto, told]


def test_where_auto_averaged_the_exact_form_is_trained(
    blobs: source.Source, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(method, "EXACT_ABOVE", 1.0)
    auto = runs.run_cell(AUTO, blobs, out=tmp_path)
    asked = runs.run_cell(ASKED, blobs, out=tmp_path)
    assert (auto["form"], asked["form"]) == ("similarity", "exact")
    assert "same_as" not in asked


@pytest.mark.parametrize(
    "other",
    [{"seed": 2}, {"source": "of before"}, {"torch": "1.0"}, {"config": {"method": {"name": "forward"}}}],
)
def test_a_line_of_another_training_is_no_twin(other: dict[str, object]) -> None:
    row = dict.fromkeys(forms.SAME) | {"method": ASKED.method, "config": ASKED.config.model_dump()}
    line = row | {"method": AUTO.method, "config": AUTO.config.model_dump(), "form": "exact"}
    assert forms.twin(row, [line]) == line
    assert forms.twin(row, [line | other]) is None
    assert forms.twin(line, [line]) is None
