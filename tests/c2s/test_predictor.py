from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from c2s import config, data, errors
from c2s.learning import checkpoint, evaluation
from c2s.nets import choice
from c2s.predictor import Predictor
from c2s.reading import encoding, words
from c2s.shape import Shape

T_C = [[0.7, 0.2, 0.1], [0.0, 0.9, 0.1], [0.3, 0.3, 0.4]]
MLP = config.Mlp(hidden=(5,))
TEXT = config.TextNet(embedding=4, hidden=(5,))
TEXTS = ["red apples fall", "green apples fall", "red cars drive", "green cars drive"]


def published(
    folder: Path,
    shape: Shape,
    net: config.NetConfig = MLP,
    *,
    labels: tuple[data.Label, ...] = ("ape", "bee", "cat"),
    spec: dict[str, Any] | None = None,
) -> Path:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        module = choice.build(net, shape)
    card = {
        "config": {"net": net.model_dump(mode="json")},
        "shape": shape.plain(),
        "labels": list(labels),
        "notes": [],
        "encoding": spec or {},
        "transition": {"matrix": T_C},
    }
    checkpoint.save_model(folder / "model", module, card)
    return folder / "model"


def vector_model(folder: Path, **given: Any) -> Path:
    return published(folder, Shape("vectors", 3, width=4), **given)


def grey_model(folder: Path) -> Path:
    return published(folder, Shape("image", 3, image=(8, 8, 1)), config.LeNet())


def rows(count: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(count, 4)).astype(np.float32)


def bags(*indices: int, width: int = 4) -> data.Bags:
    terms = np.array(indices)
    return data.Bags(np.arange(len(terms) + 1), terms, np.ones(len(terms), np.float32), width)


def test_a_loaded_model_answers_as_its_net_does(tmp_path: Path) -> None:
    folder = vector_model(tmp_path)
    net, _ = checkpoint.load_model(folder)
    with torch.inference_mode():
        expected = net(torch.from_numpy(rows(9))).softmax(1).numpy()
    found = Predictor.load(folder).probabilities(rows(9))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-12)


def test_many_rows_are_answered_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = Predictor.load(vector_model(tmp_path))
    together = predictor.probabilities(rows(20))
    monkeypatch.setattr(evaluation, "SWEEP", 7)
    np.testing.assert_allclose(predictor.probabilities(rows(20)), together, atol=1e-6)


def test_no_rows_have_no_answers(tmp_path: Path) -> None:
    assert Predictor.load(vector_model(tmp_path)).probabilities(rows(0)).shape == (0, 3)
    assert Predictor.load(vector_model(tmp_path / "other")).predict(rows(0)).shape == (0,)


def test_noisy_probabilities_are_the_clean_ones_through_the_transition(tmp_path: Path) -> None:
    predictor = Predictor.load(vector_model(tmp_path))
    clean = predictor.probabilities(rows(5))
    expected = [[sum(f[i] * T_C[i][j] for i in range(3)) for j in range(3)] for f in clean]
    np.testing.assert_allclose(predictor.noisy(rows(5)), expected, atol=1e-12)


