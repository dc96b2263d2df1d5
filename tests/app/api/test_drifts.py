"""The difference of two jobs' matrices."""

import pytest


def test_a_job_does_not_differ_from_itself_nor_clearly_from_its_twin(shared, published):
    _, a = published("vectors")
    _, b = published("vectors", fresh=True)
    for other in (a, b):
        found = shared.http.get("/transitions/diff", params={"a": a, "b": other}).json()
        assert found["classes"] == ["0", "1", "2"]
        assert found["distance"] == pytest.approx(0)
        assert not found["more_than_chance"]
        assert found["changes"] == []


def test_other_classes_and_unknown_jobs_are_refused(shared, published):
    _, a = published("vectors")
    _, b = published("text")
    refused = shared.http.get("/transitions/diff", params={"a": a, "b": b})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["parameter"] == "b"
    assert shared.http.get("/transitions/diff", params={"a": a, "b": "job_x"}).status_code == 422
    assert shared.http.get("/transitions/diff", params={"a": a}).status_code == 422
    unknown = a[:-4] + ("0000" if not a.endswith("0000") else "1111")
    assert shared.http.get("/transitions/diff", params={"a": a, "b": unknown}).status_code == 404
