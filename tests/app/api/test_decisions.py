"""What people decide on labels is kept with who and when, changed, taken back, listed, and beats thresholds."""

import csv
import io
import json
import threading

import pytest
from pyarrow import parquet


@pytest.fixture(params=["sqlite", "postgresql"])
def service(request, tmp_path, run_service):
    more = {}
    if request.param == "postgresql":
        more = {"database_url": request.getfixturevalue("postgres_server").database()}
    with run_service(tmp_path, **more) as found:
        yield found


@pytest.fixture
def review(sources, trained):
    """The job of a model in a service, as the beginning of its paths."""

    def publish(service, kind="vectors"):
        job = service.job(service.upload(sources(kind), name=kind)["id"])["id"]
        service.publish(service.claim(), *trained(kind))
        return f"/jobs/{job}"

    return publish


@pytest.fixture
def job(published):
    """A job of the shared service that nobody has decided on yet."""
    return f"/jobs/{published('vectors', fresh=True)[1]}"


def decide(service, job, *made, **headers):
    body = {"decisions": [dict(zip(("id", "decision", "label"), one, strict=False)) for one in made]}
    return service.http.post(f"{job}/decisions", json=body, headers=headers)


def test_decisions_are_made_changed_taken_back_and_listed(service, review):
    job = review(service)
    rows = service.http.get(f"{job}/issues?limit=1000").json()
    first, second, third = (issue["id"] for issue in rows["data"][:3])
    assert (rows["decided"], rows["data"][0]["decision"]) == (0, None)
    answer = decide(service, job, (first, "accept"), (second, "keep"), (third, "relabel", "2"))
    assert (answer.status_code, answer.json()) == (200, {"recorded": 3, "decided": 3})
    found = {one["id"]: one for one in service.http.get(f"{job}/decisions").json()["data"]}
    for name, word in ((first, "accept"), (second, "keep"), (third, "relabel")):
        one = found[name]
        label = {"accept": one["suggested"], "keep": one["given"], "relabel": "2"}[word]
        assert (one["decision"], one["label"], one["decided_by"]) == (word, label, "bootstrap")
        assert one["decided_at"].startswith("20")
    assert decide(service, job, (first, "keep"), (second, "undecided")).json()["decided"] == 2
    page = service.http.get(f"{job}/issues?limit=3").json()
    told = [issue["decision"] and issue["decision"]["decision"] for issue in page["data"]]
    assert told == ["keep", None, "relabel"]
    assert (page["decided"], page["total"]) == (2, rows["total"])
    assert rows["total"] == len(rows["data"])
    left = service.http.get(f"{job}/issues?limit=1000&decided=false").json()
    assert [issue["id"] for issue in left["data"]] == [
        issue["id"] for issue in rows["data"] if issue["id"] not in (first, third)
    ]
    done = service.http.get(f"{job}/issues?decided=true").json()["data"]
    assert [issue["id"] for issue in done] == [first, third]


def test_decisions_that_race_are_all_kept_and_the_last_on_a_row_counts(service, review):
    job = review(service)
    start = threading.Barrier(4)

    def send(number):
        start.wait(60)
        made = [(str(row), "relabel", str(number % 3)) for row in range(number, number + 20)]
        answers.append(decide(service, job, *(made if number % 2 else reversed(made))).status_code)

    answers = []
    threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert answers == [200] * 4
    assert len(service.http.get(f"{job}/decisions?limit=1000").json()["data"]) == 23
    assert decide(service, job, ("5", "keep"), ("5", "relabel", "1")).json()["recorded"] == 1
    assert service.http.get(f"{job}/decisions?after=4&limit=1").json()["data"][0]["label"] == "1"


def test_decisions_page_in_the_order_of_the_dataset(shared, job):
    assert decide(shared, job, *((str(row), "keep") for row in range(0, 90, 7))).status_code == 200
    seen, after = [], None
    while True:
        query = {"limit": 4} | ({"after": after} if after else {})
        page = shared.http.get(f"{job}/decisions", params=query).json()
        seen += [one["row"] for one in page["data"]]
        if not page["has_more"]:
            break
        after = page["next_cursor"]
    assert seen == list(range(0, 90, 7))


def test_a_decision_that_makes_no_sense_is_told_by_its_place_and_keeps_nothing(shared, job):
    wrong = [
        ({"id": "none", "decision": "keep"}, "/decisions/1/id", "not_found"),
        ({"id": "1", "decision": "relabel", "label": "nothing"}, "/decisions/1/label", "not_found"),
        ({"id": "1", "decision": "relabel"}, "/decisions/1/label", "missing"),
        ({"id": "1", "decision": "keep", "label": "1"}, "/decisions/1/label", "extra_forbidden"),
        ({"id": "1", "decision": "guess"}, "/decisions/1/decision", "literal_error"),
        ({"id": 1, "decision": "keep"}, "/decisions/1/id", "string_type"),
        ({"id": "1", "decision": "keep", "why": ""}, "/decisions/1/why", "extra_forbidden"),
    ]
    for one, pointer, code in wrong:
        body = {"decisions": [{"id": "0", "decision": "keep"}, one]}
        answer = shared.http.post(f"{job}/decisions", json=body)
        assert answer.status_code == 422, one
        fault = answer.json()["errors"][0]
        assert (fault["pointer"], fault["code"]) == (pointer, code)
        assert one.get("label") != "nothing" or fault["detail"].endswith("there are 0, 1, 2")
    for count in (0, 1001):
        many = {"decisions": [{"id": "0", "decision": "keep"}] * count}
        assert shared.http.post(f"{job}/decisions", json=many).status_code == 422
    assert shared.http.get(f"{job}/decisions").json()["data"] == []


