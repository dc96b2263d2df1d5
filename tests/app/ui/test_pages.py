"""What the pages tell: rows of a dataset, the log of a job, jobs side by side, aliases, the queue."""

import html

import pytest

from app.core import workers
from app.ui import reports, words

TABLE = "size,colour,y\n" + "".join(f"{i},{'red' if i % 2 else ''},{'ab'[i % 2]}\n" for i in range(20))


def test_the_first_rows_of_a_table_are_shown_with_their_own_values(shared, browser):
    dataset = shared.upload(TABLE, name="table")["id"]
    text = browser.get(f"/ui/datasets/{dataset}").text
    assert "The first rows" in text
    assert '<th scope="col"><bdi>colour</bdi></th>' in text
    assert "<td><bdi>11</bdi></td><td><bdi>red</bdi></td>" in text
    assert '<td><bdi>10</bdi></td><td><span class="hint">missing</span></td>' in text


def test_columns_that_are_left_out_are_shown_with_why_and_how_to_keep_them(shared, browser):
    rows = "".join(f"{i % 5},it is {i},1,{'ab'[i % 2]}\n" for i in range(80))
    dataset = shared.upload("size,remark,same,y\n" + rows, name="left")["id"]
    told = shared.http.get(f"/datasets/{dataset}/report").json()["columns"]
    assert told["reasons"]["same"] == {
        "code": "constant",
        "detail": "holds the same value in every row",
        "keep": None,
    }
    text = browser.get(f"/ui/datasets/{dataset}").text
    assert "has over 64 values, each in one row alone <small>(to keep it: <bdi>text=remark" in text
    assert "holds the same value in every row" in text


def test_the_first_texts_are_shown_as_snippets_and_never_as_markup(shared, browser):
    said = "<b>bold</b> words about the sea"
    rows = "text,y\n" + "".join(f"{said} number {i},{'ab'[i % 2]}\n" for i in range(12))
    dataset = shared.upload(rows, name="texts", text="text")["id"]
    text = browser.get(f"/ui/datasets/{dataset}").text
    assert "&lt;b&gt;bold&lt;/b&gt; words about the sea number 3" in text
    assert "<b>bold" not in text


def test_pictures_and_vectors_are_shown_as_what_they_are(shared, browser, published):
    for kind, sign in (("image", '<ul class="gallery">'), ("vectors", '<th scope="col" class="num">0</th>')):
        _, job = published(kind)
        dataset = shared.http.get(f"/jobs/{job}").json()["dataset_id"]
        assert sign in browser.get(f"/ui/datasets/{dataset}").text


def test_the_labels_are_counted_in_numbers_beside_the_bars(shared, browser):
    dataset = shared.upload(TABLE, name="table")["id"]
    text = browser.get(f"/ui/datasets/{dataset}").text
    assert text.count('<td class="num">10</td>') == 2
    assert 'class="bar"' in text


def test_a_job_s_log_is_told_in_lines_while_it_runs(shared, browser):
    job = shared.job(shared.upload(TABLE, name="table")["id"])["id"]
    held = shared.claim()
    while held.job_id != job:
        shared.end(held)
        held = shared.claim()
    epoch = {"phase": "stage1", "step": "stage1", "epoch": 3, "epochs": 9, "metrics": {"loss": 0.25}}
    shared.beat(held, ("phase", {"phase": "stage1"}), ("epoch", epoch))
    text = browser.get(f"/ui/jobs/{job}").text
    assert "stage1 epoch 3/9 loss 0.25" in text
    assert "phase stage1" in text
    shared.end(held)


def test_the_matrix_is_a_table_too_with_its_intervals(shared, browser, published):
    _, job = published("vectors")
    found = shared.http.get(f"/jobs/{job}/transition").json()
    text = browser.get(f"/ui/jobs/{job}").text
    assert "true \\ given" in text
    assert words.percent(found["matrix"][0][0]) in text
    if found["interval"]:
        low, high = found["interval"]["matrix"][0][1]
        assert f"{words.percent(low)} to {words.percent(high)}" in text


def test_a_job_s_page_tells_the_whole_noise_report(shared, browser, published):
    _, job = published("vectors")
    found = shared.http.get(f"/jobs/{job}/transition").json()
    text = html.unescape(browser.get(f"/ui/jobs/{job}").text)
    rates, pairs = found["noise_rate"], found["similarity"]
    assert f"<strong>{words.percent(rates['class'])}</strong> of the class labels are wrong" in text
    assert f"<strong>{words.percent(rates['similarity'])}</strong> of the pairwise labels" in text
    assert ("Pairs are cleaner" in text) == found["reduces_noise"]
    assert all(f'<td class="num">{words.percent(value)}</td>' in text for value in pairs.values())
    assert all(text.count(f'<p class="warn">{said}</p>') == 1 for said in found["learnability"]["warnings"])
    assert f"Advice: {found['advice']['method']}." in text
    assert found["advice"]["reason"] in text
    by_class = text[text.index("<caption>By class</caption>") :]
    for one in found["per_class"]:
        start = by_class.index(f'<th scope="row"><bdi>{one["class"]}</bdi></th>')
        assert words.percent(one["noise_rate"]) in by_class[start : start + 200]
    if found["interval"]:
        low, high = found["interval"]["matrix"][0][1]
        assert f"(95 % interval {100 * low:.1f} to {100 * high:.1f} %)</title>" in text


