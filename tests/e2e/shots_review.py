"""`make shots`, its second half: the page to log in on, and label review of each kind of row, in every state."""

import io
import sys
import tempfile
from pathlib import Path

import numpy as np
from chromium import chromium
from service import TOKEN, Service
from test_review import texts

SIZES, SCHEMES = (1280, 390), ("light", "dark")
KINDS = {"image": {}, "text": {"text": "text"}, "table": {}, "many": {}}


def table(count=200):
    """Customers, one in seven with the other label."""
    lines = [
        f'{20 + i % 50},{("Oslo", "Rome", "São Paulo")[i % 3]},{i * 13 % 9000},{"ab"[i % 2]},"remark {i}, with words",'
        f"{('stay', 'leave')[(i % 2) ^ (i % 7 == 0)]}"
        for i in range(count)
    ]
    return "\n".join(["age,city,income,plan,note,label", *lines])


def many(count=3000):
    """A hundred classes with long names."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 100, count)
    x = (rng.normal(size=(count, 20)) + 4 * rng.normal(size=(100, 20))[truth]).astype(np.float32)
    y = np.where(rng.random(count) < 0.3, rng.integers(0, 100, count), truth)
    file = io.BytesIO()
    np.savez(file, x=x, y=np.array([f"a class with quite a long name, number {k}" for k in range(100)])[y])
    return file.getvalue()


def fill(service):
    """A reviewed job of each kind, and a dataset made of one; their addresses by name."""
    http, pages = service.client, {}
    digits = (Path(__file__).parents[2] / "app/ui/static/digits.npz").read_bytes()
    for (kind, query), body in zip(KINDS.items(), (digits, texts(), table(), many()), strict=True):
        dataset = http.post("/datasets", content=body, params={"name": kind, **query}).json()["id"]
        job = service.submit(dataset, epochs=(8, 2), net="auto", name=kind)
        service.wait(job)
        rows = http.get(f"/jobs/{job}/issues").json()["data"]
        made = zip(rows, ("accept", "keep"), strict=False)
        decided = [{"id": row["id"], "decision": word} for row, word in made]
        http.post(f"/jobs/{job}/decisions", json={"decisions": decided})
        pages[f"review-{kind}"] = f"/ui/jobs/{job}/review"
    child = http.post(f"/jobs/{job}/corrected-dataset", json={}).json()["id"]
    return pages | {"dataset-corrected": f"/ui/datasets/{child}"}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, chromium() as browser, Service(home) as service:
        pages = fill(service)
        for width in SIZES:
            for scheme in SCHEMES:
                context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
                shoot(context.new_page(), service, pages, f"{folder}/{{}}-{width}-{scheme}.png".format)
                context.close()


def shoot(page, service, pages, file):
    address = str(service.client.base_url).rstrip("/")
    page.goto(f"{address}/ui/jobs")
    page.screenshot(path=file("login"), full_page=True)
    page.fill("#login-key", "wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("#login-said.fail")
    page.screenshot(path=file("login-wrong"), full_page=True)
    page.goto(f"{address}/?token={TOKEN}")
    for name, path in pages.items():
        page.goto(f"{address}{path}")
        page.wait_for_timeout(500)
        page.screenshot(path=file(name), full_page=True)
        width = page.viewport_size["width"]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            sys.stderr.write(f"{name} is wider than {width} pixels\n")
    page.goto(f"{address}{pages['review-many']}")
    page.keyboard.press("r")
    page.wait_for_selector("#relabel[open]")
    page.screenshot(path=file("review-relabel"))
    page.keyboard.press("Escape")
    page.route("**/decisions", lambda route: route.abort())
    page.keyboard.press("a")
    page.wait_for_selector("#saved.fail")
    page.screenshot(path=file("review-away"))
    page.evaluate("localStorage.clear()")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
