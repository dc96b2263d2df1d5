"""What a job found out: transition, metrics, checkpoints, manifest, and the model it published."""

import csv
import importlib.metadata

import numpy as np
import pytest

from app.api import results
from app.core import claims


def test_the_transition_says_all_that_the_card_says(shared, published, trained):
    _, job_id = published("vectors")
    found = shared.http.get(f"/jobs/{job_id}/transition").json()
    card = trained("vectors")[1]["transition"]
    assert found["classes"] == ["0", "1", "2"]
    assert found["orientation"] == "rows_clean_cols_noisy"
    assert found["matrix"] == card["matrix"]
    assert np.array(found["matrix"]).sum(1) == pytest.approx(np.ones(3))
    assert found["priors"]["clean"] == pytest.approx(card["priors"])
    assert found["priors"]["noisy"] == pytest.approx([1 / 3] * 3)
    assert found["similarity"] == pytest.approx(card["similarity"])
    assert found["noise_rate"] == pytest.approx(card["noise_rate"])
    assert found["reduces_noise"] == card["reduces_noise"]
    assert found["estimator"] == "anchors"
    assert found["choice"] == "The job asked for this estimator."
    assert "warnings" in found["learnability"]
    assert "anchors" not in [other["estimator"] for other in found["alternatives"]]
    for other in found["alternatives"]:
        assert other["matrix"] == card["alternatives"][other["estimator"]]["matrix"]
        off = np.abs(np.array(other["matrix"]) - found["matrix"]).sum(axis=1).mean()
        assert other["distance"] == pytest.approx(off)
    for place, entry in enumerate(found["per_class"]):
        assert entry["class"] == found["classes"][place]
        assert entry["noise_rate"] == pytest.approx(1 - card["matrix"][place][place])
        chances = [other["probability"] for other in entry["confused_with"]]
        assert chances == sorted(chances, reverse=True)


def test_a_matrix_of_classes_with_next_to_no_rows_says_that_it_is_a_guess(shared, trained):
    dataset = shared.upload("\n".join(["a,b,y", *(f"{i},{i % 4},{i % 3}" for i in range(30))]))
    job, held = shared.job(dataset["id"]), shared.claim()
    while held.job_id != job["id"]:
        shared.end(held)
        held = shared.claim()
    shared.publish(held, *trained("vectors"))
    warnings = shared.http.get(f"/jobs/{job['id']}/transition").json()["learnability"]["warnings"]
    assert any("3 of 3 classes have fewer than 20 rows" in warning for warning in warnings)


def test_the_other_orientation_is_the_transpose(shared, published):
    _, job_id = published("vectors")
    rows = shared.http.get(f"/jobs/{job_id}/transition").json()
    columns = shared.http.get(f"/jobs/{job_id}/transition?orientation=cols_clean").json()
    assert columns["orientation"] == "rows_noisy_cols_clean"
    assert columns["matrix"] == np.array(rows["matrix"]).T.tolist()
    assert columns["per_class"] == rows["per_class"]
    assert shared.http.get(f"/jobs/{job_id}/transition?orientation=up").status_code == 422


def test_the_matrix_is_csv_for_those_who_ask(shared, published):
    _, job_id = published("vectors")
    path = f"/jobs/{job_id}/transition"
    matrix = shared.http.get(path).json()["matrix"]
    for answer in (
        shared.http.get(path, headers={"Accept": "text/csv"}),
        shared.http.get(f"{path}?format=csv"),
        shared.http.get(f"{path}?format=csv", headers={"Accept": "application/json"}),
    ):
        assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
        head, *lines = csv.reader(answer.text.splitlines())
        assert head == ["true \\ given", "0", "1", "2"]
        assert [[float(value) for value in line[1:]] for line in lines] == matrix
    turned = shared.http.get(f"{path}?format=csv&orientation=cols_clean").text
    assert turned.startswith("given \\ true")
    refused = shared.http.get(path, headers={"Accept": "image/gif"})
    assert (refused.status_code, refused.json()["code"]) == (406, "not_acceptable")
    browser = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    assert shared.http.get(path, headers=browser).json()["matrix"] == matrix


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/json;q=0, image/png", "image/png"),
        ("application/json;q=0.1, image/svg+xml;q=0.5", "image/svg+xml"),
        ("image/*", "image/png"),
        ("IMAGE/PNG ; Q=0.9", "image/png"),
        ("*/*, application/json;q=0", "image/png"),
        ("application/json;q=0, */*;q=0", None),
        ("image/gif", None),
        ("*/*", "application/json"),
        ("", "application/json"),
    ],
)
def test_metrics_have_the_form_that_accept_likes_best(shared, published, accept, kind):
    _, job_id = published("vectors")
    answer = shared.http.get(f"/jobs/{job_id}/metrics", headers={"Accept": accept})
    if kind is None:
        assert (answer.status_code, answer.json()["code"]) == (406, "not_acceptable")
        return
    assert (answer.headers["Content-Type"], answer.headers["Vary"]) == (kind, "Accept")
    refused = shared.http.get(
        f"/jobs/{job_id}/transition", headers={"Accept": "application/json;q=0, text/csv"}
    )
    assert refused.headers["Content-Type"].startswith("text/csv")


