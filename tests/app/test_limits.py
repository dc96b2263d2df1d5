"""Every request has an id and a body that fits; the answers to those that do not are problems."""

import asyncio

import httpx
import pytest
import structlog
from fastapi import FastAPI, Request
from pydantic import BaseModel

from app import limits

UPLOAD, JSON, PREDICT = 5000, 1000, 3000


class Body(BaseModel):
    text: str


def service():
    app = FastAPI()
    app.state.kept = []

    @app.post("/jobs")
    @app.post("/predict")
    @app.put("/predict")
    def create(body: Body):
        return {"length": len(body.text)}

    @app.post("/datasets")
    async def upload(request: Request):
        total = 0
        async for part in request.stream():
            total += len(part)
        app.state.kept.append(total)
        return {"bytes": total}

    @app.get("/id")
    def show(request: Request):
        return {"state": request.state.request_id, "log": structlog.contextvars.get_contextvars()}

    @app.get("/broken")
    def broken():
        raise RuntimeError("broken")

    return app


@pytest.fixture
def app():
    return service()


@pytest.fixture
def ask(app):
    wrapped = limits.Limits(app, upload_bytes=UPLOAD, json_bytes=JSON, predict_bytes=PREDICT)
    transport = httpx.ASGITransport(wrapped, raise_app_exceptions=False)

    def ask(method, path, **options):
        async def once():
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                return await client.request(method, path, **options)

        return asyncio.run(once())

    return ask


def pieces(total):
    async def parts():
        for _ in range(total // 100):
            yield b"a" * 100

    return parts()


def refused(answer, status, code):
    problem = answer.json()
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(problem) == {"type", "title", "status", "detail", "code", "request_id"}
    assert (problem["type"], problem["status"], problem["code"]) == (f"/problems/{code}", status, code)
    assert problem["request_id"] == answer.headers["x-request-id"]
    return problem


@pytest.mark.parametrize(
    ("method", "path", "limit"),
    [
        ("POST", "/jobs", JSON),
        ("POST", "/predict", PREDICT),
        ("PUT", "/predict", JSON),
        ("POST", "/datasets", UPLOAD),
        ("POST", "/datasets/x", JSON),
        ("POST", "/nowhere", JSON),
        ("GET", "/id", JSON),
    ],
)
def test_a_declared_body_above_the_limit_of_its_path_is_413(ask, method, path, limit):
    problem = refused(ask(method, path, content=b"a" * (limit + 1)), 413, "body_too_large")
    assert str(limit) in problem["detail"]
    assert path not in str(problem)  # what a client sent is not repeated to it
    assert ask(method, path, content=b"a" * limit).status_code != 413


@pytest.mark.parametrize("kind", ["application/x-ndjson", "Application/X-NDJSON ; charset=utf-8"])
def test_lines_to_predict_are_a_stream_however_their_type_is_written(ask, kind):
    answer = ask("POST", "/predict", content=b"a" * (PREDICT + 1), headers={"content-type": kind})
    assert answer.status_code != 413


@pytest.mark.parametrize(("path", "limit"), [("/jobs", JSON), ("/predict", PREDICT), ("/datasets", UPLOAD)])
def test_an_undeclared_body_is_counted_while_it_streams(ask, app, path, limit):
    answer = ask("POST", path, content=pieces(limit + 100))
    assert "content-length" not in answer.request.headers
    assert str(limit) in refused(answer, 413, "body_too_large")["detail"]
    assert app.state.kept == []


def test_a_body_of_exactly_the_limit_passes(ask):
    assert ask("POST", "/datasets", content=pieces(UPLOAD)).json() == {"bytes": UPLOAD}


def test_reading_stops_at_the_limit(app):
    taken, sent = [], []

    async def receive():
        taken.append(1)
        return {"type": "http.request", "body": b"a" * 100, "more_body": True}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/datasets", "headers": [], "query_string": b""}
    asyncio.run(limits.Limits(app, upload_bytes=UPLOAD)(scope, receive, send))
    assert len(taken) == UPLOAD // 100 + 1
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[0]["status"] == 413


@pytest.mark.parametrize(
    "media_type",
    ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "Multipart/Form-Data ;a=b"],
)
@pytest.mark.parametrize("path", ["/jobs", "/datasets", "/predict", "/nowhere"])
def test_a_form_is_415(ask, path, media_type):
    answer = ask("POST", path, content=b"a=b", headers={"content-type": media_type})
    refused(answer, 415, "unsupported_media_type")


