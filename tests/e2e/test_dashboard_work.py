"""What a person does all day in the dashboard, in a real Chromium: files, choices, comparisons, playground, keys."""

import base64
import io
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import PIL.Image
import playwright.sync_api
import pytest
import shots
from service import TOKEN, spec

pytestmark = pytest.mark.timeout(600)
MARKUP = "<img src=x onerror=alert(1)>"
DROP = """([place, name, type, text]) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([bytes], name, { type }));
  const dropped = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
  document.querySelector(place).dispatchEvent(dropped);
}"""


def drop(page, place, name, kind, content):
    page.evaluate(DROP, [place, name, kind, base64.b64encode(content).decode("ascii")])


@pytest.fixture(scope="module")
def ended(service):
    """Two jobs on one dataset, with their models: two versions of a name."""
    dataset = service.dataset(name="blobs")
    jobs = [service.submit(dataset, epochs=(2, 2), name="pair", method=one) for one in ("forward", "ce")]
    return dataset, [service.wait(job) and service.job(job) for job in jobs]


def start(service, kind, content, **how):
    """The model that a short training of a file makes."""
    dataset = service.dataset(content, name=kind, **how)
    few = {"epochs": 1, "batch_size": 32}
    body = {"dataset_id": dataset, "stage1": few, "stage2": few, "transition": {"posteriors": "in-sample"}}
    made = service.client.post("/jobs", json=body | {"name": kind})
    service.wait(made.json()["id"])
    return service.job(made.json()["id"])["model_id"]


def test_a_file_is_dropped_refused_for_its_label_and_sent_again(page, service):
    drop(page, "#drop", "irises.csv", "text/csv", shots.table().encode())
    page.wait_for_selector("#drop-said.fail:text('say which column holds the labels')")
    page.fill("#drop-label", "species")
    page.click("text=Send it again")
    page.wait_for_url("**/ui/new?dataset=*")
    page.goto(page.url.replace("new?dataset=", "datasets/"))
    assert "line 302" in page.inner_text("section[aria-labelledby=h-refused]")
    table = page.inner_text("section[aria-labelledby=h-rows]")
    assert "petal width" in table
    assert "missing" in table
    assert "2024-02-11" in table


def test_the_forecast_and_both_calls_follow_every_choice(page, service, ended):
    dataset, _ = ended
    page.goto(f"{service.client.base_url}/ui/new?dataset={dataset}")
    page.wait_for_selector("#forecast li:has-text('Method f-class2simi')")
    assert page.get_attribute("[name='stage1.epochs']", "placeholder").isdigit()
    page.select_option("[name=method]", "volmin")
    page.wait_for_selector("#forecast li:has-text('Method volmin')")
    assert "least volume" in page.inner_text("#about")
    page.fill("[name='stage1.epochs']", "0")
    page.wait_for_selector("#forecast .fail")
    page.fill("[name='stage1.epochs']", "1")
    page.fill("[name='stage2.epochs']", "2")
    page.fill("[name=seed]", "5")
    page.fill("[name=name]", 'it\'s "mine"')
    page.wait_for_selector("#forecast li:has-text('1 and 2 epochs')")
    wanted = ("volmin", 1, 2, 5, 'it\'s "mine"')
    assert [asked(service, page.inner_text(f"#{one}"), one) for one in ("python", "curl")] == [wanted] * 2


