"""Predictions over HTTP, for every kind of model and for rows that no model can read."""

import threading

import numpy as np
import pytest

from app import inference
from c2s import predictor

ROWS = {
    "tabular": [{"a": 1, "b": 2, "c": "x"}, {"a": None, "b": 3.5, "c": "never seen"}],
    "vectors": [[0.1, 0.2, 0.3, 0.4], [3, 3, 3, 3]],
    "text": ["a good thing", ""],
    "image": np.zeros((2, 8, 8), dtype=int).tolist(),
}


@pytest.fixture
def ask(shared):
    def post(model, inputs, **more):
        return shared.http.post("/predict", json={"model": model, "inputs": inputs, **more})

    return post


@pytest.mark.parametrize("kind", ROWS)
def test_every_kind_of_row_gets_probabilities_that_sum_to_one(shared, published, trained, ask, kind):
    model_id, _ = published(kind)
    answer = ask(model_id, ROWS[kind])
    assert answer.status_code == 200, answer.text
    said = answer.json()
    folder, card = trained(kind)
    assert said["model"] == model_id
    assert said["classes"] == [str(label) for label in card["labels"]]
    own = predictor.Predictor.load(folder)
    expected = own.probabilities(own.raw(ROWS[kind]))
    for row, probs in zip(said["predictions"], expected, strict=True):
        assert sum(row["probabilities"]) == pytest.approx(1, abs=1e-9)
        assert row["probabilities"] == pytest.approx(probs.tolist())
        assert row["class"] == said["classes"][int(probs.argmax())]
        assert row["probability"] == pytest.approx(probs.max())


def test_top_k_ranks_the_likeliest_classes(published, ask):
    model_id, _ = published("vectors")
    row = ask(model_id, [[0, 0, 0, 0]], top_k=2).json()["predictions"][0]
    assert "probabilities" not in row or row["probabilities"] is None
    assert len(row["top"]) == 2
    assert row["top"][0] == {"class": row["class"], "probability": row["probability"]}
    assert row["top"][0]["probability"] >= row["top"][1]["probability"]
    assert len(ask(model_id, [[0, 0, 0, 0]], top_k=1000).json()["predictions"][0]["top"]) == 3


@pytest.mark.parametrize(("form", "kind"), [("PNG", "image/png"), ("JPEG", "image/jpeg")])
def test_a_picture_of_any_size_can_be_the_body(shared, published, pictures, form, kind):
    model_id, _ = published("image")
    blob = pictures(1, size=31, mode="RGB", form=form)
    answer = shared.http.post(f"/predict?model={model_id}", content=blob, headers={"Content-Type": kind})
    assert answer.status_code == 200, answer.text
    assert sum(answer.json()["predictions"][0]["probabilities"]) == pytest.approx(1)


