"""The dashboard without a browser: who sees which page, what its head says, and that names stay text."""

import html.parser
import io
import re

import numpy as np
import pytest

from app.commands import demo
from app.ui import assets
from c2s import streams
from c2s.matrix import noise

MARKUP = '<img src=x onerror="alert(1)"></script><b>'
HTML = {"Accept": "text/html"}
LISTS = ("/", "/ui/datasets", "/ui/jobs", "/ui/models", "/ui/new", "/ui/admin", "/ui/compare")


def attributes(text):
    """The names of all attributes of a page, as a browser reads them."""
    found = set()
    parser = html.parser.HTMLParser()
    parser.handle_starttag = lambda _, given: found.update(name for name, _ in given)
    parser.feed(text)
    assert "href" in found
    return found


@pytest.fixture(scope="module")
def marked(shared):
    """A dataset, a queued job and a failed one with names full of markup."""
    rows = "\n".join(f"{i % 7},{i % 5},{'xyz'[i % 3]}{MARKUP.replace(',', '')}" for i in range(90))
    dataset = shared.upload(
        f'"a{MARKUP.replace(chr(34), "")}",b,y\n' + rows.replace('"', ""), name=MARKUP, label="y"
    )
    job = shared.job(dataset["id"], name=MARKUP)["id"]
    held = shared.claim()
    shared.beat(held, ("note", {"message": MARKUP}))
    shared.end(held, "internal")
    return [f"/ui/datasets/{dataset['id']}", f"/ui/jobs/{job}", f"/ui/new?dataset={dataset['id']}"]


@pytest.fixture(scope="module")
def pages(published, marked):
    """Every page there is, with something on it."""
    model, job = published("image")
    others = [published(kind)[0] for kind in ("text", "tabular", "vectors")]
    models = [f"/ui/models/{one}" for one in (model, *others)]
    return [*LISTS, *marked, *models, f"/ui/jobs/{job}", f"/ui/jobs/{job}/review", f"/ui/compare?job={job}"]


def test_every_page_opens_with_a_session_and_with_nothing_else(shared, browser, pages):
    with shared.client() as stranger:
        for page in pages:
            assert browser.get(page).status_code == 200, page
            assert stranger.get(page, headers=HTML).status_code == 401, page
            foreign = {"Sec-Fetch-Site": "cross-site", "Cookie": f"c2s={browser.cookies['c2s']}"}
            assert stranger.get(page, headers=foreign).status_code == 401


def test_no_page_may_run_or_fetch_what_is_not_ours(browser, pages):
    for page in pages:
        answer = browser.get(page)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["Cache-Control"] == "no-store"
        assert not [name for name in attributes(answer.text) if name == "style" or name.startswith("on")]
        assert "<style" not in answer.text
        assert re.findall(r"<script([^>]*)>([^<]*)", answer.text) == [
            (' type="module" src="/ui/static/main.js"', "")
        ]


def test_every_link_leads_somewhere(browser, pages):
    links = {
        link.replace("&amp;", "&")
        for page in pages
        for link in re.findall(r'(?:href|src)="(/[^"]*)"', browser.get(page).text)
    }
    assert len(links) > 20
    for link in links:
        assert browser.get(link).status_code in (200, 303), link


def test_names_are_text_wherever_they_stand(browser, marked):
    for page in [*LISTS, *marked]:
        text = browser.get(page).text
        assert "<img src=x" not in text
        assert "<b>" not in text
    assert all("&lt;img src=x" in browser.get(page).text for page in marked)


