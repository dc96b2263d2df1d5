import dataclasses
import fcntl
import gzip
import struct
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from c2s import config, errors, pipeline
from c2s.commands import entry
from c2s.learning import precision, training
from c2s.matrix import noise
from c2s.paper import results, runs, settings, sources

RUN = runs.Run("mnist", "sym-0.2", "f-class2simi")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = dataclasses.replace(settings.RECIPES["mnist"], stage1_epochs=2, stage2_epochs=2, batch_size=32)
    monkeypatch.setitem(settings.RECIPES, "mnist", recipe)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MNIST's files with 120 + 40 images of ten blobs."""
    root = tmp_path_factory.mktemp("data")
    (root / "mnist").mkdir()
    rng = np.random.default_rng(0)
    for part, rows in (("train", 120), ("t10k", 40)):
        y = np.arange(rows) % 10
        x = rng.integers(0, 60, size=(rows, 28, 28))
        for row, label in enumerate(y):
            x[row, 2 * label : 2 * label + 6, 4:24] += 150
        for kind, array in (("images-idx3", x), ("labels-idx1", y)):
            header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
            content = gzip.compress(header + array.astype(np.uint8).tobytes())
            (root / "mnist" / f"{part}-{kind}-ubyte.gz").write_bytes(content)
    return root


@pytest.fixture(scope="module")
def source(folder: Path) -> sources.Source:
    return sources.load("mnist", folder)


def refuse(*args: object, **kwargs: object) -> NoReturn:
    raise AssertionError("it must not train")


def test_a_row_tells_what_was_run_and_what_came_of_it(source: sources.Source, tmp_path: Path) -> None:
    row = runs.run_cell(RUN, source, out=tmp_path)
    assert results.read(tmp_path / runs.RESULTS) == [row]
    assert (row["dataset"], row["noise"], row["method"], row["preset"]) == (
        "mnist",
        "sym-0.2",
        "f-class2simi",
        "paper",
    )
    assert row["config"]["seed"] == row["seed"] == 1
    assert row["rows"] == 120
    assert 0.05 < row["noise_rate"] < 0.35
    assert all(0 <= row[f"accuracy{which}"] <= 1 for which in ("", "_own", "_best", "_last", "_stage1"))
    assert [phase for phase, _, _ in row["epochs"]] == ["stage1", "stage1", "stage2", "stage2"]
    assert row["estimator"] == "anchors"
    assert 0 <= row["error"] < 1
    assert row["error"] == row["errors"]["anchors"]
    assert not row["resumed"]
    assert {"commit", "source", "torch", "threads", "seconds", "kept"} <= row.keys()


def test_a_finished_run_is_not_run_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = runs.run_many([RUN], out=tmp_path, data_folder=folder)
    left = {path.name for path in tmp_path.iterdir()}  # its folder and lock are gone
    assert left == {runs.RESULTS, runs.GROUNDWORK}
    monkeypatch.setattr(pipeline, "run", refuse)
    assert runs.run_many([RUN], out=tmp_path, data_folder=folder) == []
    assert runs.run_cell(RUN, sources.load("mnist", folder), out=tmp_path) == row


def test_another_config_of_the_same_cell_is_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    before = RUN.key
    recipe = dataclasses.replace(settings.RECIPES["mnist"], weight_decay=0.5)
    monkeypatch.setitem(settings.RECIPES, "mnist", recipe)
    assert before != RUN.key


def test_every_field_belongs_to_the_key() -> None:
    others = [
        dataclasses.replace(RUN, **{name: value})
        for name, value in {
            "noise": "sym-0.4",
            "method": "ce",
            "preset": "best",
            "seed": 2,
            "subset": 100,
            "eta": 0.1,
        }.items()
    ]
    assert len({RUN.key, *(run.key for run in others)}) == 7


def test_an_interrupted_run_ends_where_an_uninterrupted_one_does(
    source: sources.Source, tmp_path: Path
) -> None:
    def interrupt(progress: training.Progress) -> None:
        if (progress.phase, progress.epoch) == ("stage2", 1):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runs.run_cell(RUN, source, out=tmp_path / "cut", report=interrupt)
    assert results.read(tmp_path / "cut" / runs.RESULTS) == []
    resumed = runs.run_cell(RUN, source, out=tmp_path / "cut")
    whole = runs.run_cell(RUN, source, out=tmp_path / "whole")
    assert resumed["resumed"]
    assert resumed["epochs"] == whole["epochs"]
    assert resumed["accuracy"] == whole["accuracy"]


def test_methods_of_one_cell_share_stage_1_and_end_where_they_would_alone(
    source: sources.Source, tmp_path: Path
) -> None:
    runs.run_cell(RUN, source, out=tmp_path / "shared")
    forward = dataclasses.replace(RUN, method="forward")
    shared = runs.run_cell(forward, source, out=tmp_path / "shared")
    alone = runs.run_cell(forward, source, out=tmp_path / "alone")
    assert shared["borrowed"] == ["stage1", "posterior"]
    assert alone["borrowed"] == []
    assert shared["epochs"] == alone["epochs"]
    assert shared["accuracy"] == alone["accuracy"]
    assert shared["errors"] == alone["errors"]


