"""Whole runs on a few hundred points in the plane of ten clusters: seconds, and known noise."""

import json
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from c2s import config, data, errors, pipeline, streams, trials
from c2s.learning import batches, checkpoint, evaluation, training
from c2s.matrix import estimation, noise, transition
from c2s.running import workbench

C = 5
TRUE_T = noise.symmetric(C, 0.4)


def clusters(rows: int, T: np.ndarray = TRUE_T, seed: int = 0) -> tuple[data.Dataset, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, C, rows)
    centres = np.random.default_rng(99).normal(size=(C, 8)) * 3
    x = centres[truth] + rng.normal(size=(rows, 8))
    given = noise.corrupt(truth, T, rng=streams.numpy(seed, "flips"))
    return data.from_arrays(x, given), x.astype(np.float32), truth


def settings(**more) -> config.TrainConfig:
    raw = {
        "stage1": {
            "epochs": 4,
            "batch_size": 64,
            "schedule": "constant",
            "learning_rate": 0.005,
            "ema": 0.98,
        },
        "stage2": {"epochs": 4, "batch_size": 64, "learning_rate": 0.005, "ema": 0.98},
        "net": {"name": "mlp", "hidden": [32]},
        "transition": {"posteriors": "in-sample"},
    }
    return config.TrainConfig.parse(raw | more)


METHODS = ["ce", "mcl", "forward", "reweight", "revision", "f-class2simi", "r-class2simi", "volmin", "prune"]


SELECTING = ["prune-class2simi", "co-teaching", "jocor", "phuber-ce", "apl", "s2e"]


@pytest.mark.parametrize("method", [*METHODS, *SELECTING])
def test_every_method_learns_the_clean_classes(tmp_path, method):
    dataset, x, truth = clusters(1500)
    found = pipeline.run(dataset, settings(method=method), tmp_path / "run")
    assert evaluation.accuracy(found.net, x, truth) > 0.93
    assert estimation.error(found.T_c, TRUE_T) < 0.05
    assert found.rates.similarity < found.rates.class_ == pytest.approx(0.4, abs=0.07)
    assert set(found.alternatives) >= {
        "hoc",
        "anchors",
        "mean-posterior",
        "dual-t",
        "confident-joint",
        "refined",
    }


def test_the_same_seed_gives_the_same_model(tmp_path):
    dataset, _, _ = clusters(400)
    one = pipeline.run(dataset, settings(), tmp_path / "a")
    two = pipeline.run(dataset, settings(), tmp_path / "b")
    other = pipeline.run(dataset, settings(seed=2), tmp_path / "c")
    assert one.card["sha256"] == two.card["sha256"] != other.card["sha256"]
    np.testing.assert_array_equal(one.T_c, two.T_c)


def test_a_search_makes_the_trials_that_were_foretold(tmp_path):
    dataset, _, _ = clusters(300)
    chosen = settings(method={"name": "s2e", "candidates": 3, "generations": 1})
    found = pipeline.run(dataset, chosen, tmp_path / "run")
    tried = {e["phase"]: e["epoch"] + 1 for e in found.history if e["phase"].startswith("search")}
    assert tried == trials.epochs(chosen.method, 4)


class Stop(Exception):
    pass


@pytest.fixture
def every_epoch(monkeypatch):
    monkeypatch.setattr(training, "SAVE_SECONDS", 0.0)


@pytest.mark.parametrize(
    ("seed", "method"),
    [
        (0, "revision"),
        (1, "revision"),
        (2, "co-teaching"),
        (3, "jocor"),
        (4, {"name": "s2e", "candidates": 2}),
    ],
)
def test_a_run_stopped_at_random_epochs_ends_where_the_undisturbed_one_does(
    tmp_path, every_epoch, seed, method
):
    dataset, _, _ = clusters(400)
    folds = {"posteriors": "k-fold", "folds": 2, "estimator": "volmin"}
    chosen = settings(
        transition=folds if method == "revision" else {"posteriors": "in-sample"}, method=method
    )
    rng = np.random.default_rng(seed)

    def maybe_stop(progress: training.Progress) -> None:
        if rng.random() < 0.3:
            raise Stop

    for _ in range(100):
        try:
            found = pipeline.run(dataset, chosen, tmp_path / "run", report=maybe_stop)
            break
        except Stop:
            continue
    whole = pipeline.run(dataset, chosen, tmp_path / "whole")
    assert found.card["sha256"] == whole.card["sha256"]
    np.testing.assert_array_equal(found.T_c, whole.T_c)
    assert [e["loss"] for e in found.history] == [e["loss"] for e in whole.history]


