"""How the client is used, for a type checker (`test_types.py`). Every `ignore` is a mistake that must be found."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

from c2s import AsyncClient, Client
from c2s.client.answers import Predicted
from c2s.client.bound import Awaiting, Blocking
from c2s.client.datasets import Dataset
from c2s.client.frames import Rows
from c2s.client.jobs import Job
from c2s.client.models import Model

Matrix = npt.NDArray[np.float64]


def blocking(client: Client) -> None:
    dataset = client.datasets.create("rows.csv", label="y", drop=["a"])
    assert_type(dataset, Dataset[Blocking])
    job = client.jobs.create(dataset, method="forward", stage1={"epochs": 3}).wait(progress=True)
    assert_type(job, Job[Blocking])
    assert_type(job.transition().to_numpy(), Matrix)
    assert_type(job.issues(), Rows)
    assert_type(job.report(), dict[str, Any])
    assert_type(client.jobs.list(state="failed"), Iterator[Job[Blocking]])
    assert_type(client.predict("m@champion", np.zeros((2, 3)), top_k=3), Predicted)
    assert_type(client.models.get("m"), Model[Blocking])
    client.jobs.create(dataset, metod="forward")  # type: ignore[call-arg]
    client.jobs.list(state="odd")  # type: ignore[arg-type]
    client.datasets.create("rows.csv", kind="sound")  # type: ignore[arg-type]


async def awaiting(client: AsyncClient) -> None:
    dataset = await client.datasets.create("rows.csv")
    assert_type(dataset, Dataset[Awaiting])
    job = await (await client.jobs.create(dataset)).wait()
    assert_type(job, Job[Awaiting])
    assert_type((await job.transition()).to_numpy(), Matrix)
    assert_type(client.jobs.list(), AsyncIterator[Job[Awaiting]])
    assert_type(await client.predict("m", [{"a": 1}]), Predicted)
    _ = client.jobs.get("job_1").state  # type: ignore[attr-defined]  # nobody awaited it