def test_a_model_is_not_deleted_under_decisions_that_nothing_was_made_of(service, review):
    job = review(service)
    model = "/models/" + service.http.get(job).json()["model_id"]
    decide(service, job, ("0", "keep"), ("1", "keep"))
    refused = service.http.delete(model)
    assert (refused.status_code, refused.json()["code"]) == (409, "model_reviewed")
    assert "2 labels" in refused.json()["detail"]
    assert service.http.get(f"{job}/corrected").status_code == 200
    assert service.http.post(f"{job}/corrected-dataset", json={}).status_code == 201
    decide(service, job, ("2", "keep"))
    assert service.http.delete(model).status_code == 409, "one decision came later"
    decide(service, job, ("2", "undecided"))
    assert service.http.delete(model).status_code == 204
    assert service.http.get(f"{job}/decisions").json()["code"] == "not_estimated"


def test_a_dataset_is_not_deleted_under_decisions_that_nothing_was_made_of(service, review):
    job = review(service)
    dataset = "/datasets/" + service.http.get(job).json()["dataset_id"]
    decide(service, job, ("0", "keep"), ("1", "keep"))
    refused = service.http.delete(dataset)
    assert (refused.status_code, refused.json()["code"]) == (409, "dataset_reviewed")
    assert "2 labels" in refused.json()["detail"]
    assert service.http.post(f"{job}/corrected-dataset", json={}).status_code == 201
    decide(service, job, ("2", "keep"))
    assert service.http.delete(dataset).status_code == 409, "one decision came later"
    assert service.http.delete(dataset, params={"force": "true"}).status_code == 204


def test_a_model_under_decisions_is_deleted_by_force(service, review):
    job = review(service)
    model = "/models/" + service.http.get(job).json()["model_id"]
    decide(service, job, ("0", "keep"))
    assert service.http.delete(model, params={"force": "true"}).status_code == 204
    assert service.http.get(f"{job}/issues").status_code == 404


def test_a_job_without_judged_labels_has_none_to_decide_on(shared, csv_file):
    made = f"/jobs/{shared.job(shared.upload(csv_file)['id'])['id']}"
    for answer in (decide(shared, made, ("0", "keep")), shared.http.get(f"{made}/decisions")):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_estimated_yet")
    assert shared.http.post(f"{made}/cancel").status_code == 200
    for path, body in ((f"{made}/decisions", {"decisions": [{"id": "0", "decision": "keep"}]}),
                       (f"{made}/corrected-dataset", {})):  # fmt: skip
        answer = shared.http.post(path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_estimated")


def test_a_key_sent_again_is_done_once_and_each_change_is_in_the_audit(shared, job):
    head = {"Idempotency-Key": job}
    assert decide(shared, job, ("3", "keep"), **head).json() == {"recorded": 1, "decided": 1}
    assert decide(shared, job, ("3", "undecided")).json()["decided"] == 0
    assert decide(shared, job, ("3", "keep"), **head).json()["decided"] == 0  # not once more
    assert decide(shared, job, ("4", "keep"), **head).json()["code"] == "idempotency_key_reused"
    noted = [one for one in shared.http.get("/audit").json()["data"] if one["target"] == job[6:]]
    assert [one["detail"] for one in noted if one["action"] == "job.review"] == [
        {"decided": 0, "taken_back": 1},
        {"decided": 1, "taken_back": 0},
    ]


def test_other_projects_neither_see_nor_make_decisions(shared, job):
    assert decide(shared, job, ("3", "keep")).status_code == 200
    project = shared.project()
    with shared.client(shared.key("read", "write", project_id=project)["secret"]) as http:
        assert http.get(f"{job}/decisions").status_code == 404
        body = {"decisions": [{"id": "3", "decision": "undecided"}]}
        assert http.post(f"{job}/decisions", json=body).status_code == 404
        assert http.post(f"{job}/corrected-dataset", json={}).status_code == 404
    assert len(shared.http.get(f"{job}/decisions").json()["data"]) == 1


def test_the_corrected_labels_follow_people_before_thresholds_in_every_form(shared, job):
    path = f"{job}/corrected?correct_at=0.5"
    before = shared.http.get(f"{path}&format=csv")
    plain = list(csv.DictReader(before.text.splitlines()))
    changed = next(row for row in plain if row["decision"] == "corrected")
    assert decide(shared, job, (changed["id"], "keep"), ("0", "relabel", "2")).status_code == 200
    tag = {"If-None-Match": before.headers["ETag"]}
    after = shared.http.get(f"{path}&format=csv", headers=tag)
    assert after.status_code == 200  # not what the client has
    rows = {row["id"]: row for row in csv.DictReader(after.text.splitlines())}
    assert (rows[changed["id"]]["corrected"], rows["0"]["corrected"]) == (changed["given"], "2")
    for name, row in rows.items():
        reviewed = name in (changed["id"], "0")
        assert (row["decision"] == "reviewed") == reviewed
        assert not reviewed or float(row["confidence"]) == 1
        assert reviewed or row == next(one for one in plain if one["id"] == name)
    lines = [json.loads(line) for line in shared.http.get(f"{path}&format=jsonl").text.splitlines()]
    table = parquet.read_table(io.BytesIO(shared.http.get(f"{path}&format=parquet").content)).to_pylist()
    assert [line["corrected"] for line in lines] == [row["corrected"] for row in rows.values()]
    assert lines == table
    only = shared.http.get(f"{path}&format=jsonl&decision=reviewed").text.splitlines()
    assert {json.loads(line)["id"] for line in only} == {changed["id"], "0"}
    assert decide(shared, job, (changed["id"], "undecided"), ("0", "undecided")).status_code == 200
    assert shared.http.get(f"{path}&format=csv", headers=tag).status_code == 304  # as it was
