"""`make shots`: every page of the dashboard as a picture, at 1280 and 390 pixels, light and dark."""

import io
import sys
import tempfile
from pathlib import Path

import numpy as np
from chromium import chromium
from service import TOKEN, Service, rows, spec

SIZES = ((1280, "light"), (390, "dark"))


def sample(service):
    file = (Path(__file__).parents[2] / "app/ui/static/digits.npz").read_bytes()
    return service.client.post("/datasets", content=file, params={"name": "digits"}).json()["id"]


def bad_file():
    lines = [f"{i % 9},{i % 4},{'ab'[i % 2]}" for i in range(60)] + ["1,2", "x,y,z,w"]
    return "\n".join(["a,b,label", *lines])


def hundred():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 100, 6000)
    file = io.BytesIO()
    np.savez(
        file, x=(rng.normal(size=(6000, 20)) + 4 * rng.normal(size=(100, 20))[y]).astype(np.float32), y=y
    )
    return file.getvalue()


def fill(service):
    """Something on every page; their addresses by name."""
    http = service.client
    digits = sample(service)
    table = http.post("/datasets", content=bad_file(), params={"name": "table", "label": "label"}).json()
    many = http.post("/datasets", content=hundred(), params={"name": "hundred classes"}).json()["id"]
    few = {"stage1": {"epochs": 8}, "stage2": {"epochs": 8}}
    first = http.post("/jobs", json={"dataset_id": digits, "name": "digits", **few}).json()["id"]
    second = http.post("/jobs", json={"dataset_id": digits, "method": "forward", **few}).json()["id"]
    wide = http.post("/jobs", json=spec(many, epochs=(6, 2))).json()["id"]
    for job in (first, second, wide):
        service.until(
            lambda job=job: http.get(f"/jobs/{job}").json()["finished_at"], what="a job ends", seconds=300
        )
    long = http.post("/datasets", content=rows(), params={"name": "blobs"}).json()["id"]
    running = http.post("/jobs", json=spec(long, epochs=(300, 4000))).json()["id"]
    model = http.get(f"/jobs/{first}").json()["model_id"]
    http.put(f"/models/{model}/aliases/champion", json={"model_id": model}, headers={"If-None-Match": "*"})
    service.until(
        lambda: (http.get(f"/jobs/{running}").json()["progress"] or {}).get("epoch"), what="it runs"
    )
    return {
        "home": "/", "datasets": "/ui/datasets", "dataset": f"/ui/datasets/{digits}",
        "table": f"/ui/datasets/{table.get('id', digits)}", "dataset-100": f"/ui/datasets/{many}",
        "new": f"/ui/new?dataset={digits}", "jobs": "/ui/jobs", "job": f"/ui/jobs/{first}",
        "job-running": f"/ui/jobs/{running}", "job-100": f"/ui/jobs/{wide}", "review": f"/ui/jobs/{first}/review",
        "compare": f"/ui/compare?job={first}&job={second}", "models": "/ui/models", "model": f"/ui/models/{model}",
        "admin": "/ui/admin", "problem": "/ui/jobs/none",
    }  # fmt: skip


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, chromium() as browser, Service(home) as service:
        shoot(browser, service, folder, {"empty": "/"})
        shoot(browser, service, folder, fill(service))


def shoot(browser, service, folder, pages):
    for width, scheme in SIZES:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        page.goto(f"{service.client.base_url}/?token={TOKEN}")
        for name, path in pages.items():
            page.goto(f"{service.client.base_url}{path}")
            page.wait_for_timeout(700)
            page.screenshot(path=folder / f"{name}-{width}.png", full_page=True)
            if page.evaluate("document.documentElement.scrollWidth") > width:
                print(f"{name} is wider than {width} pixels")
        context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
