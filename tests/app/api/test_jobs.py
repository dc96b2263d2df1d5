"""Jobs over HTTP: made, forecast, listed, cancelled in every state, tried again."""

import importlib.metadata
import threading

import pytest
from sqlalchemy import event, func, select

from app.api import plans
from app.core import backlog
from app.core.tables import Job, Receipt

UNKNOWN = "job_" + "0" * 26
STAGE = {"epochs": 4, "batch_size": 8}
GIVEN = {"matrix": [[0.8, 0.2], [0.3, 0.7]]}


@pytest.fixture
def dataset(service, csv_file):
    return service.upload(csv_file)["id"]


@pytest.fixture(scope="module")
def kept(shared, csv_file):
    return shared.upload(csv_file)["id"]


def test_a_job_needs_nothing_but_a_dataset(service, dataset):
    answer = service.http.post("/jobs", json={"dataset_id": dataset})
    job = answer.json()
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"/jobs/{job['id']}"
    assert (job["state"], job["phase"], job["attempts"], job["error"]) == ("queued", None, 0, None)
    assert job["config"]["net"]["name"] == "mlp"
    assert job["config"]["stage1"]["epochs"] > 0  # nothing is left open
    assert service.http.get(f"/jobs/{job['id']}").json() == job
    assert service.claim().job_id == job["id"]


def test_a_job_keeps_what_it_was_asked(service, dataset):
    asked = {"method": "forward", "net": {"name": "mlp", "hidden": [7]}, "transition": GIVEN, "seed": 5}
    job = service.job(dataset, name="mine", priority=3, **asked)
    assert (job["name"], job["priority"]) == ("mine", 3)
    assert job["config"]["method"]["name"] == "forward"
    assert job["config"]["net"]["hidden"] == [7]
    assert job["config"]["transition"] == GIVEN
    later = service.job(dataset, priority=9)
    assert service.claim().job_id == later["id"]


def test_progress_and_failure_are_shown(service, dataset):
    job = service.job(dataset)
    held = service.claim()
    progress = {"fraction": 0.5, "phase": "stage1", "epoch": 1, "epochs": 2, "metrics": {"loss": 1.0}}
    service.beat(held, ("phase", {"phase": "stage1"}), progress=progress | {"eta_seconds": 3.0})
    shown = service.http.get(f"/jobs/{job['id']}").json()
    assert (shown["state"], shown["phase"], shown["attempts"]) == ("running", "stage1", 1)
    assert shown["progress"]["fraction"] == 0.5
    assert shown["progress"]["eta_seconds"] == 3.0
    assert shown["started_at"] >= shown["created_at"]
    service.end(held, "diverged")
    shown = service.http.get(f"/jobs/{job['id']}").json()
    assert (shown["state"], shown["error"]["code"], shown["error"]["retriable"]) == (
        "failed",
        "diverged",
        False,
    )


@pytest.mark.parametrize(
    ("asked", "code", "pointer"),
    [
        ({"dataset_id": "ds_" + "0" * 26}, "unknown_dataset", "/dataset_id"),
        ({"dataset_id": "../x"}, "invalid", "/dataset_id"),
        ({"dataset_id": None}, "invalid", "/dataset_id"),
        ({"method": "magic"}, "invalid", "/method"),
        ({"method": {"name": "forward", "x/~y": 1}}, "invalid", "/method/x~1~0y"),
        ({"method": {"name": "reweight", "max_weight": -1}}, "invalid", "/method/max_weight"),
        ({"stage1": {"epochs": 0}}, "invalid", "/stage1/epochs"),
        ({"stage2": {"schedule": {"name": "step", "every": 0}}}, "invalid", "/stage2/schedule/every"),
        ({"net": "lenet"}, "invalid_config", "/net"),
        ({"net": "text"}, "invalid_config", "/net"),
        ({"transition": {"matrix": [[0.5, 0.4], [0, 1]]}}, "invalid_transition", "/transition/matrix"),
        ({"transition": {"matrix": [[1]]}}, "invalid_transition", "/transition/matrix"),
        (
            {"transition": {"matrix": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}},
            "invalid_transition",
            "/transition/matrix",
        ),
        ({"transition": {"matrix": [[1, 0], [0, "x"]]}}, "invalid", "/transition/matrix/1/1"),
        ({"validation": 0.999}, "invalid_config", "/validation"),
        ({"method": {"name": "s2e", "curve": [-1e30] * 12}}, "invalid", "/method/curve/0"),
        ({"method": {"name": "s2e", "curve": [1] * 12}}, "invalid", "/method/curve/2"),
        ({"seed": 2**63}, "invalid", "/seed"),
        ({"seed": 10**30}, "invalid", "/seed"),
        ({"priority": 101}, "invalid", "/priority"),
        ({"name": ""}, "invalid", "/name"),
        ({"name": "a\x00b"}, "invalid", "/name"),
        *(({"name": f"a{more}"}, "invalid", "/name") for more in ("@b", "@3", "@b@champion")),
        ({"name": "mdl_" + "0" * 26}, "invalid", "/name"),
        ({"nmae": "x"}, "invalid", "/nmae"),
    ],
)
@pytest.mark.parametrize("dry", [False, True])
def test_what_cannot_run_is_422_and_names_the_field(shared, kept, asked, code, pointer, dry):
    answer = shared.http.post("/jobs", params={"dry_run": dry}, json={"dataset_id": kept} | asked)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, code), problem
    assert pointer in [fault["pointer"] for fault in problem["errors"]], problem


