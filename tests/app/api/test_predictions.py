"""Predictions over HTTP, for every kind of model and for rows that no model can read."""

import json
import re
import time

import numpy as np
import pytest

from c2s import predictor
from c2s.matrix import transition

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
        assert re.match(r"/inputs/[01](/|$)", answer.json()["errors"][0]["pointer"])
    else:  # a value nobody has seen is a value all the same
        assert all(sum(row["probabilities"]) == pytest.approx(1) for row in answer.json()["predictions"])
        assert kind in ("tabular", "text")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"inputs": [1]}, "/model"),
        ({"model": "", "inputs": [1]}, "/model"),
        ({"model": "n" * 300, "inputs": [1]}, "/model"),
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


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "1e39", '"inf"'])
def test_numbers_that_a_dataset_would_call_missing_are_missing_here(shared, published, ask, number):
    model_id, _ = published("tabular")
    plain = ask(model_id, [{"a": 1, "b": None, "c": "x"}]).json()
    row = f'{{"a": 1, "b": {number}, "c": "x"}}'
    body = f'{{"model": "{model_id}", "inputs": [{row}]}}'
    answer = shared.http.post("/predict", content=body, headers={"Content-Type": "application/json"})
    assert answer.json() == plain
    head = {"Content-Type": "application/x-ndjson"}
    (line,) = shared.http.post(f"/predict?model={model_id}", content=row, headers=head).text.splitlines()
    assert json.loads(line)["probabilities"] == plain["predictions"][0]["probabilities"]


def test_numbers_that_are_not_finite_are_422_and_broken_json_400(shared, published):
    model_id, _ = published("vectors")
    head = {"Content-Type": "application/json"}
    for number in ("NaN", "Infinity", "1e999"):
        body = f'{{"model": "{model_id}", "inputs": [[{number}, 1, 1, 1]]}}'
        answer = shared.http.post("/predict", content=body, headers=head)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/inputs/0/0"), number
    for body in (b"{", b"\xff", b"[" * 100_000, b""):
        assert shared.http.post("/predict", content=body, headers=head).status_code == 400


def test_too_many_probabilities_at_once_ask_for_top_k(shared, published, ask, monkeypatch):
    from app.api import wishes

    model_id, _ = published("vectors")  # three classes
    monkeypatch.setattr(wishes, "MOST_NUMBERS", 5)
    two = [[0, 0, 0, 0]] * 2
    answer = ask(model_id, two)
    assert answer.status_code == 422
    assert "top_k" in answer.json()["detail"]
    assert ask(model_id, two, top_k=1).status_code == 200
    assert ask(model_id, two, outputs=["class"]).status_code == 200  # of one number a row
    for more in ({"labels": ["0", "1"]}, {"outputs": ["class", "noisy_probabilities"]}):
        assert ask(model_id, two, **({"outputs": ["class"]} | more)).status_code == 422
    for name, status in (("label", 200), ("probabilities", 422)):
        tensor = {"name": "vectors", "datatype": "FP32", "shape": [2, 4], "data": [0] * 8}
        body = {"inputs": [tensor], "outputs": [{"name": name}]}
        assert shared.http.post(f"/v2/models/{model_id}/infer", json=body).status_code == status


