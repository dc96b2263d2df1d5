"""Labels reviewed in a real Chromium against a real service: keys, a connection that breaks, and the way in."""

import json
import random

import pytest
from chromium import READY
from service import TOKEN, spec

pytestmark = pytest.mark.timeout(600)
MARKUP = "<img src=x onerror=alert(1)>"
WORDS = {
    "good": "fine nice great lovely",
    "bad": "poor awful worse horrid",
    f"odd{MARKUP}": "strange queer weird eerie",
}


def texts(count=240):
    """Texts full of markup, of which a sixth carry a wrong label."""
    rng = random.Random(0)  # noqa: S311 - a test's rows
    lines = []
    for number in range(count):
        right = rng.choice(list(WORDS))
        label = rng.choice(list(WORDS)) if rng.random() < 0.25 else right
        said = " ".join(rng.choices(WORDS[right].split(), k=6))
        lines.append(json.dumps({"text": f"{said} {MARKUP} {number}", "y": label}))
    return "\n".join(lines)


@pytest.fixture(scope="module")
def trained(service):
    """A job of a moment on texts."""
    query = {"name": MARKUP, "text": "text"}
    dataset = service.client.post("/datasets", content=texts(), params=query).json()["id"]
    made = spec(dataset, epochs=(8, 2), net="auto", name=MARKUP)
    found = service.client.post("/jobs", json=made).json()["id"]
    service.until(lambda: service.job(found)["state"] == "succeeded", what="the job ends")
    return found


@pytest.fixture
def job(service, trained):
    """The same with nothing decided."""
    done = service.client.get(f"/jobs/{trained}/decisions?limit=1000").json()["data"]
    back = [{"id": one["id"], "decision": "undecided"} for one in done]
    if back:
        assert (
            service.client.post(f"/jobs/{trained}/decisions", json={"decisions": back}).json()["decided"] == 0
        )
    return trained


def issues(service, job, **query):
    return service.client.get(f"/jobs/{job}/issues", params={"limit": 1000, **query}).json()


def test_labels_are_reviewed_by_keyboard_and_become_a_dataset_and_a_job(page, service, job):
    first = issues(service, job)["data"]
    total = len(first)
    assert total > 4
    page.goto(f"{service.client.base_url}/ui/jobs/{job}/review")
    assert page.inner_text("#count") == f"0 of {total} reviewed"
    assert MARKUP in page.locator(".card .text").first.inner_text()  # the row itself, as text
    assert page.locator("img[src=x]").count() == 0
    page.wait_for_selector(".card:focus")  # the first row
    page.keyboard.press("a")
    page.keyboard.press("k")
    page.keyboard.press("r")
    page.keyboard.type("odd")
    page.keyboard.press("Enter")
    page.keyboard.press("a")
    page.keyboard.press("u")  # of a row that is undecided: the latest decision
    assert "undecided again" in page.inner_text("#told")
    assert page.inner_text("#told bdi") == first[3]["id"]  # what users wrote is set apart from our words
    assert page.evaluate("document.activeElement.dataset.id") == first[3]["id"]
    page.keyboard.press("p")
    assert page.evaluate("document.activeElement.dataset.id") == first[2]["id"]
    assert page.inner_text("#count") == f"3 of {total} reviewed"
    page.wait_for_selector("#saved:text('All saved.')")
    told = [row["decision"] and row["decision"]["decision"] for row in issues(service, job)["data"][:4]]
    assert told == ["accept", "keep", "relabel", None]
    page.select_option("[name=rows]", "undecided")
    page.wait_for_url("**rows=undecided")
    assert page.inner_text("#count") == f"3 of {total} reviewed"
    assert page.locator(".card").count() == min(24, total - 3)
    page.select_option("[name=rows]", "decided")
    page.wait_for_url("**rows=decided")
    assert page.locator(".card .verdict").all_inner_texts() == [
        f"✓ accepted, {first[0]['suggested']}", f"✓ kept, {first[1]['given']}", f"✓ relabelled, odd{MARKUP}",
    ]  # fmt: skip
    assert page.locator(".card .verdict bdi").all_inner_texts() == [
        first[0]["suggested"], first[1]["given"], f"odd{MARKUP}",
    ]  # fmt: skip
    page.click("text=Train again on it")
    page.wait_for_url(lambda url: "/ui/jobs/job_" in url and job not in url)
    again = service.job(page.url.rpartition("/")[2])
    dataset = service.client.get(f"/datasets/{again['dataset_id']}").json()
    before = service.job(job)
    assert (dataset["parent_id"], dataset["job_id"]) == (before["dataset_id"], job)
    assert (again["config"], again["name"]) == (before["config"], MARKUP)
    page.wait_for_selector(".state.succeeded", timeout=120_000)
    labels = {row["id"]: row["given"] for row in issues(service, again["id"])["data"]}
    assert labels.get(first[0]["id"], first[0]["suggested"]) == first[0]["suggested"]
    report = service.client.get(f"/datasets/{dataset['id']}/report").json()
    assert report["corrections"] == {"reviewed": 3, "by_threshold": 0, "gold": False}


