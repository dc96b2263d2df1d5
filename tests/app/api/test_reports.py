"""The noise report over HTTP, and classes merged by the job spec."""

import json
from collections import Counter

from app.api import problems


def test_the_report_tells_what_the_classifier_is_worth_with_intervals(shared, published):
    _, job_id = published("vectors")
    answer = shared.http.get(f"/jobs/{job_id}/report")
    found = answer.json()
    assert found["rows"] == sum(found["decisions"].values()) == 90
    agreement = found["worth"]["agreement"]
    assert agreement["low"] <= agreement["value"] <= agreement["high"]
    assert 0 < found["worth"]["ceiling"] <= 1
    assert (found["worth"]["clean"] is None) == bool(found["worth"]["withheld"])
    assert found["input_dependent"]["found"] == bool(found["input_dependent"]["reasons"])
    again = shared.http.get(f"/jobs/{job_id}/report", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


def test_the_report_counts_what_the_corrected_labels_tell_after_a_review(shared, published):
    job = f"/jobs/{published('vectors', fresh=True)[1]}"

    def told():
        lines = shared.http.get(f"{job}/corrected?format=jsonl").text.splitlines()
        counts = Counter(json.loads(line)["decision"] for line in lines)
        return {"kept": 0, "corrected": 0, "review": 0} | counts

    before = shared.http.get(f"{job}/report")
    assert before.json()["decisions"] == told()
    first, second = shared.http.get(f"{job}/issues?limit=2").json()["data"]
    made = [{"id": first["id"], "decision": "accept"}, {"id": second["id"], "decision": "keep"}]
    assert shared.http.post(f"{job}/decisions", json={"decisions": made}).status_code == 200
    after = shared.http.get(f"{job}/report", headers={"If-None-Match": before.headers["ETag"]})
    assert after.status_code == 200  # not what the client has
    assert after.json()["decisions"] == told()
    assert after.json()["decisions"]["reviewed"] == 2
    gone = [{"id": one["id"], "decision": "undecided"} for one in made]
    assert shared.http.post(f"{job}/decisions", json={"decisions": gone}).status_code == 200
    assert shared.http.get(f"{job}/report").json() == before.json()


def test_a_report_that_is_not_there_yet_is_404(service, csv_file):
    job = service.job(service.upload(csv_file)["id"])
    answer = service.http.get(f"/jobs/{job['id']}/report")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_estimated_yet")


def test_gold_rows_travel_from_the_upload_to_the_dataset(shared):
    lines = [f"{i},{i % 4},{'kl'[i % 2]},{'kl'[i % 2] if i < 10 else ''}" for i in range(60)]
    dataset = shared.upload("\n".join(["a,b,y,truth", *lines]), gold="truth")
    assert dataset["options"]["gold"] == "truth"


def test_merged_classes_count_together_in_the_forecast_and_the_manifest(shared):
    rows = "\n".join(["a,b,y", *(f"{i},{i % 4},{'klm'[i % 3]}" for i in range(90))])
    dataset = shared.upload(rows)["id"]
    body = {"dataset_id": dataset, "merge": [["k", "m"]]}
    assert shared.http.post("/jobs?dry_run=true", json=body).json()["forecast"]["classes"] == 2
    job = shared.job(**body)
    manifest = shared.http.get(f"/jobs/{job['id']}/manifest").json()
    assert manifest["dataset"]["class_rows"] == [60, 30]
    assert manifest["config"]["merge"] == [["k", "m"]]
    refused = shared.http.post("/jobs", json={"dataset_id": dataset, "merge": [["k", "x"]]})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/merge"


def test_rows_to_look_at_are_told_and_their_true_labels_give_the_accuracy(shared, published):
    _, job_id = published("vectors")
    answer = shared.http.get(f"/jobs/{job_id}/gold?rows=6")
    found = answer.json()
    assert found["held"] >= len(found["data"]) == 6
    assert all(row["reason"].endswith("about as sure of.") for row in found["data"])
    longer = shared.http.get(f"/jobs/{job_id}/gold?rows=8").json()["data"]
    assert longer[:6] == found["data"]
    labels = {row["id"]: row["predicted"] for row in longer}
    counted = shared.http.post(f"/jobs/{job_id}/gold", json={"labels": labels})
    assert counted.status_code == 200
    assert counted.json()["value"] == 1
    assert 0 < counted.json()["low"] < counted.json()["high"] <= 1
    assert (counted.json()["rows"], counted.json()["more_gold"]) == (8, None)
    assert (counted.json()["pooled"], counted.json()["marked"], counted.json()["words"]) == (None, None, None)
    least = {row["id"]: row["predicted"] for row in longer[: found["least"]]}
    assert shared.http.post(f"/jobs/{job_id}/gold", json={"labels": least}).status_code == 200
    fewer = dict(list(least.items())[:-1])
    refused = shared.http.post(f"/jobs/{job_id}/gold", json={"labels": fewer}).json()
    assert f"the first {found['least']} rows" in refused["detail"] + refused["errors"][0]["detail"]
    assert counted.json()["asked"]["value"] == 1
    assert counted.json()["gold_words"].startswith(
        "24 further rows would halve the interval, more than there are"
    )
    again = shared.http.get(f"/jobs/{job_id}/gold?rows=6", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


def test_true_labels_of_other_rows_or_classes_or_of_too_few_are_422(shared, published):
    _, job_id = published("vectors")
    first = shared.http.get(f"/jobs/{job_id}/gold?rows=1").json()["data"][0]
    for labels, where in (
        ({"no/body": "1"}, "/labels/no~1body"),
        ({first["id"]: "no class"}, f"/labels/{first['id']}"),
        ({first["id"]: first["given"]}, "/labels"),
        ({}, "/labels"),
    ):
        answer = shared.http.post(f"/jobs/{job_id}/gold", json={"labels": labels})
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == where


def test_every_true_label_that_cannot_be_counted_is_named(shared, published):
    _, job_id = published("vectors")
    first, second = shared.http.get(f"/jobs/{job_id}/gold?rows=2").json()["data"]
    labels = {"nobody": "1", first["id"]: first["given"], second["id"]: "no class"}
    refused = shared.http.post(f"/jobs/{job_id}/gold", json={"labels": labels}).json()
    assert refused["detail"] == "2 of 3 true labels cannot be counted"
    assert [(one["pointer"], one["detail"]) for one in refused["errors"]] == [
        ("/labels/nobody", "no row 'nobody' was held out"),
        (f"/labels/{second['id']}", "a true label is 'no class', which is no class of the dataset"),
    ]
    many = {f"nobody {n}": "1" for n in range(60)}
    refused = shared.http.post(f"/jobs/{job_id}/gold", json={"labels": many}).json()
    assert (refused["detail"][:8], len(refused["errors"])) == ("60 of 60", problems.MOST_FAULTS)


def test_rows_to_look_at_are_not_told_before_the_job_has_ended(service, csv_file):
    job = service.job(service.upload(csv_file)["id"])
    answer = service.http.get(f"/jobs/{job['id']}/gold")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_estimated_yet")
