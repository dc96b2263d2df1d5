"""Predictions in and out of other forms than JSON: arrays, pictures, and lines that are answered one by one."""

import base64
import io
import json
import time

import httpx
import numpy as np
import pytest

from c2s import predictor

NPY, NDJSON = "application/x-npy", "application/x-ndjson"
ROWS = np.array([[0, 0, 0, 0], [3, 3, 3, 3]], dtype=np.float32)


def packed(array, **more):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **more)
    return file.getvalue()


@pytest.fixture
def send(shared):
    def post(model, body, kind, **query):
        accept = query.pop("accept", "*/*")
        headers = {"Content-Type": kind, "Accept": accept}
        return shared.http.post("/predict", params={"model": model, **query}, content=body, headers=headers)

    return post


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i8", "<f2", "|u1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_in_gives_the_answers_of_its_rows(published, trained, send, dtype, order):
    model_id, _ = published("vectors")
    answer = send(model_id, packed(np.asarray(ROWS.astype(dtype), order=order)), NPY)
    assert answer.status_code == 200, answer.text
    expected = predictor.Predictor.load(trained("vectors")[0]).probabilities(ROWS)
    said = [row["probabilities"] for row in answer.json()["predictions"]]
    np.testing.assert_allclose(said, expected, atol=1e-5)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_an_array_out_holds_probabilities_that_sum_to_one(published, trained, send, version):
    model_id, _ = published("image")
    pixels = np.arange(3 * 64, dtype=np.uint8).reshape(3, 8, 8)
    answer = send(model_id, packed(pixels, version=version), NPY, accept=NPY)
    assert (answer.status_code, answer.headers["content-type"]) == (200, NPY)
    assert answer.headers["x-model"] == model_id
    found = np.load(io.BytesIO(answer.content), allow_pickle=False)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-12)
    own = predictor.Predictor.load(trained("image")[0])
    np.testing.assert_allclose(found, own.probabilities(pixels), atol=1e-5)
    noisy = send(model_id, packed(pixels), NPY, accept=NPY, outputs="noisy_probabilities")
    np.testing.assert_allclose(np.load(io.BytesIO(noisy.content)), found @ own.transition, atol=1e-9)
    assert send(model_id, packed(pixels), NPY, accept=NPY, top_k=1).status_code == 422


HEAD = b"\x93NUMPY\x01\x00"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x93NUMPY",
        b"no array at all",
        packed(ROWS)[:-1],
        packed(ROWS) + b"x",
        packed(np.array(["a", "b"])),
        packed(np.zeros((2, 4), dtype=complex)),
        packed(np.array(1.0)),
        packed(np.zeros((0, 4))),
        packed(np.zeros((2, 3))),
        packed(np.full((1, 4), np.nan)),
        packed(np.full((1, 4), 1e300)),
        packed(np.zeros((1, 1, 1, 1, 4))),
        HEAD + b"\x02\x00{}",
        HEAD + b"\x0a\x00" + b"(" * 10,
        HEAD + b"\x3a\x00" + b"{'descr': '|O', 'fortran_order': False, 'shape': (1, 4)}  ",
        HEAD + b"\x44\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (10**9, 10**9)}   ",
        HEAD + b"\x46\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (2147483647, 4)}    ",
        HEAD + b"\x3b\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4)} ",
    ],
)
def test_an_array_that_cannot_be_used_is_422(published, send, body):
    model_id, _ = published("vectors")
    answer = send(model_id, body, NPY)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input"), answer.text


def test_models_of_texts_and_tables_take_no_arrays(published, send):
    for kind in ("text", "tabular"):
        model_id, _ = published(kind)
        assert send(model_id, packed(ROWS), NPY).status_code == 422


@pytest.mark.parametrize(
    "query",
    [
        {"model": ""},
        {"top_k": "0"},
        {"top_k": "a"},
        {"top_k": "a", "outputs": "class"},
        {"top_k": "1", "outputs": "class"},
        {"outputs": "logits"},
        {"outputs": ""},
        {"more": "1"},
    ],
)
def test_parameters_that_cannot_be_used_are_named(shared, published, query):
    model_id, _ = published("vectors")
    answer = shared.http.post(
        "/predict", params={"model": model_id, **query}, content=packed(ROWS), headers={"Content-Type": NPY}
    )
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["parameter"] == next(iter(query))


def test_an_array_is_an_answer_only_to_who_wants_it_and_to_what_it_can_tell(shared, published):
    model_id, _ = published("vectors")
    body = {"model": model_id, "inputs": ROWS.tolist(), "outputs": ["probabilities"]}

    def kind(accept):
        return shared.http.post("/predict", json=body, headers={"Accept": accept}).headers["Content-Type"]

    assert kind("application/x-npy;q=0, application/json") == "application/json"
    assert kind("application/x-npy;q=0.1, application/json") == "application/json"
    assert kind("Application/X-NPY") == NPY
    labelled = shared.http.post(
        "/predict", json=body | {"labels": ["0"] * len(ROWS)}, headers={"Accept": NPY}
    )
    assert (labelled.status_code, labelled.json()["errors"][0]["pointer"]) == (422, "/labels")


def test_a_model_that_nobody_published_is_not_found_by_its_name(shared):
    told = {"params": {"model": "mdl_x"}, "headers": {"Content-Type": NPY}}
    assert shared.http.post("/predict", content=packed(ROWS), **told).status_code == 404


