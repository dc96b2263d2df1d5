"""`make shots`: every page of the dashboard as a picture, at 1280 and 390 pixels, light and dark."""

import io
import sys
import tempfile
from pathlib import Path

import numpy as np
from chromium import chromium
from service import TOKEN, Service, spec

SIZES = (1280, 390)
SCHEMES = ("light", "dark")
TALLEST = 15_000  # pixels; of the reference only the beginning is pictured
GOOD, BAD = "a lovely film about {}, warm and full of wit", "a dull film about {}, cold and far too long"
THINGS = ("trains", "a lighthouse", "two cooks", "the sea", "a lost letter", "winter", "an old piano")


def digits():
    return (Path(__file__).parents[2] / "app/ui/static/digits.npz").read_bytes()


def table(count=300):
    """Numbers, names, a date and gaps; a third of the labels wrong; two lines that cannot be used."""
    rng = np.random.default_rng(0)
    lines = []
    for i in range(count):
        truth = i % 3
        label = ("setosa", "versicolor", "virginica")[truth if rng.random() > 0.3 else rng.integers(3)]
        size = "" if i % 11 == 0 else f"{4 + truth + rng.normal() / 3:.2f}"
        day = f"2024-0{1 + i % 9}-1{i % 10}"
        lines.append(
            f"{size},{rng.normal() + 2 * truth:.3f},{['garden', 'field', 'wood'][truth]},{day},{label}"
        )
    return "\n".join(["petal length,petal width,found in,day,species", *lines, "1,2", "x,y,z,w,v,u"])


def texts(count=240):
    rng = np.random.default_rng(1)
    lines = []
    for i in range(count):
        good = i % 2 == 0
        said = (GOOD if good else BAD).format(THINGS[i % len(THINGS)])
        lines.append(f'"{said}, scene {i}",{"good" if good == (rng.random() > 0.25) else "bad"}')
    return "\n".join(["text,label", *lines])


def hundred():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 100, 6000)
    x = rng.normal(size=(6000, 20)) + 4 * rng.normal(size=(100, 20))[truth]
    y = np.where(rng.random(6000) < 0.3, (truth + rng.integers(1, 3, 6000)) % 100, truth)
    file = io.BytesIO()
    np.savez(file, x=x.astype(np.float32), y=y)
    return file.getvalue()


def fill(service, epochs=8):
    """Something on every page; their addresses by name."""
    http, dataset = service.client, service.dataset

    def job(body):
        return http.post("/jobs", json=body).json()["id"]

    def model(job_id):
        return http.get(f"/jobs/{job_id}").json()["model_id"]

    few = {"stage1": {"epochs": epochs}, "stage2": {"epochs": epochs}}
    few |= {"transition": {"posteriors": "in-sample"}} if epochs < 8 else {}  # five nets less a job
    sets = {
        "digits": dataset(digits(), name="digits"),
        "irises": dataset(table(), name="irises", label="species"),
        "reviews": dataset(texts(), name="reviews"),
        "hundred": dataset(hundred(), name="hundred classes"),
        "blobs": dataset(),
    }
    first = job({"dataset_id": sets["digits"], "name": "digits", **few})
    second = job({"dataset_id": sets["digits"], "name": "digits", "method": "forward", **few})
    auto = job({"dataset_id": sets["blobs"], "name": "auto", "method": "auto", **few})
    wide = job(spec(sets["hundred"], epochs=(6, 2)))
    irises = job({"dataset_id": sets["irises"], "name": "irises", **few})
    reviews = job({"dataset_id": sets["reviews"], "name": "reviews", **few})
    vectors = job(spec(sets["blobs"], epochs=(3, 3), name="blobs"))
    stopped = job(spec(sets["blobs"], name="stopped"))
    http.post(f"/jobs/{stopped}/cancel")
    for one in (first, second, auto, wide, irises, reviews, vectors):
        service.wait(one, {"succeeded"}, seconds=600)
    running = job(spec(sets["blobs"], epochs=(300, 4000), name="long"))
    chosen = {"model_id": model(first)}
    http.put(f"/models/{model(first)}/aliases/champion", json=chosen, headers={"If-None-Match": "*"})
    progress = f"/jobs/{running}"
    service.until(lambda: (http.get(progress).json()["progress"] or {}).get("epoch"), what="it runs")
    queued = job(spec(sets["blobs"], name="next"))
    return {
        "home": "/", "datasets": "/ui/datasets", "dataset": f"/ui/datasets/{sets['digits']}",
        "dataset-table": f"/ui/datasets/{sets['irises']}", "dataset-text": f"/ui/datasets/{sets['reviews']}",
        "dataset-vectors": f"/ui/datasets/{sets['blobs']}", "dataset-100": f"/ui/datasets/{sets['hundred']}",
        "new": f"/ui/new?dataset={sets['digits']}", "jobs": "/ui/jobs", "job": f"/ui/jobs/{first}",
        "job-auto": f"/ui/jobs/{auto}",
        "job-running": f"/ui/jobs/{running}", "job-queued": f"/ui/jobs/{queued}", "job-100": f"/ui/jobs/{wide}",
        "job-cancelled": f"/ui/jobs/{stopped}", "review": f"/ui/jobs/{first}/review",
        "compare": f"/ui/compare?job={first}&job={second}", "compare-none": "/ui/compare",
        "models": "/ui/models", "model": f"/ui/models/{model(second)}", "model-text": f"/ui/models/{model(reviews)}",
        "model-table": f"/ui/models/{model(irises)}", "model-vectors": f"/ui/models/{model(vectors)}",
        "admin": "/ui/admin", "reference": "/reference", "problem": "/ui/jobs/none",
    }  # fmt: skip


EMPTY = {
    "empty": "/", "empty-datasets": "/ui/datasets", "empty-jobs": "/ui/jobs", "empty-models": "/ui/models",
    "empty-new": "/ui/new",
}  # fmt: skip


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, chromium() as browser, Service(home) as service:
        shoot(browser, service, folder, EMPTY)
        shoot(browser, service, folder, fill(service))


def shoot(browser, service, folder, pages):
    for width in SIZES:
        for scheme in SCHEMES:
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page = context.new_page()
            page.set_default_timeout(120_000)
            page.goto(f"{service.client.base_url}/?token={TOKEN}")
            for name, path in pages.items():
                page.goto(f"{service.client.base_url}{path}")
                page.wait_for_timeout(700)
                whole = page.evaluate("document.documentElement.scrollHeight") < TALLEST
                page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=whole)
                if page.evaluate("document.documentElement.scrollWidth") > width:
                    print(f"{name} is wider than {width} pixels")
            context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