def test_a_matrix_of_classes_before_they_were_merged_is_told_which_are_left(service, sources):
    asked = {"dataset_id": service.upload(sources("vectors"))["id"], "merge": [["2", "0"]]}
    three = {"matrix": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}
    problem = service.http.post("/jobs", json=asked | {"transition": three}).json()
    assert "the dataset has 3 classes, which merge makes 2 (1, 2, in this order)" in problem["detail"]
    assert service.http.post("/jobs", json=asked | {"transition": GIVEN}).status_code == 202


def test_a_dry_run_makes_no_job_and_forecasts(service, dataset):
    answer = service.http.post("/jobs?dry_run=true", json={"dataset_id": dataset, "transition": GIVEN})
    assert answer.status_code == 200
    forecast = answer.json()["forecast"]
    batch = answer.json()["config"]["stage2"]["batch_size"]
    assert forecast["similar_pairs_per_batch"] == pytest.approx(batch * (batch - 1) / 2 * 0.5)
    assert forecast["noise"]["noise_rate"]["class"] == pytest.approx(0.26)
    assert forecast["noise"]["similarity"].keys() == {"t00", "t01", "t10", "t11"}
    assert forecast["noise"]["learnability"]["rank"] == 2
    assert any("fewer than 4" in warning for warning in forecast["warnings"])
    plain = service.http.post("/jobs?dry_run=true", json={"dataset_id": dataset}).json()
    assert plain["forecast"]["noise"] is None
    assert service.http.get("/jobs").json()["data"] == []


def test_a_dry_run_says_what_the_job_will_be_given(service, dataset):
    asked = {"dataset_id": dataset, "method": "volmin", "stage1": {"epochs": 3}}
    dry = service.http.post("/jobs?dry_run=true", json=asked).json()
    assert service.http.post("/jobs", json=asked).json()["config"] == dry["config"]


def test_lists_are_filtered_and_paged(service, csv_file):
    first, second = service.upload(csv_file)["id"], service.upload(csv_file)["id"]
    made = [service.job(dataset)["id"] for dataset in (first, second, first)]
    service.http.post(f"/jobs/{made[0]}/cancel")

    def listed(**query):
        return [job["id"] for job in service.http.get("/jobs", params=query).json()["data"]]

    assert listed() == made[::-1]
    assert listed(state="queued") == [made[2], made[1]]
    assert listed(state="cancelled") == [made[0]]
    assert listed(dataset_id=first) == [made[2], made[0]]
    assert listed(dataset_id=first, state="queued") == [made[2]]
    assert listed(after=made[1]) == [made[0]]
    page = service.http.get("/jobs?limit=1").json()
    assert (page["has_more"], page["next_cursor"]) == (True, made[2])
    assert service.http.get("/jobs?state=lost").status_code == 422


def test_cancelling_a_waiting_job_ends_it_at_once_and_again_changes_nothing(service, dataset):
    job = service.job(dataset)
    for _ in range(2):
        answer = service.http.post(f"/jobs/{job['id']}/cancel")
        assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    assert service.claim() is None


def test_cancelling_a_running_job_asks_its_worker(service, dataset):
    job = service.job(dataset)
    held = service.claim()
    for _ in range(2):
        answer = service.http.post(f"/jobs/{job['id']}/cancel")
        assert (answer.status_code, answer.json()["state"]) == (202, "cancelling")
    service.end(held)
    answer = service.http.post(f"/jobs/{job['id']}/cancel")
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")


def test_a_job_that_ended_otherwise_cannot_be_cancelled(service, dataset, trained):
    failed = service.job(dataset)
    service.end(service.claim(), "diverged")
    succeeded = service.job(dataset)
    service.publish(service.claim(), *trained("vectors"))
    for job in (failed, succeeded):
        answer = service.http.post(f"/jobs/{job['id']}/cancel")
        assert (answer.status_code, answer.json()["code"]) == (409, "job_ended")