def test_what_would_be_dropped_without_a_word_is_refused(shared, published, ask):
    model_id, job = published("vectors")
    row = [[0, 0, 0, 0]]
    for outputs in (["class"], ["noisy_probabilities"]):
        answer = ask(model_id, row, outputs=outputs, top_k=1)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/top_k")
    dataset = shared.http.get(f"/jobs/{job}").json()["dataset_id"]
    body = {"model": model_id, "dataset_id": dataset, "outputs": ["class"], "top_k": 1}
    answer = shared.http.post("/predictions", json=body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/top_k")
    query = {"model": model_id, "outputs": "class", "top_k": 1}
    answer = shared.http.post("/predictions", params=query, content=b"x")
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (422, "top_k")
    answer = shared.http.post("/predict?top_k=1", json={"model": model_id, "inputs": row})
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (422, "top_k")


@pytest.mark.parametrize(
    ("kind", "inputs", "pointer"),
    [
        ("tabular", [{"a": 1, "b": 2, "c": "x"}] * 3 + [{"a": "word", "b": 2, "c": "x"}], "/inputs/3/a"),
        ("tabular", [{"a": 1, "c": "x"}], "/inputs/0/b"),
        ("tabular", [{"a": 1, "b": 2, "c": "x"}, {"a": 1, "c": "x"}], "/inputs/1/b"),
        ("vectors", [[1, 2, 3, 4]] * 2 + [[1, 2, 1e300, 4]], "/inputs/2/2"),
        ("vectors", [[1, 2, 3, 4]] * 5 + [[1, 2]], "/inputs/5"),
        ("text", ["fine", "fine", 7], "/inputs/2"),
        ("image", [[[0] * 8] * 8, [[0] * 8] * 7], "/inputs/1"),
        ("image", [{"image": "!"}], "/inputs/0/image"),
        ("image", [[[0] * 8] * 8, {"b64": "aGFsbG8="}], "/inputs/1/b64"),
        ("image", [{"image": 1}], "/inputs/0/image"),
        ("image", [{"picture": "aGFsbG8="}], "/inputs/0"),
    ],
)
def test_the_row_and_the_field_at_fault_are_pointed_at(published, ask, kind, inputs, pointer):
    model_id, _ = published(kind)
    answer = ask(model_id, inputs)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_what_is_said_of_a_line_does_not_depend_on_the_lines_beside_it(shared, published):
    model_id, _ = published("tabular")
    rows = [{"a": 1}, {"a": 1, "b": 2, "c": "x"}, {"a": 1, "b": 2, "c": "x", "unasked": 3}]

    def said(some):
        head, body = {"Content-Type": "application/x-ndjson"}, "\n".join(map(json.dumps, some)) + "\n"
        answer = shared.http.post(f"/predict?model={model_id}", content=body, headers=head)
        return [{**json.loads(line), "line": None} for line in answer.text.splitlines()]

    together = said(rows)
    assert together == [line for row in rows for line in said([row])]
    assert together[0]["error"]["detail"] == "column 'b' is missing; there is 'a'"
    assert together[1] == together[2]


def test_half_a_character_is_422_with_a_pointer(shared, published):
    model_id, _ = published("text")
    body = b'{"model": "%s", "inputs": ["fine", "\\ud800"]}' % model_id.encode()
    answer = shared.http.post("/predict", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/inputs/1")


def test_the_outputs_can_be_chosen(published, trained, ask):
    model_id, _ = published("vectors")
    rows = [[0, 0, 0, 0], [3, 3, 3, 3]]
    whole = ask(model_id, rows, outputs=["class", "probabilities", "noisy_probabilities"]).json()
    T = np.array(trained("vectors")[1]["transition"]["matrix"])
    for row in whole["predictions"]:
        expected = np.array(row["probabilities"]) @ T
        assert row["noisy_probabilities"] == pytest.approx(expected.tolist())
        assert sum(row["noisy_probabilities"]) == pytest.approx(1)
    only = ask(model_id, rows, outputs=["class"]).json()["predictions"]
    assert [set(row) for row in only] == [{"class", "probability"}] * 2
    assert ask(model_id, rows, outputs=[]).status_code == 422
    assert ask(model_id, rows, outputs=["logits"]).json()["errors"][0]["pointer"] == "/outputs/0"


def test_labels_are_audited_under_the_noise_that_was_learnt_as_far_as_its_rows_carry(published, trained, ask):
    model_id, _ = published("vectors")
    rows, given = [[0, 0, 0, 0], [3, 3, 3, 3], [6, 6, 6, 6]], [0, "2", 2]
    said = ask(model_id, rows, labels=given).json()
    found = trained("vectors")[1]["transition"]
    T = np.array(found["matrix"])
    heard = transition.doubted(T, found["rows"] * np.array(found["priors"]))
    for row, label in zip(said["predictions"], map(int, given), strict=True):
        joint = np.array(row["probabilities"]) * heard[:, label]
        clean = joint / joint.sum()
        assert row["audit"]["label"] == str(label)
        assert row["audit"]["wrong"] == pytest.approx(1 - clean[label], abs=1e-9)
        assert row["audit"]["likeliest"] == said["classes"][int(clean.argmax())]
        assert row["audit"]["probability"] == pytest.approx(clean.max())
        assert row["noisy_probabilities"] == pytest.approx((np.array(row["probabilities"]) @ T).tolist())


def test_labels_that_no_class_has_or_of_another_number_are_422(published, ask):
    model_id, _ = published("vectors")
    unknown = ask(model_id, [[0, 0, 0, 0]] * 2, labels=[0, "nobody"])
    assert (unknown.status_code, unknown.json()["errors"][0]["pointer"]) == (422, "/labels/1")
    few = ask(model_id, [[0, 0, 0, 0]] * 2, labels=[0])
    assert (few.status_code, few.json()["errors"][0]["pointer"]) == (422, "/labels")
    nothing = ask(model_id, [[0, 0, 0, 0]], labels=[None])
    assert (nothing.status_code, nothing.json()["errors"][0]["pointer"]) == (422, "/labels/0")


def test_a_deleted_model_is_gone_within_a_second_or_so(shared, published, ask):
    from app.core.tables import Model

    model_id, _ = published("vectors", fresh=True)
    assert ask(model_id, [[0, 0, 0, 0]]).status_code == 200
    with shared.database.begin() as tx:
        tx.delete(tx.get(Model, model_id))
    deadline = time.monotonic() + 3
    while ask(model_id, [[0, 0, 0, 0]]).status_code != 404:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_model_published_without_a_graph_says_what_to_do(shared, published, ask):
    model_id, job_id = published("vectors", fresh=True)
    (folder,) = shared.store.root.glob(f"jobs/{job_id}/*/run/model")
    card = json.loads((folder / "card.json").read_text())
    del card["graph"]
    (folder / "card.json").write_text(json.dumps(card))
    answer = ask(model_id, [[0, 0, 0, 0]])
    assert (answer.status_code, answer.json()["code"]) == (409, "model_not_exported")
    assert "c2s export" in answer.json()["detail"]
