"""Refusals: every one is a problem document, names itself by a code, and tells nothing that it should not."""

import ast
import json
import re
from pathlib import Path

import httpx
import pytest

from app.api import codes, guard, problems
from app.core import errors

ROOT = Path(__file__).parents[3]
NAMES = {"dataset": "ds", "job": "job", "model": "mdl", "key": "key", "project": "prj"}
IDS = {f"{name}_id": f"{prefix}_{'0' * 26}" for name, prefix in NAMES.items()} | {"name": "n", "alias": "a"}
STRONG = "4f1c9a7be2d8306b5a4f1c9a7be2d830"


def check(answer, status, code):
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == problems.MEDIA_TYPE
    body = answer.json()
    assert (body["status"], body["code"]) == (status, code)
    assert code in codes.CODES
    assert body["title"]
    assert body["detail"]
    assert body["request_id"] == answer.headers["X-Request-ID"]
    return body


@pytest.fixture
def stranger(shared):
    with httpx.Client(base_url=shared.address, timeout=60) as http:
        yield http


def operations(shared):
    for path, verbs in shared.http.get("/openapi.json").json()["paths"].items():
        for verb, operation in verbs.items():
            yield verb.upper(), path.format(**IDS), operation


def test_every_route_but_the_probes_needs_the_token(shared, stranger):
    seen = 0
    for verb, path, operation in operations(shared):
        if operation.get("security") == []:
            assert path in guard.OPEN
            assert stranger.request(verb, path).status_code == 200
            continue
        seen += 1
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "Bearer"},
            {"Authorization": f"Basic {'t' * 32}"},
            {"Authorization": b"Bearer \xff\xfe"},
            {"Cookie": "c2s=wrong"},
            {"Cookie": '; c2s="; =;'},
            {"Cookie": f"c2s={'t' * 32}", "Sec-Fetch-Site": "same-site"},
        ):
            answer = stranger.request(verb, path, headers=headers)
            check(answer, 401, "unauthorized")
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert seen > 15
    for path in ("/openapi.json", "/nowhere", "/livez/", "//livez"):
        check(stranger.get(path), 401, "unauthorized")


@pytest.mark.parametrize(
    "host",
    [
        "localhost/livez?",
        "localhost:80/livez?",
        "localhost:80/livez#",
        "/livez?",
        "x/livez?",
        "localhost/?token=",
        "[::1]/livez?",
    ],
)
def test_no_host_header_opens_a_door(shared, stranger, tmp_path, run_service, host):
    assert stranger.get("/jobs", headers={"Host": host}).status_code == 421
    with run_service(tmp_path, host="0.0.0.0", token=STRONG) as service:  # noqa: S104
        assert httpx.get(f"{service.address}/jobs", headers={"Host": host}).status_code == 401


def test_a_page_is_let_in_by_the_token_in_its_address(shared, stranger):
    check(stranger.get("/?token=wrong"), 401, "unauthorized")
    check(stranger.get("/jobs?token=" + "t" * 32), 401, "unauthorized")
    answer = stranger.get("/?token=" + "t" * 32)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert stranger.get("/").status_code == 200  # the client keeps the cookie
    assert stranger.get("/jobs", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "evil.example:8321", "", "127.0.0.1.nip.io"]
)
def test_a_foreign_host_is_421_even_for_the_probes(shared, host):
    for path in ("/livez", "/jobs"):
        check(shared.http.get(path, headers={"Host": host}), 421, "misdirected")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:8321"])
def test_the_names_of_this_machine_are_answered(shared, host):
    assert shared.http.get("/livez", headers={"Host": host}).status_code == 200


def test_a_service_for_everybody_answers_to_every_name():
    assert guard.Guard(None, admission=None, host="0.0.0.0")._hosts is None  # noqa: S104
    assert "box.example" in guard.Guard(None, admission=None, host="box.example")._hosts