def test_the_forms_of_an_answer_have_tags_of_their_own(shared, published):
    model_id, job_id = published("vectors")
    paths = [
        f"/jobs/{job_id}/transition",
        f"/jobs/{job_id}/transition?format=csv",
        f"/jobs/{job_id}/manifest",
    ]
    tags = [shared.http.get(path).headers["ETag"] for path in [*paths, f"/models/{model_id}"]]
    assert len(set(tags)) == 4
    for path, tag in zip([*paths, f"/models/{model_id}"], tags, strict=True):
        assert shared.http.get(path, headers={"If-None-Match": tag}).status_code == 304
    assert shared.http.get(paths[0], headers={"If-None-Match": tags[1]}).status_code == 200


def test_a_matrix_that_is_not_there_yet_is_404_with_a_time_to_come_back(service, csv_file):
    dataset = service.upload(csv_file)["id"]
    job = service.job(dataset)
    path = f"/jobs/{job['id']}/transition"
    waiting = service.http.get(path)
    held = service.claim()
    for answer in (waiting, service.http.get(path)):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_estimated_yet")
        assert int(answer.headers["Retry-After"]) > 0
    service.end(held, "diverged")
    answer = service.http.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_estimated")
    assert "failed" in answer.json()["detail"]
    assert "Retry-After" not in answer.headers


def test_metrics_and_checkpoints_come_from_the_events(service, csv_file):
    job = service.job(service.upload(csv_file)["id"])
    held = service.claim()
    for epoch in range(3):
        about = {"phase": "stage1", "step": "stage1", "epoch": epoch}
        service.beat(
            held,
            ("epoch", about | {"epochs": 3, "metrics": {"loss": 1.0 / (epoch + 1)}}),
            ("checkpoint", about | {"bytes": 100 + epoch}),
        )
    metrics = service.http.get(f"/jobs/{job['id']}/metrics").json()["data"]
    assert [(entry["phase"], entry["epoch"]) for entry in metrics] == [("stage1", i) for i in range(3)]
    assert [entry["metrics"]["loss"] for entry in metrics] == [1.0, 1 / 2, 1 / 3]
    checkpoints = service.http.get(f"/jobs/{job['id']}/checkpoints").json()["data"]
    assert [entry["bytes"] for entry in checkpoints] == [100, 101, 102]
    assert checkpoints[2]["metrics"] == {"loss": 1 / 3}


def test_an_epoch_that_a_later_attempt_tells_again_is_told_once_by_the_latest(service, csv_file):
    job = service.job(service.upload(csv_file)["id"])
    held = service.claim()
    for turn, epoch in enumerate((0, 1, 2, 1, 2, 3)):  # went on from the checkpoint after epoch 0
        about = {"phase": "stage1", "step": "stage1", "epoch": epoch}
        service.beat(
            held,
            ("epoch", about | {"epochs": 4, "metrics": {"loss": float(turn)}}),
            ("checkpoint", about | {"bytes": turn}),
        )
    metrics = service.http.get(f"/jobs/{job['id']}/metrics").json()["data"]
    assert [entry["epoch"] for entry in metrics] == [0, 1, 2, 3]
    assert [entry["metrics"]["loss"] for entry in metrics] == [0.0, 3.0, 4.0, 5.0]
    checkpoints = service.http.get(f"/jobs/{job['id']}/checkpoints").json()["data"]
    assert [(entry["epoch"], entry["bytes"]) for entry in checkpoints] == [(0, 0), (1, 3), (2, 4), (3, 5)]