def test_the_overview_shows_datasets_jobs_and_models_at_a_glance(shared, browser, published):
    model, job = published("vectors", fresh=True)
    dataset = shared.http.get(f"/jobs/{job}").json()["dataset_id"]
    text = browser.get("/").text
    for address in (f"/ui/datasets/{dataset}", f"/ui/jobs/{job}", f"/ui/models/{model}"):
        assert f'href="{address}"' in text


def test_jobs_are_compared_by_the_worth_of_their_classifiers(shared, browser, published):
    jobs = [published("vectors")[1], published("tabular")[1]]
    text = browser.get("/ui/compare", params={"job": jobs}).text
    assert "Accuracy on clean labels, estimated" in text
    known = shared.http.get(f"/jobs/{jobs[0]}/report").json()["worth"]
    assert words.percent(known["agreement"]["value"]) in text
    assert "on different datasets" in text
    assert "on different datasets" not in browser.get("/ui/compare", params={"job": jobs[:1]}).text


def test_an_agreement_that_the_matrix_forbids_is_explained(shared, browser, published, monkeypatch):
    _, job = published("vectors")
    known = shared.http.get(f"/jobs/{job}/report").json()
    share = {"value": 0.87, "low": 0.8, "high": 0.92, "rows": 90}
    told = {"agreement": share, "ceiling": 0.72, "clean": None, "withheld": ["T_c is singular."]}
    monkeypatch.setattr(
        reports, "worth", lambda *_: known | {"worth": known["worth"] | told | {"gold": None}}
    )
    text = browser.get(f"/ui/jobs/{job}").text
    assert "It agrees with more labels than the matrix allows" in text
    assert "T_c is singular. Gold rows would tell." in text
    level = told | {"ceiling": 0.9, "gold": share}
    monkeypatch.setattr(reports, "worth", lambda *_: known | {"worth": known["worth"] | level})
    text = browser.get(f"/ui/jobs/{job}").text
    assert "more labels than the matrix allows" not in text
    assert "Gold rows would tell" not in text, "there are some"


def test_a_rollback_is_offered_only_where_there_is_something_to_go_back_to(shared, browser, published):
    first, _ = published("tabular", fresh=True)
    second, _ = published("tabular", fresh=True)
    address = f"/models/{first}/aliases/champion"
    made = shared.http.put(address, json={"model_id": first}, headers={"If-None-Match": "*"})
    assert "It has pointed nowhere else" in browser.get(f"/ui/models/{first}").text
    tag = {"If-Match": made.headers["ETag"]}
    assert shared.http.put(address, json={"model_id": second}, headers=tag).status_code == 200
    assert f"Roll back to version {made.json()['version']}<" in browser.get(f"/ui/models/{second}").text


def test_the_playground_of_a_table_knows_its_columns(browser, published):
    model, _ = published("tabular")
    text = browser.get(f"/ui/models/{model}").text
    assert 'placeholder="about ' in text
    assert "<datalist" in text


def test_an_admin_sees_the_queue_the_workers_and_what_waits(shared, browser):
    dataset = shared.upload(TABLE, name="table")["id"]
    held = shared.claim()
    while held is not None:  # what other tests left
        shared.end(held)
        held = shared.claim()
    running = shared.job(dataset, name="at work")["id"]
    held = shared.claim()
    assert held.job_id == running
    shared.job(dataset, name="next please", priority=7)
    text = browser.get("/ui/admin").text
    assert "Jobs of the whole service" in text
    assert "at work" in text
    assert "next please" in text
    assert '<td class="num">7</td>' in text
    shared.end(held)
    shared.end(shared.claim())


def test_an_admin_sees_workers_that_are_free(shared, browser):
    facts = {"processes": [8], "device": "auto", "slots": 2, "version": "0.1.0"}
    with shared.database.begin() as tx:
        workers.beat(tx, "wrk_" + "1" * 26, "quiet-host:boot:pid-1:7:456", facts)
    text = browser.get("/ui/admin").text
    assert "quiet-host, process 7" in text
    assert " s ago</td>" in text
    assert '<span class="state idle">idle</span>' in text
    assert "leaves no trace" not in text
    with shared.database.begin() as tx:
        workers.leave(tx, "wrk_" + "1" * 26)
    assert "No worker is known" in browser.get("/ui/admin").text


@pytest.mark.parametrize(
    ("owner", "said"),
    [("host:boot:pid-1:123:456", "host, process 123"), (None, words.NONE), ("odd", words.NONE)],
)
def test_a_worker_is_named_by_host_and_process(owner, said):
    assert words.worker(owner) == said


def test_events_are_lines_that_people_can_read():
    assert words.event("state", {"state": "running", "attempt": 2}) == "state running attempt 2"
    assert words.event("note", {"message": "few rows"}) == "note few rows"
    kept = {"phase": "transition", "step": "fold-1", "epoch": 4, "bytes": 2048}
    assert words.event("checkpoint", kept) == "transition fold-1 epoch 4 kept, 2.0 KiB"
    failed = {"state": "failed", "error": {"code": "diverged", "message": "not a number"}}
    assert words.event("end", failed) == "end failed diverged: not a number"


def test_a_prediction_of_many_rows_shows_no_training(shared, browser, published):
    model, _ = published("tabular")
    made = shared.http.post("/predictions", params={"model": model}, content="a,b,c\n1,2,x\n")
    text = browser.get(f"/ui/jobs/{made.json()['id']}").text
    assert "a prediction of many rows" in text
    assert "its dataset was deleted" not in text
    assert "stage1" not in text