def test_what_the_framework_refuses_is_a_problem_too(shared):
    check(shared.http.get("/nowhere"), 404, "not_found")
    check(shared.http.get("/datasets/"), 404, "not_found")
    answer = shared.http.put("/jobs", json={})
    check(answer, 405, "method_not_allowed")
    assert "POST" in answer.headers["Allow"]
    check(shared.http.get("/jobs?unknown=1"), 422, "invalid")
    check(
        shared.http.post("/jobs", content=b"x" * 2**21, headers={"Content-Type": "application/json"}),
        413,
        "body_too_large",
    )
    check(shared.http.post("/jobs", data={"a": "b"}), 415, "unsupported_media_type")
    check(
        shared.http.post("/jobs", content=b"{}", headers={"Content-Type": "text/plain"}),
        415,
        "unsupported_media_type",
    )
    check(shared.http.post("/jobs", content=b"{}"), 415, "unsupported_media_type")
    for path in ("/docs", "/redoc"):
        check(shared.http.get(path), 404, "not_found")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b'{"a": 1,}', 400),
        (b"\xff\xfe", 400),
        (b'"\xc3"', 400),
        (b"[" * 100_000 + b"]" * 100_000, 400),
        (b'{"a": "\x00"}', 400),
        (b'{"seed": NaN}', 422),
        (b'{"seed": -Infinity}', 422),
        (b'{"seed": 1e999}', 422),
        (b'{"seed": ' + b"9" * 5000 + b"}", 422),
        (rb'{"name": "\ud800"}', 422),
        (rb'{"name": "\u0000"}', 422),
        (rb'{"\u0000": 1}', 422),
        (rb'{"\ud800": 1}', 422),
        (b"[]", 422),
        (b"null", 422),
        (b"1", 422),
        (b'"text"', 422),
        (b"", 422),
    ],
)
def test_malformed_is_400_and_well_formed_but_wrong_is_422(shared, body, status):
    answer = shared.http.post("/jobs", content=body, headers={"Content-Type": "application/json"})
    check(answer, status, "bad_request" if status == 400 else "invalid")


def test_a_thousand_faults_are_told_in_part(shared):
    body = {f"field-{number}" + "x" * 500: 1 for number in range(1000)}
    problem = check(shared.http.post("/jobs", json=body), 422, "invalid")
    assert len(problem["errors"]) == problems.MOST_FAULTS
    assert all(len(fault["pointer"]) <= problems.LONGEST_POINTER for fault in problem["errors"])


def test_a_refusal_does_not_repeat_what_was_sent(shared):
    marker = "SENTINEL-3141592653"
    body = {"dataset_id": marker, "method": marker, "net": {"name": marker}, "seed": marker, "name": [marker]}
    for answer in (
        shared.http.post("/jobs", json=body),
        shared.http.post("/predict", json={"model": marker, "inputs": marker, "top_k": marker}),
        shared.http.get(f"/jobs/{marker}"),
        shared.http.get(f"/jobs?state={marker}&limit={marker}"),
        shared.http.get(f"/{marker}"),
        shared.http.post("/jobs", content=f"{{{marker}", headers={"Content-Type": "application/json"}),
    ):
        assert answer.status_code in (400, 404, 422)
        assert marker not in answer.text, answer.text


def test_a_fault_of_ours_is_a_500_that_tells_nothing(tmp_path, run_service):
    with run_service(tmp_path) as service:
        service.app.state.store.root = None  # nobody foresaw this
        body = check(service.http.get("/readyz"), 500, "internal")
        assert "request_id" in body["detail"]
        for secret in ("Traceback", "NoneType", str(tmp_path), ".py", "root"):
            assert secret not in json.dumps(body)


def test_a_database_that_is_away_is_503_and_a_time_to_come_back(tmp_path, run_service):
    with run_service(tmp_path) as service:
        service.app.state.database.close()
        for name in ("c2s.sqlite3", "c2s.sqlite3-wal", "c2s.sqlite3-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / "c2s.sqlite3").mkdir()
        for path in ("/readyz", "/jobs"):
            answer = service.http.get(path)
            body = check(answer, 503, "unavailable")
            assert int(answer.headers["Retry-After"]) > 0
            assert "sqlite" not in json.dumps(body).lower()
        assert service.http.get("/livez").status_code == 200


def test_a_store_that_is_away_is_503(tmp_path, run_service):
    with run_service(tmp_path) as service:
        (service.store.root / "tmp").rmdir()
        check(service.http.get("/readyz"), 503, "unavailable")


def test_every_code_that_the_sources_raise_is_documented():
    raised = {kind.code for kind in problems.KINDS.values()} | {errors.NotYet.code}
    for path in [
        *(ROOT / "app/api").glob("*.py"),
        *(ROOT / "app/core").glob("*.py"),
        ROOT / "app/protocol.py",
    ]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and re.match("(errors|problems)\\.[A-Z]", ast.unparse(node.func)):
                for keyword in node.keywords:
                    if keyword.arg == "code" and isinstance(keyword.value, ast.Constant):
                        raised.add(keyword.value.value)
    assert {"unknown_dataset", "dataset_in_use", "not_estimated_yet"} <= raised
    assert raised <= codes.CODES


def test_every_code_is_explained_where_its_type_leads(shared):
    assert set(codes.MEANING) == codes.CODES
    kind = shared.http.get("/nowhere").json()["type"]
    assert shared.http.get(kind).headers["Location"] == "/reference#codes"
    check(shared.http.get("/problems/unheard_of"), 404, "not_found")
    assert "<code>dataset_in_use</code>" in shared.http.get("/reference").text