VICTIM = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import test_pipeline as t
dataset, _, _ = t.clusters(400)
print("ready", flush=True)
found = t.pipeline.run(dataset, t.settings(), Path(sys.argv[1]), report=lambda p: print(p.phase, flush=True))
"""


def test_a_run_killed_outright_resumes_bit_for_bit(tmp_path):
    code = VICTIM.format(tests=str(__file__).rsplit("/", 1)[0])
    command = [sys.executable, "-c", code, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        for line in victim.stdout:
            if line.startswith("stage1"):
                time.sleep(np.random.default_rng().random() * 0.05)
                victim.send_signal(signal.SIGKILL)
                break
    assert not (tmp_path / "run" / "model").exists()
    dataset, _, _ = clusters(400)
    resumed = pipeline.run(dataset, settings(), tmp_path / "run")
    assert resumed.card["sha256"] == pipeline.run(dataset, settings(), tmp_path / "whole").card["sha256"]


def test_a_finished_run_trains_nothing_again(tmp_path):
    dataset, _, _ = clusters(300)
    first = pipeline.run(dataset, settings(), tmp_path / "run")
    seen = []
    again = pipeline.run(dataset, settings(), tmp_path / "run", report=seen.append)
    assert seen == []
    assert again.card == first.card


def test_a_folder_of_another_run_is_refused(tmp_path):
    dataset, _, _ = clusters(300)
    pipeline.run(dataset, settings(), tmp_path / "run")
    with pytest.raises(errors.InvalidConfig, match=r"another run \(with another seed"):
        pipeline.run(dataset, settings(seed=9), tmp_path / "run")


def test_a_given_matrix_is_used_untouched_and_named(tmp_path):
    dataset, _, _ = clusters(400)
    found = pipeline.run(dataset, settings(transition={"matrix": TRUE_T.tolist()}), tmp_path / "run")
    assert found.estimator == "given"
    np.testing.assert_array_equal(found.T_c, TRUE_T)
    assert "confident-joint" in found.alternatives


def test_a_given_matrix_of_the_wrong_size_is_refused_before_training(tmp_path):
    dataset, _, _ = clusters(300)
    seen = []
    with pytest.raises(errors.InvalidTransition, match="3 classes"):
        pipeline.run(
            dataset, settings(transition={"matrix": np.eye(3).tolist()}), tmp_path / "r", report=seen.append
        )
    assert seen == []


@pytest.mark.parametrize("posteriors", ["in-sample", "validation", "k-fold"])
def test_posteriors_of_every_kind_give_a_matrix(tmp_path, posteriors):
    dataset, _, _ = clusters(900)
    found = pipeline.run(
        dataset, settings(transition={"posteriors": posteriors, "folds": 3}), tmp_path / "run"
    )
    assert estimation.error(found.T_c, TRUE_T) < 0.12
    folds = {entry["phase"] for entry in found.history if entry["phase"].startswith("fold")}
    assert len(folds) == (3 if posteriors == "k-fold" else 0)


def test_the_fit_of_many_classes_is_made_only_where_it_is_asked_for(tmp_path, monkeypatch):
    dataset, _, _ = clusters(600)
    monkeypatch.setattr("c2s.matrix.intervals.CLASSES", C - 1)
    assert "refined" not in pipeline.run(dataset, settings(), tmp_path / "run").alternatives
    asked = settings(transition={"posteriors": "in-sample", "estimator": "refined"})
    found = pipeline.run(dataset, asked, tmp_path / "asked")
    assert found.estimator == "refined"
    assert found.card["transition"]["interval"]["basis"] == "sampling"  # no draw is worth such a fit


@pytest.mark.parametrize(
    "estimator", ["anchors", "mean-posterior", "dual-t", "confident-joint", "refined", "volmin", "hoc"]
)
def test_every_estimator_can_be_asked_for(tmp_path, estimator):
    dataset, _, _ = clusters(600)
    asked = {"posteriors": "in-sample", "estimator": estimator}
    found = pipeline.run(dataset, settings(transition=asked), tmp_path / "run")
    assert found.estimator == estimator
    np.testing.assert_allclose(found.T_c.sum(1), 1)
    assert found.card["transition"]["interval"]["basis"] == "rows"


@pytest.mark.parametrize(("most", "basis"), [(C, "rows"), (C - 1, "sampling")])
def test_a_matrix_that_the_method_learns_is_held_by_what_stage_1_knows_unless_classes_are_too_many(
    tmp_path, monkeypatch, most, basis
):
    monkeypatch.setattr("c2s.matrix.intervals.CLASSES", most)
    interval = pipeline.run(clusters(600)[0], settings(method="revision"), tmp_path).card["transition"][
        "interval"
    ]
    assert interval["basis"] == basis


def test_wavering_between_two_classes_makes_auto_learn_the_matrix_jointly(tmp_path):
    flips = noise.pair_flip(C, 0.45)
    dataset, x, truth = clusters(3000, flips)
    patient = settings(transition={"posteriors": "in-sample", "epochs": 25})
    found = pipeline.run(dataset, patient, tmp_path / "run")
    assert found.estimator == "volmin"
    assert "so counting would mislead" in found.card["transition"]["choice"]
    assert evaluation.accuracy(found.net, x, truth) > 0.9
    assert estimation.error(found.T_c, flips) < estimation.error(found.alternatives["confident-joint"], flips)


def test_a_second_stage_that_ends_worse_is_not_kept_and_the_result_says_so(tmp_path):
    dataset, x, truth = clusters(1500)
    ruined = {"epochs": 2, "batch_size": 64, "learning_rate": 10.0, "ema": None, "schedule": "constant"}
    found = pipeline.run(dataset, settings(stage2=ruined), tmp_path / "run")
    assert found.kept == "stage1"
    assert "Stage 2 (f-class2simi)" in found.notes[0]
    assert evaluation.accuracy(found.net, x, truth) > 0.9


def test_a_given_matrix_that_hides_similarity_is_refused_before_training(tmp_path):
    dataset, _, _ = clusters(300)
    matrix, seen = noise.symmetric(C, 0.8).tolist(), []
    with pytest.raises(errors.NotLearnable, match="forward"):
        pipeline.run(dataset, settings(transition={"matrix": matrix}), tmp_path / "run", report=seen.append)
    assert seen == []


def test_noise_found_to_hide_similarity_leaves_stage_1_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(transition, "HIDDEN_GAP", 2.0)
    dataset, x, truth = clusters(600)
    found = pipeline.run(dataset, settings(), tmp_path / "run")
    assert found.kept == "stage1"
    assert "was not run" in found.notes[0]
    assert evaluation.accuracy(found.net, x, truth) > 0.8


def test_a_refused_run_leaves_its_folder_free(tmp_path):
    dataset, _, _ = clusters(300)
    with pytest.raises(errors.InvalidConfig, match="lenet"):
        pipeline.run(dataset, settings(net="lenet"), tmp_path / "run")
    assert pipeline.run(dataset, settings(), tmp_path / "run").kept


def test_two_runs_cannot_share_a_folder(tmp_path):
    dataset, _, _ = clusters(300)

    def intrude(progress: training.Progress) -> None:
        pipeline.run(dataset, settings(), tmp_path / "run")

    with pytest.raises(errors.InvalidConfig, match="another process"):
        pipeline.run(dataset, settings(), tmp_path / "run", report=intrude)


@pytest.mark.parametrize("device", ["bogus", "meta", "cuda:99"])
def test_a_device_that_is_not_there_is_refused(tmp_path, device):
    dataset, _, _ = clusters(300)
    with pytest.raises(errors.InvalidConfig, match=device):
        pipeline.run(dataset, settings(), tmp_path / "run", device=device)


def test_two_equal_runs_have_equal_cards(tmp_path):
    dataset, _, _ = clusters(300)
    one, two = (pipeline.run(dataset, settings(), tmp_path / name).card for name in "ab")
    assert one == two


def test_few_rows_of_a_class_are_a_caveat(tmp_path):
    dataset, _, _ = clusters(80)
    notes = pipeline.run(dataset, settings(), tmp_path / "run").notes
    assert any("is a guess" in note for note in notes)


def test_too_few_rows_are_refused_in_words(tmp_path):
    tiny = data.from_arrays(np.zeros((2, 3)), ["a", "b"])
    with pytest.raises(errors.InvalidDataset, match="too few rows"):
        pipeline.run(tiny, settings(), tmp_path / "run")


def test_absent_evidence_for_a_class_is_flagged_not_fatal(tmp_path):
    dataset, _, _ = clusters(400)
    lonely = data.Dataset(
        dataset.x, np.where(np.arange(400) == 7, C, dataset.y), (*range(C), "rare"), "vectors"
    )
    found = pipeline.run(lonely, settings(), tmp_path / "run")
    assert found.T_c.shape == (C + 1, C + 1)
    assert any("rare" in note for note in found.notes)


def test_the_model_folder_rebuilds_the_net_without_the_run(tmp_path):
    dataset, x, _ = clusters(400)
    found = pipeline.run(dataset, settings(), tmp_path / "run")
    shutil.move(found.folder, tmp_path / "mine")
    net, card = checkpoint.load_model(tmp_path / "mine")
    with torch.inference_mode():
        torch.testing.assert_close(net(torch.tensor(x)), found.net.eval()(torch.tensor(x)))
    assert card["labels"] == list(range(C))
    assert (
        json.loads((tmp_path / "mine" / "card.json").read_text())["config"]["method"]["name"]
        == "f-class2simi"
    )


def test_estimation_never_sees_augmented_images(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 4
    x = rng.integers(0, 60, (200, 8, 8), dtype=np.uint8)
    for row, label in enumerate(y):
        x[row, 2 * label : 2 * label + 2] += 150
    shifted = {"epochs": 2, "augment": {"shift": 3}}
    raw = {"net": "lenet", "method": "ce", "stage1": shifted, "stage2": shifted}
    dataset = data.from_arrays(x, y)
    found = pipeline.run(dataset, config.TrainConfig.parse(raw), tmp_path / "run")
    monkeypatch.setattr(batches, "augmented", lambda *_: pytest.fail("augmented outside training"))
    again = pipeline.run(
        dataset, config.TrainConfig.parse(raw), tmp_path / "run"
    )  # sweeps all, trains nothing
    np.testing.assert_array_equal(again.T_c, found.T_c)


def test_what_stage_1_finds_is_told_before_stage_2_and_equals_the_card(tmp_path):
    told = []
    listener = workbench.Listener(step=told.append, found=told.append)
    found = pipeline.run(clusters(300)[0], settings(method="forward"), tmp_path, listener=listener)
    early = told[told.index("stage2") - 1]
    assert early["transition"] == found.card["transition"]
    assert early["labels"] == found.card["labels"]


@pytest.mark.parametrize(("method", "said"), [("volmin", "not trained with"), ("revision", "as a start")])
def test_a_given_matrix_under_a_method_that_learns_it_is_said_to_be_no_more_than_that(tmp_path, method, said):
    given = {"matrix": TRUE_T.tolist()}
    found = pipeline.run(clusters(300)[0], settings(method=method, transition=given), tmp_path)
    assert any(said in note for note in found.notes)
    assert (
        found.card["transition"]["interval"]["basis"] == "sampling"
    )  # no row was judged by a net that had not seen it
    assert not any("stage 1's posteriors" in note for note in found.notes)
    plain = pipeline.run(clusters(300)[0], settings(method="forward", transition=given), tmp_path / "plain")
    assert not any("given matrix" in note for note in plain.notes)


def test_a_handful_of_rows_to_judge_by_is_said(tmp_path):
    few = pipeline.run(clusters(300)[0], settings(validation=0.01), tmp_path / "few")
    assert any("rows are held out" in note for note in few.notes)
    enough = pipeline.run(clusters(300)[0], settings(), tmp_path / "enough")
    assert not any("rows are held out" in note for note in enough.notes)