def test_an_error_is_a_page_for_people_and_a_problem_for_programs(browser):
    for page in ("/ui/jobs/job_" + "1" * 26, "/ui/jobs/nothing", "/ui/models/none", "/ui/compare?job=x"):
        said = browser.get(page, headers=HTML)
        assert (said.status_code, said.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
        assert "default-src 'none'" in said.headers["Content-Security-Policy"]
        assert browser.get(page).json()["code"] == "not_found"


def test_a_page_offers_only_what_its_key_may_do(shared, marked):
    with shared.client() as http:
        http.get("/", params={"token": shared.key("read")["secret"]})
        assert 'data-call="DELETE /datasets' not in http.get(marked[0]).text
        assert 'id="retry"' not in http.get(marked[1]).text
        assert "/ui/admin" not in http.get("/").text
        assert http.get("/ui/admin").status_code == 403
    with shared.client() as http:
        http.get("/", params={"token": shared.key("predict")["secret"]})
        assert "may not read" in http.get("/").text


def test_a_page_shows_nothing_of_another_project(shared, marked):
    secret = shared.key("read", "write", "admin", project_id=shared.project())["secret"]
    with shared.client() as http:
        http.get("/", params={"token": secret})
        assert "From wrong labels" in http.get("/").text
        for page in marked[:2]:
            assert http.get(page).status_code == 404


def test_the_log_and_a_way_on_are_shown_where_a_job_failed(browser, marked):
    text = browser.get(marked[1]).text
    assert "It failed" in text
    assert "for the test" in text
    assert 'data-call="POST /jobs/' in text


def test_a_job_s_page_tells_what_its_classifier_is_worth_and_never_a_bare_number(shared, browser, published):
    _, job = published("vectors")
    known = shared.http.get(f"/jobs/{job}/report").json()["worth"]
    page = browser.get(f"/ui/jobs/{job}").text
    assert "What the classifier is worth" in page
    assert f"{known['agreement']['rows']} rows)" in page
    assert ("estimated through T_c" in page) == (known["clean"] is not None)
    assert ("No accuracy on clean labels is told" in page) == (known["clean"] is None)


def test_a_hundred_classes_make_a_page_of_bearable_size(shared, browser):
    y = np.arange(2000) % 100
    file = io.BytesIO()
    np.savez(file, x=np.random.default_rng(0).normal(size=(2000, 3)).astype(np.float32), y=y)
    dataset = shared.upload(file.getvalue(), name="hundred")
    job = shared.job(dataset["id"])
    held = shared.claim()
    assert held.job_id == job["id"]
    matrix = (0.6 * np.eye(100) + 0.4 / 100).tolist()
    estimate = {"matrix": matrix, "priors": [0.01] * 100, "estimator": "anchors", "alternatives": {}}
    card = {"transition": estimate, "labels": list(range(100)), "dataset": {"rows": 2000}}
    shared.beat(held, progress={"fraction": 0.5, "phase": "transition"})
    with shared.database.begin() as tx:
        from app.core.tables import Job

        tx.get(Job, job["id"]).result = {"estimate": card}
    text = browser.get(f"/ui/jobs/{job['id']}").text
    assert 'class="heat"' in text
    assert len(text) < 400_000
    assert "All 100 classes" in browser.get(f"/ui/datasets/{dataset['id']}").text
    shared.end(held)


def test_the_dashboard_s_files_are_typed_and_known_again(browser):
    for file, (body, kind) in assets._files().items():
        answer = browser.get(f"/ui/static/{file}")
        assert (answer.content, answer.headers["Content-Type"]) == (body, kind)
        again = browser.get(f"/ui/static/{file}", headers={"If-None-Match": answer.headers["ETag"]})
        assert again.status_code == 304
    for wrong in ("none.js", "..%2Fwords.py", "%2e%2e%2fwords.py"):
        assert browser.get(f"/ui/static/{wrong}").status_code == 404


def test_the_sample_is_what_the_demo_uses(browser):
    with np.load(io.BytesIO(browser.get("/ui/static/digits.npz").content), allow_pickle=False) as sample:
        images, truth = demo.digits()
        rest = slice(demo.TEST_ROWS, None)
        flipped = noise.corrupt(truth[rest], noise.symmetric(10, demo.RATE), rng=streams.numpy(1, "flips"))
        assert np.array_equal(sample["x"], images[rest])
        assert np.array_equal(sample["y"], flipped)