@pytest.mark.parametrize("labels", [("ape", "bee", "cat"), (3, 5, 8), (0.5, 1.5, 2.5)])
def test_predictions_are_the_users_own_labels(tmp_path: Path, labels: tuple[data.Label, ...]) -> None:
    predictor = Predictor.load(vector_model(tmp_path, labels=labels))
    winners = predictor.probabilities(rows(30)).argmax(1)
    assert predictor.predict(rows(30)).tolist() == [labels[k] for k in winners]
    assert predictor.labels == labels
    assert predictor.classes == tuple(map(str, labels))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (np.zeros((2, 5), np.float32), "4 numbers wide"),
        (np.zeros(4, np.float32), "4 numbers wide"),
        (np.zeros((2, 4, 4), np.uint8), "4 numbers wide"),
        (np.full((2, 4), np.nan, np.float32), "row 0 holds NaN"),
        (np.array([["a"] * 4]), "numbers"),
        (bags(0, 1), "not bags of terms"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(tmp_path: Path, wrong: data.Inputs, sentence: str) -> None:
    with pytest.raises(errors.InvalidDataset, match=sentence):
        Predictor.load(vector_model(tmp_path)).probabilities(wrong)


def test_a_number_that_leaves_float32_inside_the_net_is_refused(tmp_path: Path) -> None:
    net, card = checkpoint.load_model(vector_model(tmp_path))
    net.get_buffer("inputs.std").fill_(0.01)
    model, wide = Predictor(net, card), rows(3)
    wide[1, 2] = 3e38
    with pytest.raises(errors.InvalidDataset, match="row 1 is too far from the training rows for float32"):
        model.probabilities(wide)
    with pytest.raises(errors.InvalidDataset, match="the row is too far"):
        model.predict(wide[1:2])


def test_images_of_another_size_are_refused(tmp_path: Path) -> None:
    predictor = Predictor.load(grey_model(tmp_path))
    for shape in [(2, 8, 9), (2, 8, 8, 3), (2, 64)]:
        with pytest.raises(errors.InvalidDataset, match="8, 8, 1"):
            predictor.probabilities(np.zeros(shape, np.uint8))


def test_grey_images_may_leave_their_channel_out_and_may_be_floats(tmp_path: Path) -> None:
    predictor = Predictor.load(grey_model(tmp_path))
    images = np.random.default_rng(1).integers(0, 256, size=(6, 8, 8), dtype=np.uint8)
    expected = predictor.probabilities(images)
    np.testing.assert_array_equal(predictor.probabilities(images[..., None]), expected)
    np.testing.assert_array_equal(predictor.probabilities(images / 255.0), expected)


def test_bags_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    predictor = Predictor.load(published(tmp_path, Shape("text", 3, width=4), TEXT))
    assert predictor.probabilities(bags(0, 3)).shape == (2, 3)
    for wrong in (bags(0, width=5), bags(4), bags(-1), rows(2)):
        with pytest.raises(errors.InvalidDataset, match="terms"):
            predictor.probabilities(wrong)


def test_raw_texts_become_the_bags_of_training(tmp_path: Path) -> None:
    spec = words.learn(TEXTS)
    shape = Shape("text", 3, width=len(spec.terms))
    predictor = Predictor.load(published(tmp_path, shape, TEXT, spec=spec.model_dump(mode="json")))
    expected = predictor.probabilities(words.bags(spec, TEXTS))
    np.testing.assert_array_equal(predictor.probabilities(predictor.raw(TEXTS)), expected)


def test_raw_rows_of_a_table_become_the_vectors_of_training(tmp_path: Path) -> None:
    table = [{"size": 1.0, "colour": "red"}, {"size": 4.0, "colour": "blue"}, {"size": 2.0, "colour": "red"}]
    spec = encoding.learn(table)
    shape = Shape("tabular", 3, width=spec.width)
    predictor = Predictor.load(published(tmp_path, shape, spec=spec.model_dump(mode="json")))
    found = predictor.raw(table)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, encoding.apply(spec, table))
    assert predictor.predict(found).shape == (3,)


def test_raw_rows_of_a_model_without_an_encoding_are_arrays(tmp_path: Path) -> None:
    predictor = Predictor.load(vector_model(tmp_path))
    np.testing.assert_array_equal(predictor.raw([[1, 2, 3, 4]]), np.float32([[1, 2, 3, 4]]))
    with pytest.raises(errors.InvalidDataset, match="4 numbers wide"):
        predictor.raw([[1, 2]])


def test_a_model_of_bare_bags_cannot_read_texts(tmp_path: Path) -> None:
    predictor = Predictor.load(published(tmp_path, Shape("text", 3, width=4), TEXT))
    with pytest.raises(errors.InvalidDataset, match="cannot read texts"):
        predictor.raw(TEXTS)


def test_threads_get_the_answers_that_one_caller_gets(tmp_path: Path) -> None:
    predictor = Predictor.load(vector_model(tmp_path))
    parts = [rows(40)[start : start + 8] for start in range(0, 40, 8)] * 8
    expected = [predictor.probabilities(part) for part in parts]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(predictor.probabilities, parts))
    np.testing.assert_array_equal(found, expected)


def test_a_question_leaves_the_inputs_as_they_were(tmp_path: Path) -> None:
    predictor = Predictor.load(vector_model(tmp_path))
    asked = rows(3)
    predictor.probabilities(asked)
    np.testing.assert_array_equal(asked, rows(3))
    assert asked.flags.writeable


def test_an_altered_or_missing_model_is_refused(tmp_path: Path) -> None:
    folder = vector_model(tmp_path)
    weights = folder / "weights.safetensors"
    kept = weights.read_bytes()
    weights.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    with pytest.raises(errors.InvalidModel, match="weights"):
        Predictor.load(folder)
    with pytest.raises(errors.InvalidModel, match="no finished model"):
        Predictor.load(tmp_path / "nothing")


def test_an_encoding_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidModel, match="encoding"):
        Predictor.load(vector_model(tmp_path, spec={"kind": "smoke"}))
