"""A19, reading across tenants: another project's ids are as unknown as ids that never were."""

import httpx
import pytest
from sqlalchemy import select, update

from app.core import ids, ownership
from app.core.callers import Caller
from app.core.tables import Dataset, Job, Model

EMPTY = {"POST": {"json": {}}, "PATCH": {"json": {}}}
FULL = {
    "/jobs/{job_id}/decisions": {"json": {"decisions": [{"id": "0", "decision": "keep"}]}},
    "/jobs/{job_id}/gold": {"json": {"labels": {"0": "0"}}},
}


@pytest.fixture(scope="module")
def tenants(shared, sources, trained):
    """Two tenants; the first has a dataset, a job and a model."""
    first, second = shared.project("first"), shared.project("second")
    ours, theirs = (shared.client(shared.key(project_id=project)["secret"]) for project in (first, second))
    dataset = ours.post("/datasets", content=sources("vectors"), params={"name": "mine"}).json()["id"]
    job = ours.post("/jobs", json={"dataset_id": dataset, "name": "mine"}).json()["id"]
    model = shared.publish(shared.claim(), *trained("vectors"))
    yield ours, theirs, {"dataset_id": dataset, "job_id": job, "model_id": model}
    ours.close()
    theirs.close()


def owned(shared):
    """The operations on something that belongs to a project."""
    for path, verbs in shared.http.get("/openapi.json").json()["paths"].items():
        if any(f"{{{name}}}" in path for name in ("dataset_id", "job_id", "model_id")):
            yield from ((verb.upper(), path) for verb in verbs)


def test_every_operation_on_a_foreign_id_is_404(shared, tenants):
    ours, theirs, known = tenants
    seen = 0
    for verb, path in owned(shared):
        body = FULL[path] if verb == "POST" and path in FULL else EMPTY.get(verb, {})
        answer = theirs.request(verb, path.format(**known), **body)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), (verb, path, answer.text)
        never = {name: ids.new(value.split("_")[0]) for name, value in known.items()}
        unknown = theirs.request(verb, path.format(**never), **body)
        assert _told(answer, known) == _told(unknown, never)  # the two cannot be told apart
        seen += 1
    assert seen >= 12
    for path in ("/datasets/{dataset_id}", "/jobs/{job_id}", "/jobs/{job_id}/events", "/models/{model_id}"):
        assert ours.get(path.format(**known)).status_code == 200


def _told(answer, known):
    text = answer.json()["detail"]
    for value in known.values():
        text = text.replace(value, "ID")
    return answer.status_code, answer.json()["code"], text


def test_a_foreign_dataset_cannot_be_trained_on_nor_a_foreign_model_asked(tenants):
    ours, theirs, known = tenants
    for query in ("", "?dry_run=true"):
        answer = theirs.post(f"/jobs{query}", json={"dataset_id": known["dataset_id"]})
        assert (answer.status_code, answer.json()["code"]) == (422, "unknown_dataset")
    answer = theirs.post("/predict", json={"model": known["model_id"], "inputs": [[1.0, 2.0, 3.0, 4.0]]})
    assert answer.status_code == 404
    assert ours.post(
        "/predict", json={"model": known["model_id"], "inputs": [[1.0, 2.0, 3.0, 4.0]]}
    ).is_success
    answer = theirs.post("/predict", json={"model": known["model_id"], "inputs": [[1.0, 2.0, 3.0, 4.0]]})
    assert answer.status_code == 404  # nor while it is remembered for its owner
    for name in (known["model_id"], "mine"):
        assert ours.get(f"/v2/models/{name}").status_code == 200
        assert theirs.get(f"/v2/models/{name}").status_code == 404
        assert theirs.post(f"/v2/models/{name}/infer", json={}).status_code == 404
    stream = theirs.get(f"/jobs/{known['job_id']}/events", headers={"Accept": "text/event-stream"})
    assert stream.status_code == 404