def test_a_picture_needs_a_model_and_a_model_that_reads_pictures(shared, published, pictures):
    head = {"Content-Type": "image/png"}
    missing = shared.http.post("/predict", content=pictures(1), headers=head)
    assert missing.status_code == 422
    assert missing.json()["errors"][0]["parameter"] == "model"
    model_id, _ = published("vectors")
    wrong = shared.http.post(f"/predict?model={model_id}", content=pictures(1), headers=head)
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_input")
    model_id, _ = published("image")
    for blob in (b"", b"\x89PNG\r\n\x1a\n", pictures(1)[:-20], b"GIF89a" + bytes(30)):
        broken = shared.http.post(f"/predict?model={model_id}", content=blob, headers=head)
        assert (broken.status_code, broken.json()["code"]) == (422, "invalid_input"), blob


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("vectors", [[1, 2, 3]]),
        ("vectors", [[1, 2, 3, 4], [1]]),
        ("vectors", [[1, 2, 3, "4"]]),
        ("vectors", [[1, 2, 3, None]]),
        ("vectors", [[1, 2, 3, 1e308]]),
        ("vectors", ["text"]),
        ("vectors", [{"a": 1}]),
        ("vectors", [None]),
        ("vectors", [[[1, 2, 3, 4]]]),
        ("vectors", [[1, 2, 3, {}]]),
        ("tabular", [{"a": 1}]),
        ("tabular", [{"a": "word", "b": 2, "c": "x"}]),
        ("tabular", [{"a": [1], "b": 2, "c": "x"}]),
        ("tabular", [{"a": {"b": 1}, "b": 2, "c": "x"}]),
        ("tabular", [{"a": 1, "b": 2, "c": {"x": [1]}}]),
        ("tabular", [{"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2, "c": "x"}]),
        ("tabular", [{"a": 1, "b": 1e308, "c": "x"}]),
        ("tabular", [[1, 2, 3]]),
        ("tabular", ["x"]),
        ("tabular", [1, {"a": 1, "b": 2, "c": "x"}]),
        ("tabular", [None]),
        ("text", [1]),
        ("text", [["a"]]),
        ("text", [{"b": "a"}]),
        ("text", [{"text": ["a"]}]),
        ("image", [[1, 2]]),
        ("image", [[[1, 2], [3, 4]]]),
        ("image", [[[256] * 8] * 8]),
        ("image", [[[-1] * 8] * 8]),
        ("image", [[[1e308] * 8] * 8]),
        ("image", [[["a"] * 8] * 8]),
        ("image", ["a"]),
        ("image", [{}]),
        ("image", [True]),
    ],
)
def test_rows_that_the_model_cannot_read_are_refused_with_a_reason(published, ask, kind, inputs):
    model_id, _ = published(kind)
    answer = ask(model_id, inputs)
    assert answer.status_code in (200, 422), answer.text
    if answer.status_code == 422:
        assert answer.json()["code"] == "invalid_input"
        assert answer.json()["errors"][0]["pointer"] == "/inputs"
    else:  # a value nobody has seen is a value all the same
        assert all(sum(row["probabilities"]) == pytest.approx(1) for row in answer.json()["predictions"])
        assert kind in ("tabular", "text")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"inputs": [1]}, "/model"),
        ({"model": "mdl_x", "inputs": [1]}, "/model"),
        ({"model": "mdl_" + "0" * 26}, "/inputs"),
        ({"model": "mdl_" + "0" * 26, "inputs": []}, "/inputs"),
        ({"model": "mdl_" + "0" * 26, "inputs": "abc"}, "/inputs"),
        ({"model": "mdl_" + "0" * 26, "inputs": [1], "top_k": 0}, "/top_k"),
        ({"model": "mdl_" + "0" * 26, "inputs": [1], "top_k": True}, "/top_k"),
        ({"model": "mdl_" + "0" * 26, "inputs": [1], "more": 1}, "/more"),
        ([], ""),
        ("text", ""),
    ],
)
def test_a_malformed_question_names_the_field(shared, body, pointer):
    answer = shared.http.post("/predict", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_an_unknown_model_is_404_and_an_unknown_media_type_415(shared, ask):
    assert ask("mdl_" + "0" * 26, [1]).status_code == 404
    answer = shared.http.post("/predict", content=b"x", headers={"Content-Type": "text/plain"})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_numbers_that_are_not_finite_are_422_and_broken_json_400(shared):
    head = {"Content-Type": "application/json"}
    for number in ("NaN", "Infinity", "1e999"):
        body = f'{{"model": "mdl_{"0" * 26}", "inputs": [[{number}]]}}'
        answer = shared.http.post("/predict", content=body, headers=head)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/inputs/0/0"), number
    for body in (b"{", b"\xff", b"[" * 100_000, b""):
        assert shared.http.post("/predict", content=body, headers=head).status_code == 400


def test_too_many_probabilities_at_once_ask_for_top_k(published, ask, monkeypatch):
    from app.api import predictions

    model_id, _ = published("vectors")
    monkeypatch.setattr(predictions, "MOST_NUMBERS", 5)
    answer = ask(model_id, [[0, 0, 0, 0]] * 2)
    assert answer.status_code == 422
    assert "top_k" in answer.json()["detail"]
    assert ask(model_id, [[0, 0, 0, 0]] * 2, top_k=1).status_code == 200


def test_many_who_ask_at_once_wait_for_one_loading(shared, published, monkeypatch):
    model_id, _ = published("vectors")
    key = shared.http.get(f"/models/{model_id}").json()["job_id"]
    folder = next(shared.store.key(path) for path in shared.store.root.glob(f"jobs/{key}/*/run/model"))
    loads, load = [], predictor.Predictor.load

    def slow(path, **more):
        loads.append(path)
        return load(path, **more)

    monkeypatch.setattr(predictor.Predictor, "load", slow)
    door = inference.Inference(shared.store, threads=1)
    found = []
    threads = [threading.Thread(target=lambda: found.append(door.model(folder))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(loads) == 1
    assert len({id(model) for model in found}) == 1


def test_models_that_nobody_asks_are_let_go_and_one_that_failed_is_tried_again(shared, published):
    keys = []
    for _ in range(3):
        _, job_id = published("vectors")
        keys.append(
            next(shared.store.key(path) for path in shared.store.root.glob(f"jobs/{job_id}/*/run/model"))
        )
    door = inference.Inference(shared.store, threads=1, most=2)
    first = door.model(keys[0])
    assert door.model(keys[0]) is first
    door.model(keys[1])
    door.model(keys[2])
    assert door.model(keys[0]) is not first
    card = shared.store.at(keys[1]) / "card.json"
    text = card.read_text()
    card.write_text("{}")
    door = inference.Inference(shared.store, threads=1)
    with pytest.raises(Exception, match="damaged or incomplete"):
        door.model(keys[1])
    card.write_text(text)
    assert door.model(keys[1]).classes == first.classes