def test_a_run_computed_in_other_numbers_is_the_same_run_on_ground_of_its_own(
    source: sources.Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    real = pipeline.run

    def noted(dataset, chosen, *args, **kwargs):
        asked.append((chosen.stage1.precision, chosen.stage2.precision))
        return real(dataset, chosen, *args, **kwargs)

    monkeypatch.setattr(pipeline, "run", noted)
    monkeypatch.setattr(precision, "_processor_can", lambda: True)
    runs.run_cell(dataclasses.replace(RUN, method="forward"), source, out=tmp_path)
    row = runs.run_cell(RUN, source, out=tmp_path, precision="bfloat16")
    assert asked == [("float32", "float32"), ("bfloat16", "bfloat16")]
    assert (row["key"], row["precision"], row["borrowed"]) == (RUN.key, "bfloat16", [])
    assert config.TrainConfig.parse(row["config"]) == RUN.config
    assert runs.run_cell(RUN, source, out=tmp_path) == row


def test_a_line_says_float32_where_bfloat16_was_asked_for_in_vain(
    source: sources.Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "_processor_can", lambda: False)
    row = runs.run_cell(RUN, source, out=tmp_path, precision="bfloat16")
    assert row["precision"] == "float32"


def test_a_run_that_diverges_is_a_row_and_the_others_go_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverge(*args: object, **kwargs: object) -> NoReturn:
        raise errors.Diverged("stage2", 3)

    monkeypatch.setattr(pipeline, "run", diverge)
    many = [RUN, dataclasses.replace(RUN, method="forward")]
    rows = runs.run_many(many, out=tmp_path, data_folder=folder)
    assert [row["failure"] for row in rows] == [str(errors.Diverged("stage2", 3))] * 2


def test_a_run_that_another_process_is_at_is_left_to_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "run", refuse)
    with (tmp_path / f"{RUN.key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert runs.run_many([RUN], out=tmp_path, data_folder=folder) == []


def test_a_subset_trains_on_so_many_rows_and_says_so(source: sources.Source, tmp_path: Path) -> None:
    row = runs.run_cell(dataclasses.replace(RUN, subset=60), source, out=tmp_path)
    assert (row["rows"], row["subset"]) == (60, 60)


def test_a_run_with_eta_is_given_the_perturbed_true_matrix(source: sources.Source, tmp_path: Path) -> None:
    run = dataclasses.replace(RUN, method="forward", eta=0.5)
    row = runs.run_cell(run, source, out=tmp_path)
    assert row["estimator"] == "given"
    assert row["error"] > 0


def test_eta_zero_gives_the_true_matrix_itself() -> None:
    chosen = dataclasses.replace(RUN, eta=0.0).config
    assert isinstance(chosen.transition, config.Given)
    np.testing.assert_array_equal(np.array(chosen.transition.matrix), noise.symmetric(10, 0.2))


def test_where_labels_are_wrong_already_no_true_matrix_can_be_given() -> None:
    run = runs.Run("clothing1m", "real", "forward", eta=0.0)
    assert run.true_matrix is None
    with pytest.raises(errors.InvalidConfig, match="not known"):
        _ = run.config


def test_of_labels_that_came_with_the_data_the_truth_is_what_they_made_of_the_true_classes(
    source: sources.Source, tmp_path: Path
) -> None:
    given = np.where(np.arange(120) % 3 == 0, (source.y + 1) % 10, source.y)
    people = dataclasses.replace(source, given={"worst": given})
    row = runs.run_cell(runs.Run("mnist", "worst", "ce"), people, out=tmp_path)
    kept = np.array([(given == source.y)[source.y == k].mean() for k in range(10)])
    truth = np.diag(kept) + np.roll(np.diag(1 - kept), 1, axis=1)
    assert set(row["errors"]) >= {"anchors", "confident-joint", "dual-t", "mean-posterior", "hoc", "refined"}
    identity = float(np.abs(np.eye(10) - truth).mean())
    assert 0 < row["errors"]["confident-joint"] < 3 * identity


def test_a_grid_goes_seed_by_seed() -> None:
    grid = runs.grid(["mnist"], ["sym-0.2", "sym-0.4"], ["ce"], seeds=[1, 2])
    assert [(run.seed, run.noise) for run in grid] == [
        (1, "sym-0.2"),
        (1, "sym-0.4"),
        (2, "sym-0.2"),
        (2, "sym-0.4"),
    ]


def test_the_command_runs_a_cell_once_and_prints_the_papers_number_beside_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = ["--dataset", "mnist", "--noise", "sym-0.4", "--method", "forward"]
    command = ["paper", *cell, "--data", str(folder), "--out", str(tmp_path), "--device", "cpu"]
    assert entry.main(command) == 0
    assert "98.37" in capsys.readouterr().out
    assert entry.main([*command, "--tables"]) == 0
    assert len(results.read(tmp_path / runs.RESULTS)) == 1
