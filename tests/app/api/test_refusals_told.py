"""What a caller does wrong is one line of the log, with its code; a trace is for what nobody foresaw."""

import shutil

import pytest
import structlog

NPY = {"Content-Type": "application/x-npy"}


@pytest.fixture
def told(shared):
    """Send a request; its answer, and what the log says of it."""

    def send(*given, **more):
        with structlog.testing.capture_logs() as lines:
            answer = shared.http.request(*given, **more)
        return answer, lines

    return send


def test_predictions_that_are_refused_are_one_line_each_with_their_code(shared, published, told):
    model, _ = published("tabular")
    _, lines = told("POST", "/predict", json={"model": model, "inputs": [{"a": 1}]})
    assert [(line["event"], line["status"], line["code"]) for line in lines] == [
        ("request", 422, "invalid_input")
    ]
    wrong = [
        ("/predict", {"json": {"model": "gone", "inputs": [{"a": 1}]}}, 404, "not_found"),
        ("/predict", {"json": {"model": model, "inputs": 3}}, 422, "invalid"),
        ("/predict", {"content": b"{", "headers": {"Content-Type": "application/json"}}, 400, "bad_request"),
        (f"/predict?model={model}", {"content": b"no array", "headers": NPY}, 422, "invalid_input"),
        ("/predictions?model=gone", {"content": b"a,b,c\n1,2,x\n"}, 404, "not_found"),
        ("/predictions?model=gone&format=odd", {"content": b"a\n1\n"}, 422, "invalid"),
        ("/jobs", {"data": {"a": "form"}}, 415, "unsupported_media_type"),
        ("/nowhere", {}, 404, "not_found"),
    ]
    for path, sent, status, code in wrong:
        answer, lines = told("POST", path, **sent)
        assert (answer.status_code, answer.json()["code"]) == (status, code), path
        assert [(line["event"], line["code"]) for line in lines] == [("request", code)], path
        assert not any(line.get("exc_info") for line in lines)


def test_a_model_whose_files_are_gone_is_told_by_its_cause_without_a_trace(shared, published, told):
    model, job = published("tabular", fresh=True)
    store = shared.app.state.store
    shutil.rmtree(store.at(f"jobs/{job}"))
    answer, lines = told("POST", "/predict", json={"model": model, "inputs": [{"a": 1, "b": 2, "c": "x"}]})
    assert (answer.status_code, answer.json()["code"]) == (503, "model_damaged")
    failed, request = lines
    assert (failed["event"], failed["code"], failed["log_level"]) == (
        "request_failed",
        "model_damaged",
        "error",
    )
    assert failed["cause"].startswith("InvalidModel: ")
    assert "exc_info" not in failed
    assert (request["status"], request["code"]) == (503, "model_damaged")


def test_what_nobody_foresaw_is_told_with_its_trace(shared, told, monkeypatch):
    from app.api import datasets

    def broken(*given, **more):
        raise ZeroDivisionError

    monkeypatch.setattr(datasets.datasets, "find", broken)
    answer, lines = told("GET", "/datasets/ds_" + "0" * 26)
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    (failed,) = (line for line in lines if line["event"] == "request_failed")
    assert isinstance(failed["exc_info"], ZeroDivisionError)
