"""The whole way through the client, with a real worker: rows in, a job, its matrix, a model, predictions."""

import ast
import asyncio
import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import structlog

import c2s
from app import cli
from c2s.client import problems

TOKEN = "t" * 32
QUICK = {"epochs": 2, "batch_size": 32}
JOB = {
    "method": "forward",
    "net": {"name": "mlp", "hidden": [8]},
    "stage1": QUICK,
    "stage2": QUICK,
    "transition": {"estimator": "anchors", "posteriors": "in-sample"},
}


def blobs(count=240):
    rng = np.random.default_rng(0)
    y = np.arange(count) % 3
    return rng.normal(size=(count, 4)).astype(np.float32) + 3 * y[:, None], y


@pytest.fixture(scope="module")
def run(shared, client, worker, tmp_path_factory):
    """`c2s job run SPEC --watch` in a process of its own, to its end."""
    dataset = client.datasets.create(blobs(), name="blobs")
    spec = tmp_path_factory.mktemp("spec") / "job.json"
    spec.write_text(json.dumps({"dataset_id": dataset.id, "name": "blobs", **JOB}))
    words = [sys.executable, "-m", "app", "job", "run", str(spec), "--watch", "-o", "json"]
    told = os.environ | {"C2S_URL": shared.address, "C2S_TOKEN": TOKEN}
    return subprocess.run(words, env=told, capture_output=True, text=True)


@pytest.fixture(scope="module")
def job(client, run):
    assert run.returncode == 0, run.stderr
    return client.jobs.get(json.loads(run.stdout)["id"])


def test_a_job_ends_with_a_matrix_and_a_model(client, job):
    assert job.state == "succeeded"
    found = job.transition()
    assert found.final
    assert found.to_numpy().shape == (3, 3)
    np.testing.assert_allclose(found.to_numpy().sum(1), 1)
    assert found.similarity_to_numpy()[1, 1] == found.similarity["t11"]
    assert client.models.get("blobs").id == job.model_id
    assert [row["phase"] for row in job.metrics()].count("stage1") == 2
    assert job.manifest()["dataset"]["rows"] == 240


def test_what_a_job_found_out_about_labels_and_classifier_is_at_hand(client, job, tmp_path):
    worth = job.report()["worth"]
    assert 0 < worth["agreement"]["low"] <= worth["agreement"]["value"] <= worth["agreement"]["high"] <= 1
    found = job.issues()
    assert all(row["given"] != row["suggested"] for row in found)
    assert list(job.issues(1)) == list(found)[:1]
    lines = job.corrected(tmp_path / "labels.csv").read_text().splitlines()
    assert len(lines) == 241
    assert {"id", "given"} <= set(lines[0].split(","))


def test_frames_go_in_and_come_out(client, job):
    pandas = pytest.importorskip("pandas", reason="pandas is the user's to install")
    x, y = blobs()
    frame = pandas.DataFrame(x, columns=list("abcd")).assign(y=y)
    assert client.datasets.create(frame).rows == 240
    assert job.transition().to_pandas().shape == (3, 3)
    assert len(job.issues().to_pandas()) == len(job.issues())
    assert len(client.predict("blobs", frame[list("abcd")].to_numpy()).labels) == 240


def test_awaiting_answers_as_blocking_does(shared, client, job):
    x, _ = blobs(30)

    async def ask():
        async with c2s.AsyncClient(shared.address, TOKEN) as other:
            found = await other.jobs.get(job.id)
            await found.wait()
            listed = [one.id async for one in other.jobs.list()]
            events = [event async for event in found.events()]
            matrix = (await found.transition()).to_numpy()
            answers = await other.predict("blobs", x)
            report = await (await other.datasets.get(found.dataset_id)).report()
            with pytest.raises(problems.NotFound) as refused:
                await other.jobs.get("job_" + "0" * 26)
            return found.raw, listed, events, matrix.tolist(), answers.raw, report, refused.value.code

    found = client.jobs.get(job.id)
    with pytest.raises(problems.NotFound) as refused:
        client.jobs.get("job_" + "0" * 26)
    assert asyncio.run(ask()) == (
        found.raw,
        [one.id for one in client.jobs.list()],
        list(found.events()),
        found.transition().matrix,
        client.predict("blobs", x).raw,
        client.datasets.get(found.dataset_id).report(),
        refused.value.code,
    )


@pytest.fixture
def command(shared, monkeypatch, capsys):
    """Runs a command that must succeed: what it printed, without the lines of the service beside it."""
    monkeypatch.setenv("C2S_URL", shared.address)
    monkeypatch.setenv("C2S_TOKEN", TOKEN)

    def run(*words):
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
        capsys.readouterr()
        code = cli.main([str(word) for word in words])
        structlog.reset_defaults()
        said = capsys.readouterr()
        assert code == 0, said.err
        return said

    return run


def test_many_rows_are_predicted_by_a_job(client, job, command, tmp_path):
    x, _ = blobs(30)
    np.savez(tmp_path / "x.npz", x=x)
    batch = client.predictions.create("blobs", tmp_path / "x.npz").wait(timeout=120)
    assert (batch.state, batch.rows, batch.errors) == ("succeeded", 30, 0)
    at_once = client.predict("blobs", x)
    assert batch.to_arrow()["class"].to_pylist() == at_once.labels
    assert len(batch.results(tmp_path / "answers.jsonl").read_text().splitlines()) == 30
    batch.delete()
    printed = command("predict", tmp_path / "x.npz", "--model", "blobs", "--all").out.splitlines()
    assert printed[0] == "id,label,probability,p(0),p(1),p(2)"
    assert [line.split(",")[1] for line in printed[1:]] == at_once.labels
    assert list(client.jobs.list(task="predict")) == []  # a result that was fetched is not kept


def test_a_job_is_run_and_watched_by_the_command(run):
    made = json.loads(run.stdout)
    assert made["state"] == "succeeded"
    assert made["model_id"]
    lines = [line.removeprefix("blobs: ") for line in run.stderr.splitlines()]
    assert lines[0] == made["id"]
    assert lines[-1] == "succeeded"
    assert "stage2" in lines


def test_the_quick_start_of_the_readme_runs_as_it_stands(shared, worker):
    page = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    [code] = re.findall(
        r"^## From Python\n\nThe client of a service:\n\n```python\n(.*?)^```", page, re.S | re.M
    )
    assert len([line for line in code.splitlines() if line and "import" not in line]) <= 10
    told = os.environ | {"C2S_URL": shared.address, "C2S_TOKEN": TOKEN}
    done = subprocess.run([sys.executable, "-c", code], env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *matrix, labels = done.stdout.splitlines()
    assert len(matrix) == 3
    assert ast.literal_eval(labels) == ["0", "1", "2"] * 2
    assert "succeeded" in done.stderr
