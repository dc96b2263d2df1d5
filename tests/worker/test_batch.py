"""Predictions for many rows: in chunks that outlive the process, the same bytes whatever happens, in flat memory."""

import contextlib
import hashlib
import os
import signal
import threading
import time

import numpy as np
import psutil
import pytest
import structlog
import workers
from pyarrow import parquet

from app.core import claims, ids, jobs, quotas, storage
from app.core.callers import DEFAULT_PROJECT
from app.core.tables import Job, Model
from app.intake import reading
from app.intake.options import Options
from c2s import data, pipeline
from c2s.runtime import Runtime
from worker import holding, tasks

TABLE = "a,b,c,y\n" + "".join(f"{i % 7},{(i * 3) % 5},{'xyz'[i % 3]},{'ab'[i % 2]}\n" for i in range(200))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A small tabular model, its folder and its dataset's."""
    home = tmp_path_factory.mktemp("model")
    (home / "source").write_text(TABLE)
    reading.read(home / "source", home / "data", Options())
    found = data.load(home / "data")
    return pipeline.run(found, workers.wanted(epochs=1), home / "run").folder, home / "data"


@pytest.fixture
def place(home, model):
    """Makes a prediction of a file or of the model's own dataset."""

    def publish():
        dataset = home.dataset(data.load(model[1]))
        job_id, model_id = home.job(dataset), ids.new("mdl")
        held = home.claim()
        target = home.store.attempt(job_id, held.fence) / "run" / "model"
        target.mkdir(parents=True)
        for file in model[0].iterdir():
            (target / file.name).write_bytes(file.read_bytes())
        row = Model(id=model_id, job_id=job_id, name="m", folder=home.store.key(target), sha256="", card={})
        with home.db.begin() as tx:
            claims.succeed(tx, held, {}, row)
        return model_id, dataset

    known = publish()

    def make(body=None, **more):
        job_id = ids.new("job")
        asked = {"model_id": known[0], "outputs": ["class", "probabilities"], "top_k": None, "format": "auto"}
        asked |= {
            "rows": None,
            "predictions_per_day": None,
            "source": None if body is None else job_id,
        } | more
        manifest = {"threads": 1}
        dataset = None
        if body is None:
            with home.db.read() as tx:
                dataset = tx.get(workers.Dataset, known[1])
        else:
            source = home.store.source(job_id)
            source.parent.mkdir(parents=True)
            source.write_text(body)
            manifest["source"] = {"sha256": hashlib.sha256(body.encode()).hexdigest()}
        with home.db.begin() as tx:
            jobs.create(tx, dataset, task="predict", config=asked, manifest=manifest, job_id=job_id)
        return job_id

    return make


def table(rows):
    return "a,b,c\n" + "".join(f"{i % 7},{i % 11},{'xyz'[i % 3]}\n" for i in range(rows))


def result(home, job):
    return home.store.open_result(job.result["folder"]) / storage.PREDICTIONS


def meddle(home, job_id, what, parts=1):
    """Do something to the predictor as soon as it has finished so many parts."""
    done = []

    def watch():
        deadline = time.monotonic() + workers.PATIENCE
        while time.monotonic() < deadline and not done:
            if len(list(home.store.at(f"jobs/{job_id}").glob("*/run/parts/*.parquet"))) >= parts:
                below = [
                    one for one in workers.descendants(os.getpid()) if "worker.predictor" in one.cmdline()
                ]
                done.extend(what(one) for one in below)
            time.sleep(0.001)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_a_file_is_predicted_and_its_bad_rows_fail_alone(home, place, model):
    job_id = place("a,b,c\n1,2,x\nnone,2,x\n3,4,y\n")
    job = home.do()
    assert (job.id, job.state) == (job_id, "succeeded")
    found = parquet.read_table(result(home, job))
    assert found.column_names == ["row", "line", "class", "probability", "probabilities", "error"]
    rows = found.to_pylist()
    assert [(row["row"], row["line"]) for row in rows] == [(0, 2), (1, 3), (2, 4)]
    assert "'none'" in rows[1]["error"]
    assert rows[1]["class"] is rows[1]["probabilities"] is None
    runtime = Runtime.load(model[0], threads=1)
    inputs = runtime.interface.raw([{"a": 1, "b": 2, "c": "x"}, {"a": 3, "b": 4, "c": "y"}])
    probs = runtime.session.probabilities(inputs)
    np.testing.assert_allclose([rows[0]["probabilities"], rows[2]["probabilities"]], probs, rtol=1e-6)
    assert (job.result["rows"], job.result["errors"]) == (3, 1)
    assert home.store.attempts(job_id) == [1]  # the file is gone, and all that led to the result
    assert [path.name for path in (home.store.attempt(job_id, 1) / "run").iterdir()] == ["result"]
    with home.db.read() as tx:
        assert quotas.used(tx, DEFAULT_PROJECT, "predictions") == 3


