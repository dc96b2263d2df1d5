"""Secrets in logs: a whole story, with failures in it, at the most talkative level, leaves none of them behind."""

import logging

import structlog

from app.core import logs

OPERATOR = "operators-own-0123456789abcdef"


def test_no_secret_of_a_whole_story_is_logged(tmp_path, run_service, csv_file, capfd, caplog):
    before = structlog.get_config()
    caplog.set_level(logging.DEBUG)
    for client in ("httpx", "httpcore"):  # the test's own end of the line
        caplog.set_level(logging.WARNING, logger=client)
    logs.configure("debug")
    structlog.configure(cache_logger_on_first_use=False)  # or it would outlive this test
    try:
        with run_service(tmp_path, token=OPERATOR) as service:
            secrets = _story(service, csv_file)
            service.app.state.ledger.write()
    finally:
        structlog.configure(**before)
    out, err = capfd.readouterr()
    said = out + err + caplog.text
    assert "request_failed" in said  # the failure was logged, so that something was looked at
    for secret in secrets:
        assert len(secret) > 20
        assert secret not in said


def _story(service, csv_file):
    """Keys, sessions, uploads, refusals and a fault of ours; all that must never be seen again."""
    token = service.http.headers["Authorization"].split()[1]
    made = service.key("read", "write")
    wrong = "c2s_" + "0" * 12 + "_" + "Z" * 43
    with service.client(made["secret"]) as http, service.client() as page:
        dataset = http.post("/datasets", content=csv_file).json()["id"]
        http.post("/jobs", json={"dataset_id": dataset})
        assert http.post("/keys", json={}).status_code == 403
        assert page.get("/jobs", headers={"Authorization": f"Bearer {wrong}"}).status_code == 401
        assert page.get(f"/?token={wrong}").status_code == 401
        assert page.get(f"/?token={made['secret']}").status_code == 303
        cookie, csrf = page.cookies["c2s"], page.get("/session").json()["csrf_token"]
        page.post("/jobs", json={"dataset_id": dataset}, headers={"X-CSRF-Token": csrf})
        page.delete("/session", headers={"X-CSRF-Token": csrf})
        root, service.app.state.store.root = service.app.state.store.root, None
        assert http.get("/readyz").status_code == 500
        service.app.state.store.root = root
        database, service.app.state.keyring._database = service.app.state.keyring._database, None
        service.app.state.keyring.forget()
        assert http.get("/jobs").status_code == 500
        service.app.state.keyring._database = database
    service.http.delete(f"/keys/{made['id']}")
    return [token, made["secret"], made["secret"].split("_", 2)[2], wrong, cookie, csrf]