def test_lists_show_what_is_one_s_own(shared, tenants):
    ours, theirs, known = tenants
    for path, name in (("/datasets", "dataset_id"), ("/jobs", "job_id"), ("/models", "model_id")):
        assert [row["id"] for row in ours.get(path).json()["data"]] == [known[name]]
        assert theirs.get(path).json()["data"] == []
        assert shared.http.get(path).json()["data"] == []  # nor do they show in the operator's own project
    assert theirs.get(f"/jobs?dataset_id={known['dataset_id']}").json()["data"] == []


def test_what_a_tenant_makes_is_its_own_down_to_the_model(shared, tenants):
    ours, _, known = tenants
    with shared.database.read() as tx:
        owners = {
            tx.get(table, known[name]).project_id
            for table, name in ((Dataset, "dataset_id"), (Job, "job_id"), (Model, "model_id"))
        }
    assert owners == {ours.get("/session").json()["project_id"]}


def test_an_idempotency_key_of_one_tenant_means_nothing_to_another(tenants, sources):
    ours, theirs, _ = tenants
    body, once = sources("vectors"), {"Idempotency-Key": "the-same"}
    first = ours.post("/datasets", content=body, headers=once).json()["id"]
    second = theirs.post("/datasets", content=body, headers=once)
    assert second.status_code == 201
    assert second.json()["id"] != first
    assert ours.post("/datasets", content=body, headers=once).json()["id"] == first


def test_a_tenant_cannot_choose_its_project(shared, tenants):
    ours, theirs, known = tenants
    project = ours.get("/session").json()["project_id"]
    answer = theirs.get(f"/jobs/{known['job_id']}", headers={"C2S-Project": project})
    assert (answer.status_code, answer.json()["code"]) == (403, "insufficient_scope")
    elsewhere = {"C2S-Project": project}
    assert shared.http.get(f"/jobs/{known['job_id']}", headers=elsewhere).status_code == 200  # an admin may
    assert shared.http.get(f"/jobs/{known['job_id']}").status_code == 404
    for nowhere in (ids.new("prj"), "../x", ""):
        assert shared.http.get("/jobs", headers={"C2S-Project": nowhere}).status_code == 404


def test_a_session_of_the_database_never_leaves_its_project(shared, tenants):
    """Whatever a handler of tomorrow asks: the rows of others are not there, and cannot be changed."""
    _, _, known = tenants
    theirs = ownership.of(shared.database, Caller("key", ids.new("prj"), frozenset()))
    with theirs.read() as tx:
        assert tx.get(Job, known["job_id"]) is None
        assert tx.scalars(select(Job)).all() == []
        joined = select(Job.id, Model.id).join(Model, Model.job_id == Job.id)
        assert tx.execute(joined).all() == []
        assert tx.scalar(select(Dataset.name).where(Dataset.id == known["dataset_id"])) is None
    with theirs.begin() as tx:
        tx.execute(update(Job).where(Job.id == known["job_id"]).values(name="taken"))
    with shared.database.read() as tx:
        assert tx.get(Job, known["job_id"]).name != "taken"


def test_handlers_have_no_other_way_to_the_database():
    import ast
    from pathlib import Path

    import app.api
    import app.ui

    folders = [Path(package.__file__).parent for package in (app.api, app.ui)]
    for path in [file for folder in folders for file in folder.glob("*.py")]:
        text = path.read_text()
        if path.name not in ("deps.py", "pages.py"):  # pages: before anybody is known, to open a session
            assert "state.database" not in text, path.name
        whole = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)]
        if any(node.attr in ("All", "whole_database") for node in whole):
            assert path.name in (
                "health.py",
                "keys.py",
                "oip.py",
                "projects.py",
                "workers.py",  # whether one is busy, and no more: tests/app/api/test_workers.py
            ), path.name


def test_a_stranger_learns_nothing_from_ids(shared, tenants):
    _, _, known = tenants
    for path in (f"/jobs/{known['job_id']}", f"/jobs/{ids.new('job')}"):
        assert httpx.get(shared.address + path).status_code == 401