def test_a_dataset_is_predicted_and_its_labels_are_judged(home, place):
    place(top_k=1, outputs=["class", "probabilities", "noisy_probabilities"])
    job = home.do()
    assert job.state == "succeeded", job.error
    rows = parquet.read_table(result(home, job)).to_pylist()
    assert [row["id"] for row in rows] == [str(number) for number in range(200)]
    assert all(len(row["top"]) == 1 and row["top"][0]["class"] == row["class"] for row in rows)
    assert [row["audit"]["label"] for row in rows] == ["ab"[i % 2] for i in range(200)]
    assert all(0 <= row["audit"]["wrong"] <= 1 and row["error"] is None for row in rows)
    assert not any(event.get("phase") == "reading" for event in home.events(job.id, "phase"))


def test_a_killed_predictor_goes_on_after_its_last_chunk_to_the_same_bytes(home, place):
    body = table(200_000)
    place(body)
    undisturbed = home.do()
    job_id = place(body)
    thread = meddle(home, job_id, lambda child: child.send_signal(signal.SIGKILL), parts=3)
    job = home.do()
    thread.join()
    assert (job.state, job.attempts) == ("queued", 1)
    assert "SIGKILL" in home.events(job_id, "state")[-1]["reason"]
    kept = sorted(path.name for path in (home.store.attempt(job_id, 1) / "run" / "parts").glob("*.parquet"))
    assert 3 <= len(kept) < 25
    job = home.do()
    assert (job.state, job.attempts) == ("succeeded", 2)
    said = [event["epoch"] for event in home.events(job_id, "checkpoint")]
    assert len(said) == len(set(said))  # no chunk was predicted twice
    assert said[-1] == 24
    assert len([event for event in home.events(job_id, "phase") if event["phase"] == "reading"]) == 1
    assert result(home, job).read_bytes() == result(home, undisturbed).read_bytes()
    assert job.result["sha256"] == undisturbed.result["sha256"]


