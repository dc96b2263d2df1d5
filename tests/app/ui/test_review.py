"""The page of suspicious rows without a browser: what each kind of row shows, filters, and what was decided."""

import html
import json
import re

import pytest

HTML = {"Accept": "text/html"}
MARKUP = "<script>alert(1)</script>"


@pytest.fixture
def browser(shared):
    with shared.client() as http:
        key = {"Authorization": shared.http.headers["Authorization"]}
        assert http.post("/session", headers=key).status_code == 201
        yield http


def cards(text):
    return [
        dict(re.findall(r'data-(\w+)="([^"]*)"', card))
        for card in re.findall(r"<div class=\"card\"[^>]*>", text)
    ]


@pytest.mark.parametrize(
    ("kind", "shows"),
    [("image", '<img src="data:image/png'), ("text", '<p class="text" dir="auto">'), ("tabular", '<dl class="cells">'),
     ("vectors", '<p class="text num-text">')],
)  # fmt: skip
def test_a_row_of_each_kind_shows_what_it_holds(shared, browser, published, kind, shows):
    job = published(kind)[1]
    text = browser.get(f"/ui/jobs/{job}/review", headers=HTML).text
    found = shared.http.get(f"/jobs/{job}/issues?limit=24").json()
    assert [card["id"] for card in cards(text)] == [html.escape(row["id"]) for row in found["data"]]
    assert text.count(shows) == len(found["data"])
    assert f"{found['decided']} of {found['total']} reviewed" in text or not found["total"]


def test_what_was_decided_is_there_when_the_page_comes_again(shared, browser, published):
    job = published("vectors", fresh=True)[1]
    rows = shared.http.get(f"/jobs/{job}/issues?limit=1000").json()["data"]
    body = {
        "decisions": [{"id": rows[0]["id"], "decision": "accept"}, {"id": rows[1]["id"], "decision": "keep"}]
    }
    assert shared.http.post(f"/jobs/{job}/decisions", json=body).status_code == 200
    text = browser.get(f"/ui/jobs/{job}/review", headers=HTML).text
    assert [card["decision"] for card in cards(text)[:3]] == ["accept", "keep", ""]
    assert cards(text)[0]["label"] == rows[0]["suggested"]
    assert f"2 of {len(rows)} reviewed" in text
    left = browser.get(f"/ui/jobs/{job}/review?rows=undecided", headers=HTML).text
    assert f"2 of {len(rows)} reviewed" in left
    assert [card["id"] for card in cards(left)] == [row["id"] for row in rows[2:26]]
    pair = {"given": rows[0]["given"], "suggested": rows[0]["suggested"]}
    some = cards(browser.get(f"/ui/jobs/{job}/review", params=pair, headers=HTML).text)
    assert {(card["given"], card["suggested"]) for card in some} == {tuple(pair.values())}


def test_a_model_s_page_says_which_decisions_its_deletion_would_lose(shared, browser, published):
    model, job = published("vectors", fresh=True)[:2]
    button = f'data-call="DELETE /models/{model}"'
    assert button in browser.get(f"/ui/models/{model}", headers=HTML).text
    body = {"decisions": [{"id": "0", "decision": "keep"}]}
    assert shared.http.post(f"/jobs/{job}/decisions", json=body).status_code == 200
    text = browser.get(f"/ui/models/{model}", headers=HTML).text
    assert f'data-call="DELETE /models/{model}?force=true"' in text
    assert "1 decisions on labels that no dataset was made of" in text
    assert shared.http.post(f"/jobs/{job}/corrected-dataset", json={}).status_code == 201
    assert button in browser.get(f"/ui/models/{model}", headers=HTML).text


def test_a_deleted_dataset_leaves_labels_without_rows_and_no_way_to_a_new_one(shared, browser, published):
    job = published("tabular", fresh=True)[1]
    dataset = shared.http.get(f"/jobs/{job}").json()["dataset_id"]
    assert shared.http.delete(f"/datasets/{dataset}").status_code == 204
    text = browser.get(f"/ui/jobs/{job}/review", headers=HTML).text
    assert "The dataset was deleted" in text or not cards(text)
    assert 'id="correct"' not in text


def test_texts_and_classes_full_of_markup_stay_text(shared, browser, trained, tmp_path):
    from app.intake import reading
    from app.intake.options import Options
    from c2s import config, data, pipeline

    words = ("good fine nice", "bad poor worse")
    lines = [{"text": f"{words[i % 2]} {MARKUP} {i}", "y": f"{MARKUP}{(i // 9) % 2}"} for i in range(80)]
    body = "\n".join(map(json.dumps, lines))
    dataset = shared.upload(body, name="marked", kind="text", text="text")
    (tmp_path / "source").write_text(body)
    reading.read(tmp_path / "source", tmp_path / "data", Options(kind="text", text="text"))
    quick = {"epochs": 1, "batch_size": 32}
    chosen = config.TrainConfig.parse(
        {"stage1": quick, "stage2": quick, "transition": {"estimator": "anchors", "posteriors": "in-sample"}}
    )
    result = pipeline.run(data.load(tmp_path / "data"), chosen, tmp_path / "run")
    job = shared.job(dataset["id"])["id"]
    held = shared.claim()
    assert held.job_id == job
    shared.publish(held, result.folder, result.card)
    text = browser.get(f"/ui/jobs/{job}/review", headers=HTML).text
    assert "<script>alert" not in text
    assert text.count(html.escape(MARKUP)) > 4