def test_what_fits_reaches_the_application(ask):
    answer = ask("POST", "/jobs", json={"text": "four"})
    assert (answer.status_code, answer.json()) == (200, {"length": 4})


@pytest.mark.parametrize("given", ["a", "Az09._-", "f" * 64])
def test_a_harmless_request_id_is_taken_over_everywhere(ask, given):
    answer = ask("GET", "/id", headers={"x-request-id": given})
    assert answer.headers.get_list("x-request-id") == [given]
    assert answer.json() == {"state": given, "log": {"request_id": given}}


@pytest.mark.parametrize("given", ["", "f" * 65, "a b", "a\tb", "ä".encode(), "{7*7}", "<b>", "a/b"])
def test_any_other_request_id_is_replaced(ask, given):
    answer = ask("GET", "/id", headers={"x-request-id": given})
    (made,) = answer.headers.get_list("x-request-id")
    assert limits.REQUEST_ID.fullmatch(made)
    assert answer.json()["state"] == made != given


def test_two_requests_have_two_ids_and_leave_none_behind(ask):
    first, second = ask("GET", "/id"), ask("GET", "/id")
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
    assert "request_id" not in structlog.contextvars.get_contextvars()


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), ("/broken", 500), ("/jobs", 405)])
def test_errors_carry_the_id_too(ask, path, status):
    answer = ask("GET", path, headers={"x-request-id": "mine"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (status, "mine")


def leaving(app, **options):
    messages = [{"type": "http.request", "body": b"a", "more_body": True}, {"type": "http.disconnect"}]
    sent = []

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/datasets", "headers": [], "query_string": b""}
    asyncio.run(limits.Limits(app, upload_bytes=UPLOAD, **options)(scope, receive, send))
    return sent


def test_a_client_that_leaves_is_no_error():
    async def app(scope, receive, send):
        async for _ in Request(scope, receive).stream():
            pass

    with structlog.testing.capture_logs() as logs:
        assert leaving(app) == []
    assert [entry["event"] for entry in logs] == ["client_left"]


def test_an_application_s_own_fault_is_not_hidden():
    async def app(scope, receive, send):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        leaving(app)


def test_what_is_not_http_passes_untouched():
    seen = []

    async def app(scope, receive, send):
        seen.append((scope, receive, send))

    asyncio.run(limits.Limits(app, upload_bytes=1)({"type": "lifespan"}, "receive", "send"))
    assert seen == [({"type": "lifespan"}, "receive", "send")]


def test_beyond_the_requests_that_can_be_under_way_the_answer_is_try_again():
    started, release = asyncio.Event(), asyncio.Event()

    async def slow(scope, receive, send):
        started.set()
        await release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def crowd():
        wrapped = limits.Limits(slow, upload_bytes=UPLOAD, most=1)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(wrapped), base_url="http://test"
        ) as client:
            first = asyncio.create_task(client.get("/jobs"))
            await started.wait()
            stream = asyncio.create_task(client.get("/jobs/job_1/events"))
            second = await client.get("/jobs")
            release.set()
            return (await first).status_code, second, (await stream).status_code, wrapped.under_way

    first, second, stream, left = asyncio.run(crowd())
    assert (first, second.status_code, stream, left) == (200, 503, 200, 0)
    assert (second.json()["code"], "retry-after" in second.headers) == ("unavailable", True)
