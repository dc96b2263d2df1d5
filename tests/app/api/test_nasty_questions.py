"""Whatever is asked of /predict, it is answered or refused with a place; it never fails."""

import io
import json

import numpy as np
import pytest

ROW = {
    "vectors": [0, 0, 0, 0],
    "tabular": {"a": 1, "b": 2, "c": "x"},
    "text": "good day",
    "image": [[0] * 8] * 8,
}
KINDS = tuple(ROW)
HUGE = "1" + "0" * 400
ROWS = (
    "null",
    "true",
    '"',
    '""',
    '"\\ud800"',
    '"\\u0000"',
    "{}",
    "[]",
    "[[]]",
    "[null]",
    '["a"]',
    "[[[[[1]]]]]",
    "0",
    "-0.0",
    "1e308",
    "1e309",
    HUGE,
    f"[{HUGE}]",
    "NaN",
    "[Infinity]",
    "[1, 2, 3]",
    "[1, 2, 3, 4, 5]",
    "[true, false, null, 1]",
    "[1, [2], 3, 4]",
    '{"a": null}',
    '{"a": {"b": 1}, "b": 2, "c": "x"}',
    '{"a": 1, "b": 2, "c": 7, "d": 1}',
    '{"a": 1e39, "b": 2, "c": "x"}',
    '{"a": [1], "b": 2, "c": "x"}',
    '{"a": "1", "b": "2", "c": "x"}',
    '{"image": 7}',
    '{"image": "%%%"}',
    '{"image": ""}',
    '{"image": "iVBORw0KGgo="}',
    '{"image": null, "b64": ""}',
    "[[256, -1, 0, 0]]",
    "[[0.5, 1e300, 0, 0]]",
    "[" * 200 + "]" * 200,
)
WHOLE = (
    b"",
    b"null",
    b"[]",
    b"{",
    b"\xff\xfe",
    b"\x93NUMPY",
    b"{} {}",
    b'{"inputs": 1}',
    b'{"inputs": {}}',
    b'{"inputs": []}',
    b'{"model": 1, "inputs": [1]}',
    b'{"model": "", "inputs": [1]}',
    b'{"model": "\\ud800", "inputs": [1]}',
    b'{"model": "a\\u0000b", "inputs": [1]}',
    b'{"model": "../../etc", "inputs": [1]}',
    b"[" * 100_000,
)
EXTRAS = (
    {"top_k": 0},
    {"top_k": -1},
    {"top_k": 1e9},
    {"top_k": "2"},
    {"top_k": True},
    {"top_k": 1.5},
    {"outputs": []},
    {"outputs": [7]},
    {"outputs": ["class"] * 4},
    {"outputs": "class"},
    {"labels": []},
    {"labels": [None]},
    {"labels": [[1]]},
    {"labels": [10**400]},
    {"labels": ["\x00"]},
    {"labels": {"0": 1}},
    {"surprise": 1},
)


def answered_or_placed(answer):
    """Answered, or refused by a 4xx that says where it lies if the body could be read."""
    assert answer.status_code < 500, answer.text
    if answer.status_code == 422:
        assert all("pointer" in fault or "parameter" in fault for fault in answer.json()["errors"])
        assert answer.json()["errors"]
    return answer.status_code


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_is_answered_or_refused_alone_and_among_good_ones(shared, published, kind):
    model, _ = published(kind)
    good, head = json.dumps(ROW[kind]), {"Content-Type": "application/json"}
    seen = set()
    for row in ROWS:
        for rows in (row, f"{good}, {row}, {good}"):
            body = f'{{"model": "{model}", "inputs": [{rows}]}}'
            seen.add(answered_or_placed(shared.http.post("/predict", content=body.encode(), headers=head)))
    assert {400, 422} <= seen <= {200, 400, 422}


def test_every_body_that_is_no_question_is_refused(shared):
    for body in WHOLE:
        answer = shared.http.post("/predict", content=body, headers={"Content-Type": "application/json"})
        assert answered_or_placed(answer) in (400, 404, 422), body[:40]


@pytest.mark.parametrize("extra", EXTRAS, ids=str)
def test_every_wish_that_means_nothing_is_refused_with_its_place(shared, published, extra):
    model, _ = published("vectors")
    body = json.dumps({"model": model, "inputs": [ROW["vectors"]], **extra}).encode()
    answer = shared.http.post("/predict", content=body, headers={"Content-Type": "application/json"})
    assert answered_or_placed(answer) in (400, 422)


@pytest.mark.parametrize("kind", KINDS)
def test_every_array_is_answered_or_refused(shared, published, kind):
    model, _ = published(kind)
    shapes = (
        (),
        (0,),
        (1,),
        (4,),
        (0, 4),
        (1, 4),
        (2, 3),
        (1, 8, 8),
        (1, 8, 8, 1),
        (1, 8, 8, 4),
        (1, 0, 0),
        (1, 1, 1, 1, 1),
    )
    kinds = ("?", "u1", "i8", ">i2", "f2", "f4", ">f8", "c16", "M8[s]", "U2", "S3", "V4")
    for shape in shapes:
        for dtype in kinds:
            file = io.BytesIO()
            np.save(file, np.zeros(shape, dtype), allow_pickle=False)
            whole = file.getvalue()
            for body in (whole, whole[:-1], whole + b"x", whole[:20]):
                answer = shared.http.post(
                    f"/predict?model={model}", content=body, headers={"Content-Type": "application/x-npy"}
                )
                assert answered_or_placed(answer) in (200, 422), (shape, dtype)