def test_the_manifest_names_all_that_a_rerun_needs(service, csv_file):
    dataset = service.upload(csv_file, name="mine")
    job = service.job(dataset["id"], seed=7)
    manifest = service.http.get(f"/jobs/{job['id']}/manifest").json()
    assert manifest["config"] == job["config"]
    assert manifest["seed"] == 7
    assert manifest["dataset"] == {
        "id": dataset["id"],
        "name": "mine",
        "rows": 120,
        "sha256": dataset["sha256"],
        "class_rows": [60, 60],
    }
    assert manifest["threads"] == service.settings.threads
    assert manifest["versions"]["torch"] == importlib.metadata.version("torch")


def test_models_are_listed_found_and_belong_to_their_job(service, csv_file, trained):
    made = []
    for name in ("one", "two", "one"):
        job = service.job(service.upload(csv_file)["id"], name=name)
        made.append((service.publish(service.claim(), *trained("vectors")), job["id"]))
    page = service.http.get("/models?limit=2").json()
    assert [model["id"] for model in page["data"]] == [made[2][0], made[1][0]]
    rest = service.http.get("/models", params={"after": page["next_cursor"]}).json()
    assert [model["id"] for model in rest["data"]] == [made[0][0]]
    named = service.http.get("/models?name=one").json()["data"]
    assert [model["id"] for model in named] == [made[2][0], made[0][0]]
    model = service.http.get(f"/models/{made[1][0]}").json()
    assert (model["name"], model["job_id"]) == ("two", made[1][1])
    assert model["sha256"] == trained("vectors")[1]["sha256"]
    assert model["card"]["classes"] == ["0", "1", "2"]
    job = service.http.get(f"/jobs/{made[1][1]}").json()
    assert (job["state"], job["model_id"]) == ("succeeded", made[1][0])
    assert service.http.get("/models/mdl_" + "0" * 26).status_code == 404


def test_the_matrix_exists_as_soon_as_it_is_estimated_and_is_final_at_the_end(service, sources, trained):
    job = service.job(service.upload(sources("vectors"))["id"])
    held, (folder, card) = service.claim(), trained("vectors")
    path = f"/jobs/{job['id']}/transition"
    early = {"labels": card["labels"], "transition": card["transition"]}
    with service.database.begin() as tx:
        claims.beat(tx, held, lease=60, estimate=early)
    answer = service.http.get(path)
    assert answer.status_code == 200
    assert "ETag" not in answer.headers
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.json()["final"] is False
    assert answer.json()["matrix"] == card["transition"]["matrix"]
    assert "ETag" not in service.http.get(path + "?format=csv").headers
    service.publish(held, folder, card)
    final = service.http.get(path)
    assert final.json() == answer.json() | {"final": True, "notes": card["notes"]}
    assert service.http.get(path, headers={"If-None-Match": final.headers["ETag"]}).status_code == 304


def test_a_failed_job_keeps_what_it_found_and_one_with_smaller_batches_finds_anew(service, sources, trained):
    card = trained("vectors")[1]
    early = {"labels": card["labels"], "transition": card["transition"]}
    job = service.job(service.upload(sources("vectors"))["id"])
    held = service.claim()
    with service.database.begin() as tx:
        claims.beat(tx, held, lease=60, estimate=early)
        claims.starve(tx, held, {"code": "out_of_memory"})
    path = f"/jobs/{job['id']}/transition"
    assert service.http.get(path).json()["code"] == "not_estimated_yet"
    held = service.claim()
    with service.database.begin() as tx:
        claims.beat(tx, held, lease=60, estimate=early)
    service.end(held, "diverged")
    answer = service.http.get(path)
    assert answer.json()["final"] is True
    assert "ETag" in answer.headers


def test_the_rounds_of_a_training_are_one_line():
    def told(step, epoch, epochs, loss):
        facts = {"phase": "stage1", "step": step, "epoch": epoch, "epochs": epochs, "metrics": {"loss": loss}}
        return results.Epoch.model_validate(facts | {"at": 0.0})

    entries = [
        *(told("stage1", 1, 2, 0.9), told("stage1", 2, 2, 0.8), told("fold-1-round-2", 1, 2, 0.1)),
        *(told("stage1-round-2", 1, 2, 0.7), told("stage1-round-2", 2, 2, 0.6)),
        *(told("stage1-round-3", 1, 4, 0.5), told("stage2", 1, 3, 0.4)),
    ]
    assert results.lines(entries, "loss") == {
        "stage1": [(1, 0.9), (2, 0.8), (3, 0.7), (4, 0.6), (5, 0.5)],
        "stage2": [(1, 0.4)],
    }
