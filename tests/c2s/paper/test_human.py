"""Sets whose labels were wrong by themselves, in small: the files have the shape of the real ones."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from c2s import errors
from c2s.paper import human, runs, sources, spectrum

TOPICS = ("Health", "Politics")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "labelme_crowd").mkdir()
    answers = np.full((6, 4), -1, dtype=np.int8)
    answers[:, 0], answers[:3, 1], answers[:3, 2] = [0, 1, 0, 1, 0, 1], 1, 1
    arrays = {"x": np.eye(6, 3, dtype=np.float32), "y": np.array([1, 1, 1, 1, 0, 1])}
    np.savez(
        tmp_path / "labelme_crowd" / "labelme_crowd.npz",
        answers_train=answers,
        class_names=np.array(["coast", "street"]),
        **{f"{name}_{part}": array for name, array in arrays.items() for part in ("train", "test")},
    )
    (tmp_path / "hausa_topics").mkdir()
    rows = [
        {"split": part, "text": f"labari {k} {TOPICS[k % 2]}", "gold": TOPICS[k % 2], "noisy": TOPICS[0]}
        for part in ("train", "test")
        for k in range(8)
    ]
    with gzip.open(tmp_path / "hausa_topics" / "hausa_topics.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return tmp_path


def test_a_majority_outvotes_and_one_answer_is_somebody_s(root: Path) -> None:
    found = sources.load("labelme", root)
    assert found.given[human.MAJORITY].tolist() == [1, 1, 1, 1, 0, 1]
    assert found.given[human.ONE_ANSWER][3:].tolist() == [1, 0, 1]
    assert set(found.given[human.ONE_ANSWER]) <= {0, 1}


def test_titles_become_vectors_and_rules_their_labels(root: Path) -> None:
    found = sources.load("hausa", root)
    assert found.x.shape[0] == len(found.y) == 8
    assert found.x.dtype == np.float32
    assert found.given[human.RULES].tolist() == [0] * 8


def test_given_labels_follow_a_subset(root: Path) -> None:
    part = sources.load("hausa", root).first(4)
    assert len(part.given[human.RULES]) == len(part.y) == 4


def test_a_run_trains_on_the_labels_that_were_given(root: Path) -> None:
    found = sources.load("labelme", root)
    run = runs.Run("labelme", human.MAJORITY, "ce")
    assert run.true_matrix is None
    np.testing.assert_array_equal(runs._labels(run, found), found.given[human.MAJORITY])
    with pytest.raises(errors.InvalidConfig, match="no labels 'worst': majority, one-answer"):
        runs._labels(runs.Run("labelme", "worst", "ce"), found)


def test_features_are_learnt_from_the_first_texts_alone() -> None:
    train = [f"a{k} b{k % 3} c{k % 2}" for k in range(12)]
    one = spectrum.vectors(train, ["a1 b1 unheard"], characters=True)
    two = spectrum.vectors(train, ["zzz", "a1 b1 unheard"], characters=True)
    np.testing.assert_allclose(one[1][0], two[1][1], atol=1e-5)
    assert np.square(one[0]).mean() == pytest.approx(1, rel=1e-4)
