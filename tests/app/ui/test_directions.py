"""Users' strings that run from right to left stay apart from our words, wherever pages show them."""

import json
import re
from html.parser import HTMLParser

import pytest

RIGHT_TO_LEFT = re.compile("[\u0590-\u06ff]")
LEFT_TO_RIGHT = re.compile("[A-Za-z]")
ISOLATED = re.compile("\u2068[^\u2069]*\u2069")
CLASSES = ("חתול (1)", "كلب!")
VOID = {"input", "meta", "link", "img", "br", "rect", "polyline", "path"}
CODE = {"script", "style", "text", "svg"}  # of drawings the style sheet says it


class Loose(HTMLParser):
    """Finds strings from right to left that could move what stands around them."""

    def __init__(self):
        super().__init__()
        self.open, self.found, self.seen = [], [], 0

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        for name in ("aria-label", "alt", "data-sure"):
            self.look(f"{tag} {name}", given.get(name) or "")
        if tag not in VOID:
            self.open.append((tag, given))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, text):
        self.seen += bool(RIGHT_TO_LEFT.search(text))
        if not any(tag in ("bdi", *CODE) or given.get("dir") == "auto" for tag, given in self.open):
            self.look(self.open[-1][0] if self.open else "", text)

    def look(self, where, text):
        if RIGHT_TO_LEFT.search(ISOLATED.sub("", text)):
            self.found.append((where, text.strip()))


@pytest.fixture(scope="module")
def made(shared, tmp_path_factory):
    """A dataset, a job and a model, all of whose names, texts and classes run from right to left."""
    from app.intake import reading
    from app.intake.options import Options
    from c2s import config, data, pipeline

    home = tmp_path_factory.mktemp("hebrew")
    words = ("טוב מאוד (כן)", "سيئ جدا، لا")
    lines = [
        {
            "מזהה": f"שורה {i}",
            "טקסט": f"{words[i % 2]} {i}",
            "قيمة": i % 5,
            "קבוע": "א",
            "y": CLASSES[(i // 9) % 2],
        }
        for i in range(80)
    ]
    body = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    (home / "source").write_text(body, encoding="utf-8")
    asked = {"kind": "text", "text": "טקסט", "id": "מזהה"}
    reading.read(home / "source", home / "data", Options(**asked))
    quick = {"epochs": 1, "batch_size": 32}
    chosen = config.TrainConfig.parse(
        {"stage1": quick, "stage2": quick, "transition": {"estimator": "anchors", "posteriors": "in-sample"}}
    )
    result = pipeline.run(data.load(home / "data"), chosen, home / "run")
    dataset = shared.upload(body.encode(), name="נתונים: א", **asked)["id"]
    job = shared.job(dataset, name="דגם (ב)")["id"]
    held = shared.claim()
    while held.job_id != job:
        shared.end(held)
        held = shared.claim()
    return dataset, job, shared.publish(held, result.folder, result.card)


def test_no_string_from_right_to_left_moves_our_words(shared, browser, made):
    dataset, job, model = made
    assert shared.http.post("/keys", json={"name": "מפתח", "scopes": ["read"]}).status_code == 201
    decided = {"decisions": [{"id": "שורה 3", "decision": "relabel", "label": CLASSES[0]}]}
    assert shared.http.post(f"/jobs/{job}/decisions", json=decided).status_code == 200
    columns = shared.upload("מידה,שם,y\n" + "".join(f"{i % 5},ש{i},{CLASSES[i % 2]}\n" for i in range(90)))[
        "id"
    ]
    pages = [
        *("/", "/ui/datasets", "/ui/jobs", "/ui/models", "/ui/new", "/ui/admin"),
        *(f"/ui/datasets/{dataset}", f"/ui/datasets/{columns}", f"/ui/new?dataset={dataset}"),
        *(
            f"/ui/jobs/{job}",
            f"/ui/jobs/{job}/review",
            f"/ui/models/{model}",
            f"/ui/compare?job={job}&job={job}",
        ),
    ]
    for address in pages:
        answer = browser.get(address, headers={"Accept": "text/html"})
        assert answer.status_code == 200, address
        page = Loose()
        page.feed(answer.text)
        assert page.found == [], address
        assert page.seen, address