def test_pictures_in_base64_are_read_among_pixels(shared, published, pictures):
    model_id, _ = published("image")
    blob = base64.b64encode(pictures(1)).decode()
    rows = [{"image": blob}, [[0] * 8] * 8, {"b64": blob}]
    said = shared.http.post("/predict", json={"model": model_id, "inputs": rows}).json()["predictions"]
    alone = shared.http.post(
        f"/predict?model={model_id}", content=pictures(1), headers={"Content-Type": "image/png"}
    ).json()["predictions"]
    assert said[0] == said[2] == alone[0]
    assert len(said) == 3


def test_lines_are_answered_in_order_and_a_bad_one_alone(published, ask_lines):
    model_id, _ = published("tabular")
    good = {"a": 1, "b": 2, "c": "x"}
    lines = [good, {"a": "word", "b": 2, "c": "x"}, "{", good, {"a": 1, "b": [2], "c": "x"}, ""]
    body = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
    status, said = ask_lines(model_id, [body])
    assert status == 200
    assert [row["line"] for row in said] == list(range(1, len(said) + 1))
    assert said[0]["class"] == said[3]["class"]
    assert said[1]["error"]["code"] == "invalid_input"
    assert said[1]["error"]["pointer"] == "/a"
    assert said[2]["error"]["code"] == "bad_request"
    assert said[2]["error"]["detail"].startswith("the line is not JSON")
    assert said[4]["error"]["pointer"] == "/b"


@pytest.fixture
def ask_lines(shared):
    def ask(model, chunks, **query):
        head = {"Content-Type": NDJSON}
        with shared.http.stream(
            "POST", "/predict", params={"model": model, **query}, content=iter(chunks), headers=head
        ) as answer:
            return answer.status_code, [json.loads(line) for line in answer.iter_lines()]

    return ask


def test_lines_may_be_cut_anywhere_and_be_many(published, ask_lines):
    model_id, _ = published("vectors")
    body = b"".join(b"[%d, 0, 0, 0]\n" % (n % 5) for n in range(300))
    chunks = [body[start : start + 777] for start in range(0, len(body), 777)]
    status, said = ask_lines(model_id, chunks, top_k=1)
    assert status == 200
    assert [row["line"] for row in said] == list(range(1, 301))
    assert all(len(row["top"]) == 1 for row in said)
    assert said[0]["top"] == said[5]["top"]


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (
            "tabular",
            [{"a": 1, "b": "x"}, {"a": "2.5", "b": "y"}, {"a": None, "b": 3}, {"b": "x"}, {"a": 1e3}],
        ),
        ("text", ["good", "", {"text": "bad news"}, "good bad"]),
        ("vectors", [[0, 1, 2, 3], [0.5, 1, 2, 3], [10**6, 0, 0, 0]]),
        ("image", [[[1] * 8] * 8, [[0.5] * 8] * 8, [[200] * 8] * 8]),
    ],
)
def test_a_line_is_answered_as_if_it_came_alone(published, ask_lines, kind, rows):
    model_id, _ = published(kind)
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    _, together = ask_lines(model_id, [b"".join(lines)])
    alone = [ask_lines(model_id, [line])[1][0] for line in lines]
    for said, known in zip(together, alone, strict=True):
        assert said.keys() == known.keys()
        assert said.get("error") == known.get("error")
        np.testing.assert_allclose(said.get("probabilities", []), known.get("probabilities", []), atol=1e-6)


def test_the_first_answers_come_while_questions_are_still_sent(shared, published):
    model_id, _ = published("vectors")
    path = f"/predict?model={model_id}"
    auth = shared.http.headers["Authorization"]
    import socket

    host, port = httpx.URL(shared.address).host, httpx.URL(shared.address).port
    with socket.create_connection((host, port), 30) as wire:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {auth}\r\n"
        head += f"Content-Type: {NDJSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
        wire.sendall(head.encode() + b"d\r\n[0, 0, 0, 0]\n\r\n")
        seen = b""
        while b'"line":1' not in seen:
            seen += wire.recv(4096)
        wire.sendall(b"d\r\n[1, 1, 1, 1]\n\r\n0\r\n\r\n")
        while b'"line":2' not in seen:
            seen += wire.recv(4096)


def test_lines_are_no_longer_answered_once_the_key_is_revoked(shared, published):
    model_id, _ = published("vectors")
    key = shared.key("predict")

    def questions():
        yield b"[0, 0, 0, 0]\n"
        time.sleep(1)  # until it was let in
        assert shared.http.delete(f"/keys/{key['id']}").status_code == 204
        yield b"[1, 1, 1, 1]\n"

    with (
        shared.client(key["secret"], **{"Content-Type": NDJSON}) as asker,
        asker.stream("POST", "/predict", params={"model": model_id}, content=questions()) as answer,
    ):
        said = [json.loads(line) for line in answer.iter_lines()]
    assert "class" in said[0]
    assert said[-1]["error"]["code"] == "unauthorized"


def test_empty_lines_count_and_ask_nothing(published, ask_lines):
    model_id, _ = published("vectors")
    _, said = ask_lines(model_id, [b"\n[0, 0, 0, 0]\n \r\n\n[1, 1, 1, 1]\n", b"\n"])
    assert [one["line"] for one in said] == [2, 5]
    assert not any("error" in one for one in said)


@pytest.mark.parametrize("sign", [b"[", b" "])
def test_a_line_without_end_is_refused(published, ask_lines, sign):
    model_id, _ = published("vectors")
    status, said = ask_lines(model_id, [b"[0, 0, 0, 0]\n", sign * (2**20 + 10)])
    assert status == 200
    assert said[-1]["error"]["code"] == "body_too_large"
