"""The whole way through the client, with a real worker: rows in, a job, its matrix, a model, predictions."""

import ast
import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import c2s
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
def job(client, worker):
    dataset = client.datasets.create(blobs(), name="blobs")
    return client.jobs.create(dataset, name="blobs", **JOB).wait(timeout=120)


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


def test_the_quick_start_of_the_readme_runs_as_it_stands(shared, worker):
    page = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    [code] = re.findall(r"^### From Python\n\n```python\n(.*?)^```", page, re.S | re.M)
    assert len([line for line in code.splitlines() if line and "import" not in line]) <= 10
    told = os.environ | {"C2S_URL": shared.address, "C2S_TOKEN": TOKEN}
    done = subprocess.run([sys.executable, "-c", code], env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *matrix, labels = done.stdout.splitlines()
    assert len(matrix) == 3
    assert ast.literal_eval(labels) == ["0", "1", "2"] * 2
    assert "succeeded" in done.stderr
