"""HEAD answers as GET does, without the body: probes and `curl -I` ask so."""

import httpx
import pytest

VARYING = {"date", "x-request-id", "etag"}


def told(answer: httpx.Response) -> dict[str, str]:
    names = answer.headers.keys() - VARYING
    return {name: answer.headers[name] for name in names if not name.startswith("ratelimit")}


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/version", "/datasets", "/openapi.json", "/"])
def test_the_head_of_an_answer_is_that_of_get(shared, path):
    head, get = shared.http.head(path), shared.http.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert told(head) == told(get)


def test_the_connection_is_of_use_afterwards(shared):
    with shared.client(shared.settings.token) as client:
        assert [client.head("/livez").status_code for _ in range(3)] == [200] * 3
        assert client.get("/version").json()["version"]


def test_what_get_refuses_is_refused_alike(shared):
    with shared.client() as stranger:
        assert stranger.head("/datasets").status_code == 401
    assert shared.http.head("/datasets/ds_00000000000000000000000000").status_code == 404
    answer = shared.http.head("/predict")
    assert (answer.status_code, answer.content) == (405, b"")


def test_a_stream_of_events_ends_with_its_head(service, csv_file):
    job = service.job(service.upload(csv_file)["id"])
    answer = service.http.head(f"/jobs/{job['id']}/events", headers={"Accept": "text/event-stream"})
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert answer.content == b""
    assert service.http.get("/livez").status_code == 200


def test_it_is_counted_by_its_route(shared):
    shared.http.head("/nets")
    figures = shared.http.get("/metrics").text
    assert 'c2s_requests_total{method="HEAD",route="/nets",status="200"}' in figures