def test_a_broken_connection_loses_no_decision_and_is_told(page, service, job):
    page.goto(f"{service.client.base_url}/ui/jobs/{job}/review")
    page.route("**/decisions", lambda route: route.abort())
    page.wait_for_selector(".card:focus")
    page.keyboard.press("a")
    page.keyboard.press("a")
    page.wait_for_selector("#saved.fail:text('2 not saved yet')")
    assert page.locator(".card[data-unsaved]").count() == 2
    page.click("text=Train again on it")
    page.wait_for_selector("#said:text('Not all decisions are saved yet')")
    page.reload()  # still away: they are in this browser
    page.wait_for_selector("#saved.fail:text('2 not saved yet')")
    assert page.inner_text("#count").startswith("2 of ")
    assert issues(service, job)["decided"] == 0
    page.unroute("**/decisions")
    page.wait_for_selector("#saved:text('All saved.')")  # by itself
    assert page.locator(".card[data-unsaved]").count() == 0
    assert issues(service, job)["decided"] == 2
    page.reload()
    assert page.inner_text("#count").startswith("2 of ")
    page.route("**/decisions", lambda route: route.fulfill(status=422, json={"detail": "it was refused"}))
    page.wait_for_selector(".card:focus")
    page.keyboard.press("k")
    page.wait_for_selector("#said:text('it was refused')")
    assert page.inner_text("#count").startswith("2 of ")  # as it is in the service


def test_a_stranger_logs_in_and_gets_the_page_that_was_asked_for(stranger, service, job):
    asked = f"{service.client.base_url}/ui/jobs/{job}/review?rows=undecided"
    stranger.goto(asked)
    assert stranger.inner_text("h1") == "Log in"
    stranger.wait_for_selector(f"{READY} #login-key:focus")
    for wrong, said in (("wrong", "wrong, expired or revoked"), ("ключ", "neither spaces nor letters")):
        stranger.keyboard.type(wrong)  # the field has the focus
        stranger.keyboard.press("Enter")
        stranger.wait_for_selector(f"#login-said:has-text('{said}')")
    stranger.keyboard.type(TOKEN)
    stranger.keyboard.press("Enter")
    stranger.wait_for_selector(".card:focus")  # the page listens to keys
    assert stranger.url == asked
    assert all(cookie["httpOnly"] for cookie in stranger.context.cookies())
    assert TOKEN not in stranger.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])")
    stranger.context.clear_cookies()  # the session ends in the middle of the work
    stranger.keyboard.press("a")
    stranger.wait_for_selector("#login")
    stranger.fill("#login-key", TOKEN)
    stranger.click("button.main")
    stranger.wait_for_selector("#saved:text('All saved.')")
    assert issues(service, job)["decided"] == 1
    stranger.click("text=Log out")
    stranger.wait_for_selector("#login")
    stranger.goto(f"{service.client.base_url}/")
    assert stranger.inner_text("h1") == "Log in"


def test_a_link_on_another_site_finds_the_session(page, service):
    page.route("http://elsewhere.test/", lambda route: route.fulfill(
        content_type="text/html", body=f"<a href='{service.client.base_url}/ui/jobs'>jobs</a>"))  # fmt: skip
    page.goto("http://elsewhere.test/")
    page.click("text=jobs")
    page.wait_for_selector("h1:text-is('Jobs')")
    assert page.url == f"{service.client.base_url}/ui/jobs"


def test_a_hundred_classes_fit_a_phone_and_one_of_them_is_found_by_typing(page, service):
    from service import rows

    dataset = service.client.post("/datasets", content=rows(4000, 100), params={"name": "many"}).json()["id"]
    job = service.client.post("/jobs", json=spec(dataset, epochs=(2, 1))).json()["id"]
    service.until(lambda: service.job(job)["state"] == "succeeded", what="the job ends")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{service.client.base_url}/ui/jobs/{job}/review")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.wait_for_selector(".card:focus")
    page.keyboard.press("r")
    page.keyboard.type("77")
    assert page.locator("#relabel-to option").all_inner_texts() == ["77"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.className") == "card"
    page.keyboard.press("r")
    page.keyboard.type("9")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#saved:text('All saved.')")
    assert issues(service, job)["data"][0]["decision"]["label"] == "19"


def test_who_may_only_look_cannot_decide(page, service, job):
    key = service.client.post("/keys", json={"name": "looks", "scopes": ["read"]}).json()["secret"]
    page.click("text=Log out")
    page.fill("#login-key", key)
    page.click("button.main")
    page.wait_for_selector("h1:not(:text('Log in'))")
    page.goto(f"{service.client.base_url}/ui/jobs/{job}/review")
    page.wait_for_selector("text=may look, not decide")
    page.focus(".card")
    page.keyboard.press("a")
    assert page.locator("button[data-decide], #correct").count() == 0
    assert issues(service, job)["decided"] == 0
