"""The dashboard in a real Chromium, against a real service with a worker: what a person does, by clicks and keys."""

import re

import numpy as np
import pytest
from chromium import READY
from service import rows, spec

pytestmark = pytest.mark.timeout(600)
MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")
def trained(service):
    """A model of vectors that a job of a moment published, and the job."""
    dataset = service.client.post("/datasets", content=rows(), params={"name": MARKUP}).json()["id"]
    job = service.client.post("/jobs", json=spec(dataset, epochs=(2, 2), name=MARKUP)).json()["id"]
    service.until(
        lambda: service.client.get(f"/jobs/{job}").json()["state"] == "succeeded", what="the job ends"
    )
    return job, service.client.get(f"/jobs/{job}").json()["model_id"]


def test_the_first_job_by_clicks_alone_from_the_sample_to_the_playground(page, service):
    assert "From wrong labels" in page.inner_text("h1")
    page.click("text=Try the digits sample")
    page.wait_for_url("**/ui/new?dataset=*")
    page.wait_for_selector("#forecast .advice")
    page.fill("[name='stage1.epochs']", "1")
    page.fill("[name='stage2.epochs']", "1")
    page.fill("[name=name]", "digits")
    assert '"stage1":{"epochs":1}' in page.inner_text("#curl")
    assert 'stage2={"epochs":1}' in page.inner_text("#python")
    page.wait_for_selector("#forecast :text('1 and 1 epochs')")
    page.click("text=Start the job")
    page.wait_for_url("**/ui/jobs/job_*")
    page.wait_for_selector(".state.succeeded", timeout=300_000)  # by the stream alone: nobody reloads
    page.wait_for_selector("text=The job has ended.")
    assert page.locator("svg.curves").count() == 3  # the loss of each stage, and the agreement
    page.focus("svg.heat")
    page.keyboard.press("ArrowRight")
    assert re.fullmatch(
        r"true \u20680\u2069, given \u20681\u2069: .* %( \(95 % interval .*\))?", page.inner_text("#cell")
    )
    page.click("text=Try the model")
    page.wait_for_selector(f"{READY} #draw")  # a link brought the page: the mouse is heard when it is ready
    box = page.locator("#draw").bounding_box()
    page.mouse.move(box["x"] + 110, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 110, box["y"] + 190, steps=4)
    page.mouse.up()
    page.wait_for_selector("#posterior tr")
    assert page.locator("#posterior tr").count() == 10
    assert page.locator("#posterior rect").count() == 20


def test_a_keyboard_reaches_the_content_first_and_then_a_new_job(page, service, trained):
    dataset = service.job(trained[0])["dataset_id"]
    page.goto(f"{service.client.base_url}/ui/new?dataset={dataset}")
    page.wait_for_selector("#forecast .advice")
    page.keyboard.press("Tab")
    assert page.inner_text(":focus") == "Skip to content"
    page.keyboard.press("Enter")
    page.wait_for_selector("main:focus")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText") == "Start the job":
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/jobs/job_*")
    page.wait_for_selector(f"{READY} #cancel")
    page.focus("#cancel")
    page.keyboard.press("Enter")
    page.wait_for_selector(".state.cancelled")


def test_pictures_side_by_side_begin_in_line_however_long_their_titles_are(page, service, trained):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{service.client.base_url}/ui/jobs/{trained[0]}")
    page.wait_for_selector(".thirds svg.curves")
    tops = "all => all.map(one => [one.getBoundingClientRect().top, one.parentElement.getBoundingClientRect().top])"
    page.eval_on_selector_all(
        ".thirds figcaption", "all => all[all.length - 1].append(' and more'.repeat(20))"
    )
    pictures = page.eval_on_selector_all(".thirds svg.curves", tops)
    assert len(pictures) == 3
    assert len({tuple(map(round, one)) for one in pictures}) == 1


def test_names_full_of_markup_stay_text(page, service, trained):
    job, model = trained
    for path in ("/", f"/ui/jobs/{job}", f"/ui/models/{model}", "/ui/new", f"/ui/compare?job={job}"):
        page.goto(f"{service.client.base_url}{path}")
        assert page.locator("img[src=x]").count() == 0
        assert MARKUP in page.inner_text("main") or path == "/ui/new"


def test_a_row_is_typed_and_an_alias_moved(page, service, trained):
    page.goto(f"{service.client.base_url}/ui/models/{trained[1]}")
    page.fill("[name=numbers]", "3, 0, 0, 0, 0, 0")
    page.click("text=Predict")
    page.wait_for_selector("#posterior tr")
    sums = [float(text) for text in page.locator("#posterior td.num").all_inner_texts()]
    assert np.isclose(sum(sums), 2, atol=0.01)  # clean and noisy are distributions
    page.fill("[name=alias]", "champion")
    page.click("#alias button")
    page.wait_for_selector(".tag:text('champion')")
    page.fill("[name=numbers]", "1 2")
    page.click("text=Predict")
    page.wait_for_selector("#said:not([hidden])")


def test_a_broken_stream_is_told_and_mended_and_a_job_stopped(page, service):
    dataset = service.client.post("/datasets", content=rows(), params={"name": "long"}).json()["id"]
    job = service.client.post("/jobs", json=spec(dataset, epochs=(5000, 5000))).json()["id"]
    page.route("**/events", lambda route: route.abort())
    page.goto(f"{service.client.base_url}/ui/jobs/{job}")
    page.wait_for_selector("text=The connection is lost")
    page.unroute("**/events")
    page.wait_for_selector("#stream:text('Live.')")
    page.wait_for_selector(".state.running")
    page.wait_for_selector(".bar progress")
    page.click("text=Stop the job")
    page.wait_for_selector(".state.cancelled")
    page.click("text=Try again")
    page.wait_for_url(lambda url: "/ui/jobs/job_" in url and job not in url)
    page.click("#cancel")
    page.wait_for_selector(".state.cancelled")


def test_a_hundred_classes_fit_a_phone(page, service):
    dataset = service.client.post("/datasets", content=rows(4000, 100), params={"name": "many"}).json()["id"]
    page.set_viewport_size({"width": 390, "height": 844})
    job = service.client.post("/jobs", json=spec(dataset, epochs=(1, 1))).json()["id"]
    service.wait(job)
    for path in (f"/ui/datasets/{dataset}", f"/ui/new?dataset={dataset}", f"/ui/jobs/{job}"):
        page.goto(f"{service.client.base_url}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.focus("svg.heat")
    for _ in range(3):  # small entries are not drawn: every step goes on to one that is
        page.keyboard.press("ArrowDown")
    assert re.fullmatch(r"true \u2068\d+\u2069, given \u2068\d+\u2069: .*", page.inner_text("#cell"))
