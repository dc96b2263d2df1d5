"""The audit log: every change, by whom, in the transaction that made it."""

import pytest

from app.core import ids


def entries(service, **query):
    return service.http.get("/audit", params={"limit": 100, **query}).json()["data"]


def test_every_change_is_noted_with_its_key_and_its_request(service, csv_file):
    made = service.key("read", "write")
    with service.client(made["secret"]) as http:
        sent = {"X-Request-ID": "request-7"}
        dataset = http.post("/datasets", content=csv_file, headers=sent).json()["id"]
        job = http.post("/jobs", json={"dataset_id": dataset}, headers={"X-Request-ID": "request-8"}).json()[
            "id"
        ]
        http.post(f"/jobs/{job}/cancel")
        again = http.post(f"/jobs/{job}/retry").json()["id"]
        http.post(f"/jobs/{again}/cancel")
        http.delete(f"/datasets/{dataset}")
    project = service.project()
    service.http.patch(f"/projects/{project}", json={"quotas": {"jobs_per_day": 1}})
    service.http.delete(f"/keys/{made['id']}")
    found = entries(service)
    assert [(entry["action"], entry["target"]) for entry in reversed(found)] == [
        ("key.create", made["id"]),
        ("dataset.create", dataset),
        ("job.create", job),
        ("job.cancel", job),
        ("job.create", again),
        ("job.cancel", again),
        ("dataset.delete", dataset),
        ("project.create", project),
        ("project.change", project),
        ("key.revoke", made["id"]),
    ]
    by = {entry["action"]: entry for entry in found}
    assert (by["dataset.create"]["key_id"], by["dataset.create"]["request_id"]) == (made["id"], "request-7")
    assert by["key.create"]["key_id"] == "bootstrap"
    assert by["project.change"]["detail"] == {"quotas": {"jobs_per_day": 1}, "renamed": False}
    first = next(entry for entry in found if entry["target"] == job and entry["action"] == "job.create")
    assert (first["key_id"], first["request_id"]) == (made["id"], "request-8")
    assert next(entry for entry in found if entry["target"] == again)["detail"] in ({}, {"retry_of": job})


def test_what_is_refused_changes_nothing_and_is_not_noted(service, csv_file):
    before = entries(service)
    assert service.http.post("/datasets", content="").status_code >= 400
    assert service.http.post("/keys", json={}).status_code == 422
    assert service.http.delete(f"/datasets/{ids.new('ds')}").status_code == 404
    dataset = service.upload(csv_file)["id"]
    service.job(dataset)
    assert service.http.delete(f"/datasets/{dataset}").status_code == 409
    assert service.http.post("/jobs?dry_run=true", json={"dataset_id": dataset}).status_code == 200
    assert [entry["action"] for entry in entries(service)][: -len(before) or None] == [
        "job.create",
        "dataset.create",
    ]


def test_the_log_has_cursors_that_leave_nothing_out(service, csv_file):
    dataset = service.upload(csv_file)["id"]
    for _ in range(3):
        service.job(dataset)
        service.key("read")
    whole = [entry["id"] for entry in entries(service)]
    assert len(whole) == 7
    paged, after = [], {}
    while True:
        page = service.http.get("/audit", params={"limit": 2, **after}).json()
        paged += [entry["id"] for entry in page["data"]]
        if not page["has_more"]:
            break
        after = {"after": page["next_cursor"]}
    assert paged == whole
    assert service.http.get("/audit?after=job_" + "0" * 26).status_code == 422


def test_a_project_s_log_is_its_own(service, csv_file):
    project = service.project()
    with service.client(service.key(project_id=project)["secret"]) as http:
        dataset = http.post("/datasets", content=csv_file).json()["id"]
        job = http.post("/jobs", json={"dataset_id": dataset}).json()["id"]
    elsewhere = service.http.get("/audit", headers={"C2S-Project": project}).json()["data"]
    assert [entry["target"] for entry in elsewhere] == [job, dataset]
    assert not {dataset, job} & {entry["target"] for entry in entries(service)}


@pytest.mark.parametrize("action", ["session.open", "session.close"])
def test_sessions_are_noted_without_their_value(service, action):
    with service.client() as http:
        opened = http.post("/session", headers={"Authorization": service.http.headers["Authorization"]})
        value = http.cookies["c2s"]
        http.delete("/session", headers={"X-CSRF-Token": opened.json()["csrf_token"]})
    found = entries(service)
    assert action in [entry["action"] for entry in found]
    assert value not in str(found)
