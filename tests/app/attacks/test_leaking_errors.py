"""A16, errors that tell an attacker something: input, paths, SQL, traces, versions."""

import json
import re

import structlog

MARK = "SENTINEL-2718281828"
TELLING = re.compile(
    r"Traceback|sqlalchemy|sqlite|psycopg|SELECT |INSERT |\.py\b|site-packages|/(home|tmp|root)/|0x[0-9a-f]{6}|Error\(",
    re.IGNORECASE,
)


def operations(service):
    for path, verbs in service.http.get("/openapi.json").json()["paths"].items():
        for verb, operation in verbs.items():
            yield verb.upper(), path, operation


def check(answer):
    assert answer.status_code >= 400
    told = answer.text + json.dumps(dict(answer.headers))
    assert MARK not in told, answer.text
    assert not TELLING.search(answer.text), answer.text
    assert "server" not in answer.headers


def test_no_refusal_of_any_operation_repeats_what_was_sent(shared):
    seen = 0
    for verb, path, operation in operations(shared):
        address = re.sub(r"\{[a-z_]+\}", MARK, path)
        if address != path:
            check(shared.http.request(verb, address))
        names = [each["name"] for each in operation.get("parameters", []) if each["in"] == "query"]
        check(shared.http.request(verb, path, params=dict.fromkeys([*names, "more"], MARK)))
        if "requestBody" in operation and path != "/datasets":
            for body in ({"more": MARK}, {"name": [MARK], "inputs": MARK, "dataset_id": MARK}, [MARK], MARK):
                check(shared.http.request(verb, path, json=body))
            broken = f'{{"{MARK}'.encode()
            check(
                shared.http.request(verb, path, content=broken, headers={"Content-Type": "application/json"})
            )
        seen += 1
    assert seen > 30
    for headers in (
        {"Authorization": f"Bearer {MARK}"},
        {"C2S-Project": MARK},
        {"Idempotency-Key": MARK * 20},
        {"Host": MARK},
        {"Content-Type": f"text/{MARK}"},
    ):
        check(shared.http.post("/jobs", content=b"{}", headers=headers))


def test_no_fault_of_ours_tells_where_it_happened(tmp_path, run_service, monkeypatch):
    quiet = structlog.wrap_logger(None, [_dropped])  # a console's traces take seconds to draw
    monkeypatch.setattr("app.api.problems.log", quiet)
    with run_service(tmp_path) as service:
        database, service.app.state.database = service.app.state.database, None  # nobody foresaw this
        for verb, path, _ in operations(service):
            answer = service.http.request(verb, re.sub(r"\{[a-z]+_id\}", lambda found: _id(found[0]), path))
            if answer.status_code >= 500:
                check(answer)
                assert answer.json()["code"] in ("internal", "unavailable")
        assert service.http.get("/jobs").status_code == 500
        service.app.state.database = database


def _dropped(*_):
    raise structlog.DropEvent


def _id(name):
    prefix = {"dataset": "ds", "model": "mdl", "project": "prj"}.get(name[1:-4], name[1:-4])
    return f"{prefix}_{'0' * 26}"