def test_a_retry_is_a_new_job_like_the_old_one(service, dataset):
    old = service.job(dataset, name="mine", priority=2, seed=9)
    waiting = service.http.post(f"/jobs/{old['id']}/retry")
    assert (waiting.status_code, waiting.json()["code"]) == (409, "conflict")
    service.end(service.claim(), "worker_lost")
    answer = service.http.post(f"/jobs/{old['id']}/retry")
    new = answer.json()
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"/jobs/{new['id']}"
    assert (new["retry_of"], new["state"]) == (old["id"], "queued")
    assert all(new[field] == old[field] for field in ("config", "name", "priority", "dataset_id"))
    assert service.http.get(f"/jobs/{old['id']}").json()["state"] == "failed"


def test_a_retry_that_is_sent_again_is_the_same_job_for_as_long_as_it_has_not_failed(service, dataset):
    old = service.job(dataset)["id"]
    service.end(service.claim(), "worker_lost")
    first = service.http.post(f"/jobs/{old}/retry")
    again = service.http.post(f"/jobs/{old}/retry")
    assert (first.status_code, again.status_code) == (202, 200)
    assert again.json() == first.json()
    assert again.headers["Location"] == first.headers["Location"]
    held = service.claim()
    running = service.http.post(f"/jobs/{old}/retry")
    assert (running.json()["id"], running.json()["state"]) == (first.json()["id"], "running")
    service.end(held, "worker_lost")
    anew = service.http.post(f"/jobs/{old}/retry")
    assert anew.status_code == 202
    assert anew.json()["id"] != first.json()["id"]


def test_a_retry_that_succeeded_is_not_made_again(service, sources, trained):
    old = service.job(service.upload(sources("vectors"))["id"])["id"]
    service.end(service.claim(), "worker_lost")
    retried = service.http.post(f"/jobs/{old}/retry").json()["id"]
    service.publish(service.claim(), *trained("vectors"))
    again = service.http.post(f"/jobs/{old}/retry")
    assert (again.status_code, again.json()["id"], again.json()["state"]) == (200, retried, "succeeded")


def test_a_job_costs_two_statements_and_one_transaction(service, dataset):
    service.job(dataset)
    seen, begun = [], []
    for engine in (service.app.state.database.writer, service.app.state.database.reader):
        event.listen(engine, "before_cursor_execute", lambda *args: seen.append(args[2].split()[0]))
        event.listen(engine, "begin", begun.append)
    service.job(dataset, seed=7)
    assert ([word for word in seen if word != "BEGIN"], len(begun)) == (["INSERT", "INSERT"], 1)


def test_a_dataset_that_jobs_were_made_on_can_be_deleted_and_is_then_unknown(service, dataset):
    service.job(dataset)
    service.end(service.claim(), "internal")
    assert service.http.delete(f"/datasets/{dataset}").status_code == 204
    answer = service.http.post("/jobs", json={"dataset_id": dataset})
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_dataset")
    assert len(service.http.get("/jobs").json()["data"]) == 1


def test_a_long_queue_is_counted_now_and_then_and_its_limit_still_holds(
    tmp_path, run_service, csv_file, monkeypatch
):
    monkeypatch.setattr(backlog, "NEAR", 3)
    with run_service(tmp_path, max_queue=8) as service:
        dataset = service.upload(csv_file)["id"]
        answers = [service.http.post("/jobs", json={"dataset_id": dataset}).status_code for _ in range(10)]
        assert answers == [202] * 8 + [429] * 2


def test_a_full_queue_is_429(tmp_path, run_service, csv_file):
    with run_service(tmp_path, max_queue=1) as service:
        dataset = service.upload(csv_file)["id"]
        service.job(dataset)
        answer = service.http.post("/jobs", json={"dataset_id": dataset})
        assert (answer.status_code, answer.json()["code"]) == (429, "queue_full")
        assert int(answer.headers["Retry-After"]) > 0


def test_the_same_post_with_the_same_key_is_one_job(service, dataset):
    head = {"Idempotency-Key": "k"}
    first = service.http.post("/jobs", json={"dataset_id": dataset}, headers=head)
    service.claim()
    again = service.http.post("/jobs", json={"dataset_id": dataset}, headers=head)
    assert again.status_code == first.status_code == 202
    assert again.json()["id"] == first.json()["id"]
    assert again.headers["Location"] == first.headers["Location"]
    for body in ({"dataset_id": dataset, "seed": 2}, {"dataset_id": dataset, "name": "x"}):
        other = service.http.post("/jobs", json=body, headers=head)
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    elsewhere = service.http.post(f"/jobs/{first.json()['id']}/retry", headers=head)
    assert elsewhere.json()["code"] == "idempotency_key_reused"
    for wrong in ("", "with space", "x" * 129):
        answer = service.http.post("/jobs", json={"dataset_id": dataset}, headers={"Idempotency-Key": wrong})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_key"), wrong