def asked(service, code, kind):
    """What the job is that a snippet of the page makes, run as it stands."""
    before = {one["id"] for one in service.client.get("/jobs").json()["data"]}
    if kind == "python":
        command = [sys.executable, "-c", code.replace("job.wait(progress=True)", "")]
    elif shutil.which("curl"):
        command = ["/bin/sh", "-c", code.replace("--json", "-H 'Content-Type: application/json' -d")]
    else:
        pytest.skip("there is no curl")
    done = subprocess.run(
        command, env=os.environ | {"TOKEN": TOKEN}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (made,) = [one for one in service.client.get("/jobs").json()["data"] if one["id"] not in before]
    service.client.post(f"/jobs/{made['id']}/cancel")
    config = made["config"]
    epochs = [config[stage]["epochs"] for stage in ("stage1", "stage2")]
    return config["method"]["name"], *epochs, config["seed"], made["name"]


def test_the_advised_method_is_chosen_by_a_click(page, service, ended):
    page.goto(f"{service.client.base_url}/ui/new?dataset={ended[0]}")
    page.click("#forecast .advice button")
    method = page.eval_on_selector("[name=method]", "field => field.value")
    page.wait_for_selector(f"#forecast li:has-text('Method {method}')")
    assert f'"method":"{method}"' in page.inner_text("#curl")
    assert page.locator("#forecast .advice button").count() == 0


def test_two_jobs_are_compared_by_clicks(page, service, ended):
    page.goto(f"{service.client.base_url}/ui/datasets/{ended[0]}")
    page.click("#compare")
    page.wait_for_selector("#said:text('Choose two jobs or more.')")
    for job in ended[1]:
        page.check(f"input[data-pick='{job['id']}']")
    page.click("#compare")
    page.wait_for_selector("h1:text('Compare jobs')")
    told = page.inner_text("main")
    assert all(part in told for part in ("forward", "ce", "Accuracy on clean labels, estimated"))
    assert page.locator("svg.heat").count() == 2
    assert page.locator("svg.curves").count() == 2


def test_an_alias_is_moved_and_rolled_back_by_clicks(page, service, ended):
    first, second = (job["model_id"] for job in ended[1])
    page.goto(f"{service.client.base_url}/ui/models/{first}")
    page.fill("[name=alias]", "champion")
    page.click("#alias button")
    page.wait_for_selector("button:disabled:text('Roll back')")
    page.goto(f"{service.client.base_url}/ui/models/{second}")
    page.click("text=Point at version 2")
    page.click("text=Roll back to version 1")
    page.wait_for_selector("text=Point at version 2")
    assert service.client.get("/models/pair/aliases/champion").json()["version"] == 1


def test_a_button_takes_no_click_that_would_be_lost(page, service, ended):
    held = []
    page.route("**/static/main.js", lambda route: held.append(route))
    page.goto(f"{service.client.base_url}/ui/datasets/{ended[0]}", wait_until="commit")
    page.wait_for_selector("#compare")
    with pytest.raises(playwright.sync_api.TimeoutError):
        page.click("#compare", timeout=500)  # nothing listens yet
    held[0].continue_()
    page.click("#compare")
    page.wait_for_selector("#said:text('Choose two jobs or more.')")


def test_a_text_and_a_row_of_a_table_are_typed_into_the_playground(page, service):
    page.goto(f"{service.client.base_url}/ui/models/{start(service, 'text', shots.texts(120), text='text')}")
    page.fill("[name=text]", "a lovely film, warm and full of wit")
    page.click("text=Predict")
    page.wait_for_selector("#posterior tr")
    assert {*page.locator("#posterior th").all_inner_texts()} == {"good", "bad"}
    table = start(service, "table", shots.table(), label="species")
    page.goto(f"{service.client.base_url}/ui/models/{table}")
    assert page.locator("datalist option").count() == 3
    page.fill("[name='petal width']", "2.5")
    page.fill("[name=day]", "2024-05-11")
    page.click("text=Predict")  # what is left empty is missing, which the training rows had too
    page.wait_for_selector("#posterior tr")
    assert page.locator("#posterior tr").count() == 3


def test_a_picture_is_dropped_on_the_playground(page, service):
    page.goto(f"{service.client.base_url}/ui/models/{start(service, 'image', shots.digits())}")
    file = io.BytesIO()
    PIL.Image.fromarray(np.full((20, 20), 128, dtype=np.uint8)).save(file, "PNG")
    drop(page, "#draw", "grey.png", "image/png", file.getvalue())
    page.wait_for_selector("#posterior tr")
    drop(page, "#draw", "broken.png", "image/png", b"no picture")
    page.wait_for_selector("#said:not([hidden])")


def test_a_page_outlives_the_api_and_sees_the_job_end(page, service):
    job = service.submit(service.dataset(name="outlived"), epochs=(3000, 3000))
    page.goto(f"{service.client.base_url}/ui/jobs/{job}")
    page.wait_for_selector("#stream:text('Live.')")
    page.wait_for_selector(".bar progress")
    service.api.kill()
    service.api.wait()
    page.wait_for_selector("#stream:text('The connection is lost')")
    service.start_api()
    page.wait_for_selector("#stream:text('Live.')")
    service.client.post(f"/jobs/{job}/cancel")
    page.wait_for_selector(".state.cancelled")
    page.wait_for_selector("text=The job has ended.")


def test_what_has_the_focus_keeps_it_while_the_page_follows_its_job(page, service):
    job = service.submit(service.dataset(name="followed"), epochs=(3000, 3000))
    page.goto(f"{service.client.base_url}/ui/jobs/{job}")
    page.wait_for_selector(".bar:has-text(' left') progress")  # with how long it will still take
    page.focus("#cancel")
    before = page.inner_text(".bar")
    page.wait_for_function("(before) => document.querySelector('.bar').innerText !== before", arg=before)
    assert page.evaluate("document.activeElement.id") == "cancel"
    assert "epoch" in page.inner_text("[data-live=log] pre")
    page.keyboard.press("Enter")
    page.wait_for_selector(".state.cancelled")


def test_labels_columns_and_texts_full_of_markup_stay_text(page, service):
    labels = [f"{MARKUP}{letter}" for letter in "ab"]
    lines = [f"{i % 7},{MARKUP} {'xyz'[i % 3]},{labels[i % 2]}" for i in range(90)]
    dataset = service.dataset("\n".join([f"a{MARKUP},b,y", *lines]), name=MARKUP, label="y")
    made = service.client.post("/jobs", json=spec(dataset, epochs=(1, 1), name=MARKUP))
    service.wait(made.json()["id"])
    job = service.job(made.json()["id"])
    for path in (f"datasets/{dataset}", f"jobs/{job['id']}", f"models/{job['model_id']}", "admin", "jobs"):
        page.goto(f"{service.client.base_url}/ui/{path}")
        assert page.locator("img[src=x]").count() == 0
        assert MARKUP in page.inner_text("main") or path == "admin"
    page.goto(f"{service.client.base_url}/ui/models/{job['model_id']}")
    page.fill("#play input >> nth=0", "3")
    page.fill("#play input >> nth=1", f"{MARKUP} x")
    page.click("text=Predict")
    page.wait_for_selector("#posterior tr")
    assert {*page.locator("#posterior th").all_inner_texts()} == set(labels)
    assert page.locator("img[src=x]").count() == 0


def test_a_key_is_made_shown_once_and_revoked(page, service):
    page.goto(f"{service.client.base_url}/ui/admin")
    page.fill("#key [name=name]", "of a test")
    page.click("text=Make the key")
    secret = page.wait_for_selector("#secret code").inner_text()
    with_it = {"Authorization": f"Bearer {secret}"}
    assert service.client.get("/jobs", headers=with_it).status_code == 200
    page.wait_for_selector("[data-live=keys] th:has-text('of a test')")
    page.evaluate("window.confirm = () => true")  # dialogs are faults elsewhere
    page.click("[data-live=keys] tr:has-text('of a test') button")
    page.wait_for_selector("[data-live=keys] tr:has-text('of a test') td:text('revoked')")
    service.until(
        lambda: service.client.get("/jobs", headers=with_it).status_code == 401, what="it is refused"
    )


def test_a_dataset_that_takes_longer_is_followed_until_it_is_read(page, service):
    big = np.random.default_rng(0).normal(size=(300_000, 8)).astype(np.float32)
    file = io.BytesIO()
    np.savez(file, x=big, y=np.arange(len(big)) % 2)
    drop(page, "#drop", "big.npz", "application/octet-stream", file.getvalue())
    page.wait_for_url("**/ui/datasets/*")
    page.wait_for_selector("text=The first rows")
    assert re.search(r"300,000 rows", page.inner_text(".facts"))
