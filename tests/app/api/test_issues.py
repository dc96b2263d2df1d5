"""Suspicious rows page by page, and all labels put right in every form."""

import csv
import io
import json

import pytest
from pyarrow import parquet


@pytest.fixture
def job(published):
    return f"/jobs/{published('vectors')[1]}"


def test_issues_come_most_suspicious_first_and_page_without_gaps(shared, job):
    whole = shared.http.get(f"{job}/issues?limit=1000").json()
    assert not whole["has_more"]
    ranks = [issue["rank"] for issue in whole["data"]]
    assert ranks == sorted(ranks)
    seen, after = [], None
    while True:
        query = {"limit": 7} | ({"after": after} if after else {})
        page = shared.http.get(f"{job}/issues", params=query).json()
        seen += page["data"]
        if not page["has_more"]:
            break
        after = page["next_cursor"]
    assert seen == whole["data"]
    for issue in seen:
        assert issue["given"] != issue["suggested"]
        assert issue["probability"] >= issue["given_probability"]


def test_issues_are_filtered_by_the_pair_of_classes(shared, job):
    whole = shared.http.get(f"{job}/issues?limit=1000").json()["data"]
    some = shared.http.get(f"{job}/issues?limit=1000&given=0&suggested=1").json()["data"]
    assert some == [issue for issue in whole if (issue["given"], issue["suggested"]) == ("0", "1")]
    refused = shared.http.get(f"{job}/issues?given=nothing")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["parameter"] == "given"
    assert shared.http.get(f"{job}/issues?after=x").status_code == 422


def test_the_total_counts_what_all_filters_select_on_whichever_page(shared, published):
    job = f"/jobs/{published('vectors', fresh=True)[1]}"
    whole = shared.http.get(f"{job}/issues?limit=1000").json()["data"]
    made = [{"id": issue["id"], "decision": "keep"} for issue in whole[::3]]
    assert shared.http.post(f"{job}/decisions", json={"decisions": made}).status_code == 200
    pair = {name: whole[0][name] for name in ("given", "suggested")}
    for labels in ({}, {"given": pair["given"]}, {"suggested": pair["suggested"]}, pair):
        numbers = []
        for decided in (None, True, False):
            query = labels | ({} if decided is None else {"decided": str(decided).lower()})
            every = shared.http.get(f"{job}/issues", params=query | {"limit": 1000}).json()
            assert every["total"] == len(every["data"]), query
            pages = shared.http.get(f"{job}/issues", params=query | {"limit": 1}).json()
            assert pages["total"] == every["total"]
            if pages["has_more"]:
                after = {"limit": 1, "after": pages["next_cursor"]}
                assert (
                    shared.http.get(f"{job}/issues", params=query | after).json()["total"] == every["total"]
                )
            numbers.append((every["total"], every["decided"], every["undecided"]))
        (total, done, left), *others = numbers
        assert total == done + left
        assert others == [(done, done, left), (left, done, left)]


def test_corrected_labels_are_the_same_in_every_form(shared, job):
    lines = [json.loads(line) for line in shared.http.get(f"{job}/corrected?format=jsonl").text.splitlines()]
    assert [line["id"] for line in lines] == [str(row) for row in range(90)]
    assert set(lines[0]) == {"id", "given", "corrected", "confidence", "decision", "suggested", "probability"}
    cells = list(
        csv.DictReader(shared.http.get(f"{job}/corrected", headers={"Accept": "text/csv"}).text.splitlines())
    )
    body = shared.http.get(f"{job}/corrected?format=parquet")
    assert body.headers["Content-Type"] == "application/vnd.apache.parquet"
    rows = parquet.read_table(io.BytesIO(body.content)).to_pylist()
    for line, cell, row in zip(lines, cells, rows, strict=True):
        assert line["corrected"] == cell["corrected"] == row["corrected"]
        assert line["decision"] == cell["decision"] == row["decision"]
        assert (line["corrected"] == line["given"]) or line["decision"] == "corrected"


def test_thresholds_move_rows_between_decisions(shared, job):
    def count(query):
        text = shared.http.get(f"{job}/corrected?format=jsonl&{query}").text
        return [json.loads(line)["decision"] for line in text.splitlines()]

    assert set(count("correct_at=1&keep_at=0")) <= {"kept", "corrected"}
    assert count("correct_at=0&keep_at=0").count("corrected") >= count("correct_at=0.9&keep_at=0").count(
        "corrected"
    )
    assert set(count("keep_at=1&correct_at=1&decision=review")) <= {"review"}
    assert shared.http.get(f"{job}/corrected?correct_at=2").status_code == 422


def test_what_never_changes_is_not_sent_twice(shared, job):
    for path in (f"{job}/issues", f"{job}/corrected?format=csv", f"{job}/corrected?format=csv&keep_at=0.1"):
        tag = shared.http.get(path).headers["ETag"]
        assert shared.http.get(path, headers={"If-None-Match": tag}).status_code == 304
    assert (
        shared.http.get(f"{job}/corrected?format=csv&keep_at=0.2", headers={"If-None-Match": tag}).status_code
        == 200
    )
    refused = shared.http.get(f"{job}/corrected", headers={"Accept": "image/png"})
    assert refused.json()["code"] == "not_acceptable"


def test_labels_that_were_not_judged_yet_or_never_are_404(service, csv_file):
    job = service.job(service.upload(csv_file)["id"])
    for part in ("issues", "corrected"):
        answer = service.http.get(f"/jobs/{job['id']}/{part}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_estimated_yet")
    service.end(service.claim(), "diverged")
    for part in ("issues", "corrected"):
        answer = service.http.get(f"/jobs/{job['id']}/{part}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_estimated")
