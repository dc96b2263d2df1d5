"""The transition resource beyond the matrix: intervals, advice, and the forms that it can be taken away in."""

import csv
import io

import numpy as np
import PIL.Image
import pytest

from app.api import renderings, transitions
from c2s.matrix import noise


@pytest.fixture
def path(published):
    _, job_id = published("vectors")
    return f"/jobs/{job_id}/transition"


def test_every_entry_has_an_interval_that_holds_it(shared, path):
    found = shared.http.get(path).json()
    ends, matrix = np.array(found["interval"]["matrix"]), np.array(found["matrix"])
    assert ends.shape == (3, 3, 2)
    assert (ends[..., 0] <= matrix + 1e-9).all()
    assert (matrix <= ends[..., 1] + 1e-9).all()
    assert found["interval"]["basis"] == "rows"
    for name, value in found["similarity"].items():
        low, high = found["interval"]["similarity"][name]
        assert low - 1e-9 <= value <= high + 1e-9
    for name, value in found["noise_rate"].items():
        low, high = found["interval"]["noise_rate"][name]
        assert low - 1e-9 <= value <= high + 1e-9


def test_the_interval_turns_with_the_matrix(shared, path):
    rows, columns = (
        shared.http.get(f"{path}?orientation={way}").json() for way in ("rows_clean", "cols_clean")
    )
    turned = np.array(rows["interval"]["matrix"]).transpose(1, 0, 2)
    np.testing.assert_array_equal(columns["interval"]["matrix"], turned)


def test_the_answer_advises_a_method_and_says_why(shared, path):
    found = shared.http.get(path).json()
    assert found["advice"]["method"] in {"ce", "jocor", "apl", "forward"}
    assert found["advice"]["reason"].endswith(".")
    assert found["learnability"]["least_singular_value"] > 0


def test_advice_by_another_matrix_than_the_one_told_names_it():
    counted, refined = noise.symmetric(4, 0.125), noise.symmetric(4, 0.001)
    found = {
        "estimator": "confident-joint",
        "priors": [0.25] * 4,
        "alternatives": {"refined": {"matrix": refined.tolist()}},
    }
    said = transitions._advice(found, counted, np.full(4, 0.25), rows=1000).reason
    assert said.startswith("Only 0.1% of the labels look wrong")
    assert "refined among the alternatives: it finds 0.1%" in said
    assert "noise_rate has 12.5%" in said
    own = transitions._advice(found | {"estimator": "given"}, counted, np.full(4, 0.25), rows=1000).reason
    assert "refined" not in own


def test_the_matrix_is_an_npz_without_pickles(shared, path):
    matrix = shared.http.get(path).json()["matrix"]
    for answer in (
        shared.http.get(f"{path}?format=npz"),
        shared.http.get(path, headers={"Accept": "application/x-npz"}),
    ):
        assert answer.headers["Content-Type"] == "application/x-npz"
        found = np.load(io.BytesIO(answer.content), allow_pickle=False)
        np.testing.assert_array_equal(found["matrix"], matrix)
        assert found["classes"].tolist() == ["0", "1", "2"]
        assert str(found["orientation"]) == "rows_clean_cols_noisy"
        assert found["interval"].shape == (3, 3, 2)
    again = shared.http.get(f"{path}?format=npz", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


def test_a_dry_run_advises_with_a_matrix_and_without(shared, csv_file):
    dataset = shared.upload(csv_file)["id"]
    plain = shared.http.post("/jobs?dry_run=true", json={"dataset_id": dataset}).json()["forecast"]
    assert plain["noise"] is None
    assert plain["advice"]["method"] == "jocor"  # few rows of three classes
    given = {"matrix": [[0.99, 0.01], [0.01, 0.99]]}
    body = {"dataset_id": dataset, "transition": given, "method": "forward"}
    known = shared.http.post("/jobs?dry_run=true", json=body).json()["forecast"]
    assert known["noise"]["noise_rate"]["class"] == pytest.approx(0.01)
    assert known["advice"]["method"] == "ce"


@pytest.mark.parametrize("chart", ["matrix", "similarity", "pairs"])
def test_the_matrix_is_a_picture_for_those_who_ask(shared, path, chart):
    answer = shared.http.get(f"{path}?format=png&chart={chart}")
    assert answer.headers["Content-Type"] == "image/png"
    with PIL.Image.open(io.BytesIO(answer.content)) as image:
        assert min(image.size) > 200
        assert len(image.getcolors(2**20)) > 5
    drawn = shared.http.get(f"{path}?chart={chart}", headers={"Accept": "image/svg+xml"})
    assert drawn.headers["Content-Type"] == "image/svg+xml"
    assert drawn.content.startswith(b"<svg")
    assert drawn.headers["ETag"] != answer.headers["ETag"]


def test_the_curves_of_a_job_are_a_picture(service, csv_file):
    job = service.job(service.upload(csv_file)["id"])
    held = service.claim()
    epochs = [
        {"phase": "stage1", "step": "stage1", "epoch": k, "epochs": 2, "metrics": {"accuracy": k / 2}}
        for k in range(2)
    ]
    service.beat(held, *[("epoch", data) for data in epochs])
    for form, kind in (("png", "image/png"), ("svg", "image/svg+xml")):
        answer = service.http.get(f"/jobs/{job['id']}/metrics?format={form}")
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, kind)
    assert len(service.http.get(f"/jobs/{job['id']}/metrics").json()["data"]) == 2


def test_the_picture_of_curves_leaves_out_the_folds_of_stage_1(service, csv_file):
    job = service.job(service.upload(csv_file)["id"])
    held = service.claim()
    told = [
        {"phase": "stage1", "step": step, "epoch": 1, "epochs": 2, "metrics": {"loss": 0.5}}
        for step in ("fold-1", "fold-2", "stage1", "stage2-forward-elr")
    ]
    service.beat(held, *[("epoch", data) for data in told])
    drawn = service.http.get(f"/jobs/{job['id']}/metrics?format=svg&metric=loss").text
    assert "fold-" not in drawn
    assert "stage1 0.500" in drawn
    assert "stage2-forward-elr 0.500" in drawn
    assert "loss on the training rows" in drawn
    assert len(service.http.get(f"/jobs/{job['id']}/metrics").json()["data"]) == 4


def test_class_names_in_the_csv_are_not_computed():
    names = ("=1+1", "-2", "plain")
    table = renderings.Table(names, "rows_clean_cols_noisy", np.eye(3), None, np.full(3, 1 / 3), "anchors")
    rows = list(csv.reader(io.StringIO(renderings.render(table, "csv").decode())))
    assert rows[0][1:] == [row[0] for row in rows[1:]] == ["'=1+1", "-2", "plain"]