def test_a_drained_predictor_gives_its_job_back_and_a_damaged_part_is_made_again(home, place):
    body = table(200_000)
    place(body)
    undisturbed = home.do()
    job_id = place(body)
    thread = meddle(home, job_id, lambda child: child.send_signal(signal.SIGTERM), parts=3)
    job = home.do()
    thread.join()
    assert (job.state, job.preemptions, job.crashes) == ("queued", 1, 0)
    part = home.store.attempt(job_id, 1) / "run" / "parts" / "000001.parquet"
    blob = bytearray(part.read_bytes())
    blob[len(blob) // 3] ^= 1
    part.write_bytes(blob)
    job = home.do()
    assert job.state == "succeeded"
    assert result(home, job).read_bytes() == result(home, undisturbed).read_bytes()


def test_a_cancelled_prediction_stops_and_its_file_waits_for_a_retry(home, place):
    job_id = place(table(200_000))

    def cancel(predictor):
        predictor.suspend()  # or it might end before its supervisor has read the wish
        with home.db.begin() as tx:
            jobs.request_cancel(tx, job_id)
        time.sleep(2 * holding.QUIET_SECONDS)
        with contextlib.suppress(psutil.NoSuchProcess):
            predictor.resume()

    thread = meddle(home, job_id, cancel)
    job = home.do()
    thread.join()
    assert job.state == "cancelled"
    assert home.store.attempts(job_id) == [0]
    with home.db.begin() as tx:
        again, new = jobs.retry(tx, job_id, max_queue=9)
        assert (new, again.task, again.dataset_id) == (True, "predict", None)
    job = home.do()
    assert (job.id, job.state, job.result["rows"]) == (again.id, "succeeded", 200_000)
    assert home.store.attempts(job_id) == []


def test_a_predictor_that_keeps_dying_is_given_up(home, place):
    job_id = place(table(10))
    for _ in range(home.settings.crash_limit):
        held = home.claim()
        with home.db.begin() as tx:
            claims.crash(tx, held, jobs.error("worker_lost", "died"), crash_limit=home.settings.crash_limit)
    assert home.look(job_id).state == "failed"


@pytest.mark.parametrize(
    ("body", "why"),
    [("a,c\n1,x\n", "needs a column 'b'"), ("", "empty")],
)
def test_a_file_that_cannot_be_used_fails_the_job_with_a_reason(home, place, body, why):
    job_id = place(body, predictions_per_day=20)
    job = home.do()
    assert (job.state, job.error["code"]) == ("failed", "invalid_dataset")
    assert why in job.error["message"]
    assert home.store.source(job_id).exists()  # for whoever asks why
    (said,) = (
        line for line in job.error["log"] if "predicting_failed" in line
    )  # no trace: it is no fault of ours
    assert "invalid_dataset" in said
    assert not any("Traceback" in line or line.startswith("  File") for line in job.error["log"])


def test_a_file_of_more_rows_than_the_day_has_left_fails_before_any_is_predicted(home, place):
    job_id = place(table(30), predictions_per_day=20)
    job = home.do()
    assert (job.state, job.error["code"], job.error["phase"]) == ("failed", "quota_exceeded", "reading")
    assert "the limit is 20" in job.error["message"]
    assert "at most 20 rows can be predicted now" in job.error["message"]
    assert home.store.source(job_id).exists()


def test_files_together_do_not_pass_the_quota_of_a_day(home, place, monkeypatch):
    _, second, third = (place(table(100), predictions_per_day=150) for _ in range(3))
    assert home.do().state == "succeeded"
    with monkeypatch.context() as patch:  # both began before either was done
        patch.setattr(quotas, "left", lambda *_: 150)
        job = home.do()
    assert (job.id, job.state, job.error["code"]) == (second, "failed", "quota_exceeded")
    assert "the limit is 150" in job.error["message"]
    assert home.store.source(second).exists()  # for a retry tomorrow
    with home.db.begin() as tx:
        assert quotas.used(tx, DEFAULT_PROJECT, "predictions") == 100
        quotas.add(tx, DEFAULT_PROJECT, "predictions", 50)
    job = home.do()  # what is left is asked as it starts
    assert (job.id, job.state, job.attempts) == (third, "failed", 1)
    assert (job.error["code"], job.error["retriable"]) == ("quota_exceeded", True)


def test_predictions_whose_model_is_gone_fail_at_once_and_in_one_line_each(home, place):
    deleted = place(table(10), model_id="mdl_" + "0" * 26)
    with structlog.testing.capture_logs() as lines:
        job = home.do()
    assert (job.id, job.state, job.error["code"]) == (deleted, "failed", "invalid_model")
    assert not job.error["retriable"]
    (said,) = (line for line in lines if line["log_level"] in ("warning", "error"))
    assert (said["event"], said["code"]) == ("refused", "invalid_model")
    job_id = place(table(10))
    with home.db.read() as tx:
        folder = tx.get(Model, home.look(job_id).config["model_id"]).folder
    (home.store.at(folder) / "card.json").unlink()
    with structlog.testing.capture_logs() as lines:
        job = home.do()
    assert (job.state, job.error["code"]) == ("failed", "invalid_model")
    assert not any("Traceback" in line for line in job.error["log"])
    assert [line["code"] for line in lines if line["event"] == "ended"] == ["invalid_model"]


def test_a_dataset_that_was_read_otherwise_is_no_dataset_of_the_model(home, place, tmp_path):
    (tmp_path / "source").write_text(TABLE.replace("\n0,", "\n9,"))
    reading.read(tmp_path / "source", tmp_path / "data", Options())
    other = home.dataset(data.load(tmp_path / "data"))
    job_id = place()
    with home.db.begin() as tx:
        tx.get(Job, job_id).dataset_id = other
    job = home.do()
    assert (job.state, job.error["code"]) == ("failed", "invalid_dataset")
    assert "POST /predictions" in job.error["message"]


def test_predictions_do_not_wait_behind_trainings(home, place, monkeypatch):
    from worker import slots

    job_id = place(table(10))
    monkeypatch.setattr(slots, "_take", lambda count: None)
    assert tasks.turn(home.site)
    assert home.look(job_id).state == "succeeded"


def test_memory_does_not_grow_with_the_rows(home, place):
    used = []
    for rows in (20_000, 200_000):
        place(table(rows))
        job = home.do()
        assert (job.state, job.result["rows"]) == ("succeeded", rows)
        used.append(job.result["memory_bytes"])
    assert used[1] < 1.25 * used[0], used
