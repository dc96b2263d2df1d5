import copy
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from c2s import config, errors
from c2s.estimator import Class2SimiClassifier
from c2s.matrix import noise

IN_SAMPLE = {"estimator": "confident-joint", "posteriors": "in-sample"}
NOUNS = ["apple pear plum", "car bus train", "cat dog horse"]


def quick(method: Any = "f-class2simi", **given: Any) -> Class2SimiClassifier:
    settings = {"stage1_epochs": 2, "stage2_epochs": 2, "batch_size": 32, "transition": IN_SAMPLE}
    return Class2SimiClassifier(method, **settings | {"random_state": 0} | given)


def blobs(rows: int = 120, classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(rows, centers=8 * np.eye(classes), cluster_std=1.0, random_state=1)
    return X, y


def patches(rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Grey images: class 0 is bright on the left, class 1 on the right."""
    rng = np.random.default_rng(2)
    y = np.arange(rows) % 2
    images = rng.integers(0, 60, size=(rows, 8, 8), dtype=np.uint8)
    images[y == 0, :, :4] += 180
    images[y == 1, :, 4:] += 180
    return images, y


def documents(rows: int = 90) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(3)
    topics = [NOUNS[row % 3].split() for row in range(rows)]
    texts = [" ".join(rng.choice(topic, 5)) for topic in topics]
    return texts, [("fruit", "traffic", "animals")[row % 3] for row in range(rows)]


# Several checks label rows at random; the averaged correction refuses such data as not learnable, the exact one trains.
@parametrize_with_checks([quick({"name": "f-class2simi", "correction": "exact"})])
def test_the_classifier_keeps_scikit_learns_rules(estimator: Any, check: Any) -> None:
    check(estimator)


def test_wrong_labels_are_seen_through() -> None:
    X, y = blobs(400)
    rng = np.random.default_rng(5)
    noisy = noise.corrupt(y, noise.symmetric(4, 0.3), rng=rng)
    fitted = quick(stage1_epochs=8, stage2_epochs=8, batch_size=64).fit(X, noisy)
    assert fitted.score(X, y) > 0.97
    assert fitted.noise_rate_ == pytest.approx(0.3, abs=0.08)
    assert fitted.transition_matrix_.shape == (4, 4)
    np.testing.assert_allclose(fitted.transition_matrix_.sum(1), 1)


def test_the_similarity_transition_has_dissimilar_first() -> None:
    fitted = quick().fit(*blobs())
    similarity = fitted.card_["transition"]["similarity"]
    expected = [[similarity["t00"], similarity["t01"]], [similarity["t10"], similarity["t11"]]]
    np.testing.assert_allclose(fitted.similarity_transition_, expected)
    np.testing.assert_allclose(fitted.similarity_transition_.sum(1), 1)
    assert 0 <= fitted.similarity_noise_rate_ <= 1
    assert all(isinstance(note, str) for note in fitted.notes_)


def test_one_seed_gives_one_classifier() -> None:
    X, y = blobs()
    first, second = quick().fit(X, y), quick(random_state=np.int64(0)).fit(X, y)
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    np.testing.assert_array_equal(first.fit(X, y).predict_proba(X), second.predict_proba(X))
    assert np.any(quick(random_state=1).fit(X, y).predict_proba(X) != second.predict_proba(X))


def test_numbers_of_numpy_are_numbers() -> None:
    X, y = blobs()
    settings = {"stage1_epochs": np.int64(1), "net": {"name": "mlp", "hidden": list(np.array([4]))}}
    fitted = quick(**settings, validation=np.float32(0.25)).fit(X, y)
    assert fitted.card_["config"]["stage1"]["epochs"] == 1
    assert fitted.card_["config"]["net"]["hidden"] == [4]


def test_a_random_state_is_drawn_from() -> None:
    X, y = blobs()
    draws = [quick(random_state=np.random.RandomState(4)).fit(X, y).card_["config"]["seed"] for _ in "ab"]
    assert draws[0] == draws[1]
    assert quick(random_state=None).fit(X, y).card_["config"]["seed"] != draws[0]
    with pytest.raises(ValueError, match="RandomState"):
        quick(random_state="seven").fit(X, y)


def test_labels_may_be_strings_or_objects() -> None:
    X, y = blobs()
    names = np.array(["oak", "elm", "ash", "fir"])[y]
    for labels in (names, names.astype(object), names.tolist()):
        fitted = quick().fit(X, labels)
        assert fitted.classes_.tolist() == ["ash", "elm", "fir", "oak"]
        assert fitted.predictor_.labels == ("ash", "elm", "fir", "oak")
        assert fitted.score(X, names) > 0.9


@pytest.mark.parametrize("form", ["bytes", "floats", "with a channel"])
def test_images_are_learnt_in_every_form(form: str) -> None:
    images, y = patches()
    X = {"bytes": images, "floats": images / 255.0, "with a channel": images[..., None]}[form]
    fitted = quick(batch_size=16).fit(X, y)
    assert fitted.card_["config"]["net"]["name"] == "lenet"
    assert fitted.score(X, y) > 0.9
    with pytest.raises(ValueError, match="8, 8, 1"):
        fitted.predict(X[:, :5])


def test_images_of_noughts_and_ones_are_the_same_as_floats_and_as_integers() -> None:
    images, y = patches()
    X = (images > 100).astype(float)
    fitted = quick(batch_size=16).fit(X, y)
    for kind in (int, np.uint8, bool, np.float32):
        np.testing.assert_array_equal(fitted.predict_proba(X.astype(kind)), fitted.predict_proba(X))
    assert fitted.score(X.astype(int), y) > 0.9


def test_texts_are_learnt_as_they_are() -> None:
    texts, y = documents()
    fitted = quick().fit(texts, y)
    assert fitted.score(texts, y) > 0.9
    assert fitted.predict(["the pear and the plum"]).tolist() == ["fruit"]
    with pytest.raises(ValueError, match="inconsistent"):
        fitted.fit(texts, y[1:])
    with pytest.raises(ValueError, match="not one string"):
        fitted.predict("pear")


def test_a_missing_text_is_empty_wherever_it_stands() -> None:
    texts, y = documents()
    for place in (0, 3):
        some: list[str | None] = list(texts)
        some[place] = None
        fitted = quick().fit(some, y)
        emptied = [text or "" for text in some]
        np.testing.assert_array_equal(fitted.predict_proba(some), fitted.predict_proba(emptied))
        fitted.fit(np.array(some, dtype=object), y)


def test_sparse_rows_are_learnt_in_a_pipeline() -> None:
    texts, y = documents()
    fitted = make_pipeline(TfidfVectorizer(), quick()).fit(texts, y)
    assert fitted.score(texts, y) > 0.9


def test_sparse_and_dense_rows_are_interchangeable_in_prediction() -> None:
    texts, y = documents()
    sparse = TfidfVectorizer().fit_transform(texts)
    for trained_on in (sparse, sparse.toarray()):
        fitted = quick().fit(trained_on, y)
        np.testing.assert_allclose(
            fitted.predict_proba(sparse), fitted.predict_proba(sparse.toarray()), atol=1e-6
        )


def test_it_works_inside_scikit_learns_tools() -> None:
    X, y = blobs()
    assert (cross_val_predict(quick(), X, y, cv=2) == y).mean() > 0.9
    search = GridSearchCV(
        make_pipeline(StandardScaler(), quick()), {"class2simiclassifier__method": ["ce", "forward"]}, cv=2
    )
    assert search.fit(X, y).best_score_ > 0.9


def test_a_clone_keeps_the_settings_and_a_copy_the_answers() -> None:
    X, y = blobs()
    fitted = quick(transition=np.eye(4), stage2={"learning_rate": 0.01}).fit(X, y)
    fresh = clone(fitted)
    assert fresh.stage2 == {"learning_rate": 0.01}
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    for other in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):  # noqa: S301 - joblib does the same
        np.testing.assert_array_equal(other.predict_proba(X), fitted.predict_proba(X))


def test_a_given_matrix_is_the_transition() -> None:
    X, y = blobs()
    T = noise.symmetric(4, 0.2)
    np.testing.assert_allclose(quick(transition=T).fit(X, y).transition_matrix_, T)
    np.testing.assert_allclose(quick(transition=T.tolist()).fit(X, y).transition_matrix_, T)
    with pytest.raises(ValueError, match="4"):
        quick(transition=np.eye(3)).fit(X, y)


def test_setting_epochs_leaves_the_rest_of_a_stage_alone() -> None:
    chosen = quick(stage2={"learning_rate": 0.5})._config()
    usual = config.TrainConfig()
    assert chosen.stage1 == usual.stage1.model_copy(update={"epochs": 2, "batch_size": 32})
    assert chosen.stage2.learning_rate == 0.5
    assert chosen.stage2.schedule == usual.stage2.schedule
    assert Class2SimiClassifier(random_state=1)._config() == usual


def test_refusals_are_value_errors_with_their_cause() -> None:
    X, y = blobs()
    refused: list[tuple[Class2SimiClassifier, type[errors.C2SError]]] = [
        (quick("magic"), errors.InvalidConfig),
        (quick(net="lenet"), errors.InvalidConfig),
        (quick(stage1={"speed": 3}), errors.InvalidConfig),
        (quick(validation=1.5), errors.InvalidConfig),
        (quick(transition=np.ones((4, 4))), errors.InvalidTransition),
        (
            quick({"name": "f-class2simi", "correction": "similarity"}, transition=np.full((4, 4), 0.25)),
            errors.NotLearnable,
        ),
    ]
    for classifier, cause in refused:
        with pytest.raises(ValueError, match=r"\w") as caught:
            classifier.fit(X, y)
        assert isinstance(caught.value.__cause__, cause)


def test_one_class_cannot_be_learnt() -> None:
    X, y = blobs()
    with pytest.raises(ValueError, match="two classes"):
        quick().fit(X, np.zeros_like(y))


def test_a_fit_that_fails_leaves_no_half_of_itself() -> None:
    X, y = blobs()
    classifier = quick(transition=np.eye(3))
    with pytest.raises(ValueError, match="3 classes"):
        classifier.fit(X, y)
    with pytest.raises(NotFittedError):
        classifier.predict(X)
    classifier.fit(X[y < 3], y[y < 3])
    with pytest.raises(ValueError, match="3 classes"):
        classifier.fit(X, y)
    assert classifier.classes_.tolist() == [0, 1, 2]


def test_a_kept_folder_is_taken_up_again(tmp_path: Path) -> None:
    X, y = blobs()
    first = quick(folder=tmp_path / "run", random_state=None).fit(X, y)
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()}
    again = quick(folder=str(tmp_path / "run"), random_state=None).fit(X, y)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()} == before
    np.testing.assert_array_equal(again.predict_proba(X), first.predict_proba(X))
    with pytest.raises(ValueError, match="another run"):
        quick(folder=tmp_path / "run", random_state=None).fit(X[1:], y[1:])


def test_without_a_folder_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    X, y = blobs()
    quick().fit(X, y)
    with pytest.raises(ValueError, match="magic"):
        quick("magic").fit(X, y)
    assert list(tmp_path.iterdir()) == []


def test_the_callers_arrays_stay_as_they_were() -> None:
    images, y = patches()
    vectors = blobs()[0][:60].astype(np.float32)
    for X in (images, images[..., None].copy(), vectors):
        before = X.copy()
        quick().fit(X, y).predict(X)
        np.testing.assert_array_equal(X, before)
        assert X.flags.writeable
        assert y.flags.writeable


def test_a_verbose_fit_tells_every_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    quick(verbose=1).fit(*blobs())
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["stage1 1/2", "stage1 2/2", "stage2 1/2", "stage2 2/2"]
    quick().fit(*blobs())
    assert capsys.readouterr().err == ""
