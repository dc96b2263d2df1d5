"""The short way to a prediction changes nothing but its cost."""

import asyncio

import numpy as np
import pytest

from app import heads
from app.api import answers, predictions


@pytest.fixture
def asked(shared, published):
    model_id, _ = published("vectors")
    return {"model": model_id, "inputs": [[0, 0, 0, 0]]}


def test_other_methods_are_refused_as_everywhere(shared):
    answer = shared.http.get("/predict")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


def test_a_prediction_is_counted_under_its_route(shared, asked):
    assert shared.http.post("/predict", json=asked).status_code == 200
    assert (
        'c2s_requests_total{method="POST",route="/predict",status="200"}' in shared.http.get("/metrics").text
    )


def test_a_prediction_carries_what_every_answer_carries(shared, asked):
    answer = shared.http.post("/predict", json=asked, headers={"X-Request-ID": "mine"})
    assert answer.headers["x-request-id"] == "mine"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-type"] == "application/json"


def test_a_parameter_that_means_nothing_is_refused_each_time_it_is_sent(shared, asked):
    for _ in range(2):  # what was refused is not remembered as read
        answer = shared.http.post("/predict?modle=x", json=asked)
        assert answer.json()["errors"][0]["parameter"] == "modle"


def test_strangers_and_lesser_keys_get_no_prediction(shared, asked):
    with shared.client() as stranger, shared.client(shared.key("read")["secret"]) as reader:
        assert stranger.post("/predict", json=asked).status_code == 401
        assert reader.post("/predict", json=asked).status_code == 403


def test_of_two_headers_with_one_name_the_first_counts():
    scope = {"headers": [(b"host", b"first"), (b"host", b"second")]}
    assert heads.text(scope, b"host") == "first"
    assert heads.text(scope, b"accept", "none") == "none"


def test_a_picture_is_read_on_the_loop_only_if_its_head_says_that_it_is_small(pictures):
    assert predictions._unpacked(pictures(0)) <= predictions.LONG
    assert predictions._unpacked(pictures(0, size=2000)) > predictions.LONG
    assert predictions._unpacked(pictures(0, form="JPEG")) > predictions.LONG


def test_a_body_in_pieces_is_read_whole():
    pieces = [{"type": "http.request", "body": part, "more_body": part != b"c"} for part in (b"a", b"", b"c")]

    async def receive():
        return pieces.pop(0)

    assert asyncio.run(predictions._body(receive)) == b"ac"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_none_spoils_the_answer(bad):
    probs = np.full((3, 2), 0.5)
    answers.check_finite(probs)
    probs[1, 0] = bad
    with pytest.raises(Exception, match="row 1 is too large"):
        answers.check_finite(probs)