def test_a_refused_post_does_not_use_up_its_key(service, dataset):
    head = {"Idempotency-Key": "k"}
    assert (
        service.http.post("/jobs", json={"dataset_id": dataset, "net": "text"}, headers=head).status_code
        == 422
    )
    assert service.http.post("/jobs", json={"dataset_id": dataset}, headers=head).status_code == 202


@pytest.mark.parametrize("what", ["create", "retry"])
def test_posts_that_race_with_one_key_make_one_job(service, dataset, what):
    path, body = "/jobs", {"dataset_id": dataset}
    if what == "retry":
        path, body = f"/jobs/{service.job(dataset)['id']}/retry", None
        service.end(service.claim(), "internal")
    start, answers = threading.Barrier(12), []

    def send():
        start.wait(60)
        answers.append(service.http.post(path, json=body, headers={"Idempotency-Key": "race"}))

    threads = [threading.Thread(target=send) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    with service.database.read() as tx:
        assert tx.scalar(select(func.count()).select_from(Receipt)) == 1
        assert tx.scalar(select(func.count()).where(Job.state == "queued")) == 1


def test_an_unknown_job_is_404_everywhere(shared):
    for verb, path in [("GET", ""), ("POST", "/cancel"), ("POST", "/retry")] + [
        ("GET", f"/{part}") for part in ("events", "metrics", "checkpoints", "manifest", "transition")
    ]:
        for job_id in (UNKNOWN, "job_x", "ds_" + "0" * 26, "%2e%2e", "..%2f..", "%00"):
            answer = shared.http.request(verb, f"/jobs/{job_id}{path}")
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), (verb, path, job_id)


@pytest.mark.parametrize("cursor", ["zzz", "0", "ds_" + "0" * 26])
def test_a_cursor_of_another_list_is_refused(shared, cursor):
    answer = shared.http.get("/jobs", params={"after": cursor})
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (422, "after")


@pytest.mark.parametrize(
    ("method", "matrix", "said"),
    [
        ("forward", [[0.5, 0.5], [0.5, 0.5]], "all rows are alike"),
        (
            {"name": "f-class2simi", "correction": "similarity"},
            [[0.52, 0.48], [0.45, 0.55]],
            "hides which pairs",
        ),
    ],
)
def test_a_matrix_that_hides_the_classes_is_refused_before_anything_is_trained(
    shared, kept, method, matrix, said
):
    body = {"dataset_id": kept, "method": method, "transition": {"matrix": matrix}}
    for query in ("", "?dry_run=true"):
        answer = shared.http.post(f"/jobs{query}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_transition")
        assert said in answer.json()["detail"]


def test_a_forecast_counts_the_steps_of_every_training_that_the_method_makes(service, dataset):
    def foretold(**more):
        ask = {"dataset_id": dataset, "stage1": STAGE, "stage2": STAGE} | more
        found = service.http.post("/jobs?dry_run=true", json=ask).json()["forecast"]
        assert found["steps"] == sum(one["steps"] for one in found["trainings"]) <= found["most_steps"]
        return found

    one = foretold(method="forward", transition={"posteriors": "in-sample"})
    assert [part["name"] for part in one["trainings"]] == ["stage1", "stage2"]
    two = foretold(method="co-teaching", transition={"posteriors": "in-sample"})
    assert two["steps"] == one["steps"] * 3 // 2
    folds = foretold(method="forward", transition={"posteriors": "k-fold", "folds": 3})
    assert len(folds["trainings"]) == 5
    searched = foretold(method="s2e", transition={"posteriors": "in-sample"})
    assert searched["steps"] > two["steps"]
    assert foretold(method="auto")["steps"] > folds["steps"]


def test_a_forecast_warns_of_too_few_rows_to_judge_by(service, dataset):
    ask = {"dataset_id": dataset, "validation": 0.03}
    few = service.http.post("/jobs?dry_run=true", json=ask).json()["forecast"]["warnings"]
    assert any("rows are held out" in warning for warning in few)
    enough = service.http.post("/jobs?dry_run=true", json=ask | {"validation": 0.3}).json()
    assert not any("rows are held out" in warning for warning in enough["forecast"]["warnings"])


def test_an_installation_without_torch_takes_jobs(service, dataset, monkeypatch):
    def version(name):
        if name == "torch":
            raise importlib.metadata.PackageNotFoundError(name)
        return known(name)

    known = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", version)
    plans._versions.cache_clear()
    job = service.job(dataset)
    plans._versions.cache_clear()
    told = service.http.get(f"/jobs/{job['id']}/manifest").json()["versions"]
    assert told.keys() == {"c2s", "numpy", "python"}
