"""`c2s demo`: the whole product over HTTP: real digits, 40 % of the labels wrong, cross-entropy against Class2Simi."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.core import access, errors, settings

if TYPE_CHECKING:
    import httpx
    import numpy as np
    import numpy.typing as npt
    from rich.console import Console
    from rich.progress import Progress

RATE, TEST_ROWS, SHOWN = 0.4, 400, 8
METHODS = ("ce", "f-class2simi")
START_SECONDS, QUIET_SECONDS = 90.0, 120.0


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser("demo", help="learn real digits from labels of which 40 %% are wrong")
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--url", help="of a service that runs elsewhere; its token is read from C2S_TOKEN")
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Start the service if it is not running, give it digits with wrong labels, and show all that it says of them."""
    import httpx
    from rich.console import Console

    console = Console()
    known = settings.load()
    address = chosen.url or started(known)
    token = access.token(known)
    with httpx.Client(
        base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=QUIET_SECONDS
    ) as client:
        show(console, client, chosen.seed)
    if chosen.url is None:
        console.print(
            f"\nThe service goes on at [bold]{address}/?token={token}[/]\nStop it with: make down, or c2s down"
        )


def started(known: settings.Settings) -> str:
    """The address of the service on this home, started in the background if need be."""
    from app import embedded

    known.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    if found := embedded.running(known):
        return found[1]
    with (known.root / "up.log").open("ab") as log:
        process = subprocess.Popen(  # nosec B603 # our own module
            [sys.executable, "-m", "app", "up"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # it outlives the demo
        )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if (found := embedded.running(known)) and embedded.answers(found[1]):
            return found[1]
        time.sleep(0.1)
    raise errors.Unavailable(f"the service does not start, see {Path(log.name).name} in {known.home}")


def show(console: Console, client: httpx.Client, seed: int) -> None:
    """Upload, train both ways, report the noise, and compare on clean digits."""
    from c2s import noise, streams

    images, truth = digits()
    test, train = slice(None, TEST_ROWS), slice(TEST_ROWS, None)
    given = noise.corrupt(truth[train], noise.symmetric(10, RATE), rng=streams.numpy(seed, "flips"))
    wrong = float((given != truth[train]).mean())
    console.print(
        f"{len(given)} digits, [bold]{wrong:.1%} of the labels wrong[/]; {TEST_ROWS} clean ones to test on"
    )
    dataset = answer(client.post("/datasets", params={"name": "digits"}, content=npz(images[train], given)))
    console.print(
        f"POST /datasets -> {dataset['id']}: {dataset['rows']} rows, {len(dataset['classes'])} classes"
    )
    jobs = {}
    for method in METHODS:
        body = {"dataset_id": dataset["id"], "method": method, "seed": seed}
        jobs[method] = answer(client.post("/jobs", json=body))["id"]
        console.print(f"POST /jobs -> {jobs[method]} ({method})")
    ended = follow(console, client, jobs)
    report(console, answer(client.get(f"/jobs/{jobs[METHODS[-1]]}/transition")), ended)
    compare(console, client, ended, images[test], truth[test])


def follow(console: Console, client: httpx.Client, jobs: dict[str, str]) -> dict[str, dict[str, Any]]:
    """A live bar for each job, fed by its event stream; the jobs as they ended."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<13}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[said]}"),
    )
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        watchers = [
            threading.Thread(target=watch, args=(client, job_id, progress, method), daemon=True)
            for method, job_id in jobs.items()
        ]
        for watcher in watchers:
            watcher.start()
        for watcher in watchers:
            watcher.join()
    ended = {method: answer(client.get(f"/jobs/{job_id}")) for method, job_id in jobs.items()}
    for method, job in ended.items():
        if job["state"] != "succeeded":
            raise errors.Unavailable(
                f"the {method} job has {job['state']}: {(job['error'] or {}).get('message')}"
            )
    return ended


def watch(client: httpx.Client, job_id: str, progress: Progress, method: str) -> None:
    """Move a bar until the job's stream ends."""
    task = progress.add_task(method, total=1.0, said="queued")
    for kind, data in events(client, job_id):
        if kind == "end":
            progress.update(task, completed=1.0, said=data["state"])
        elif kind == "state":
            progress.update(task, said=data["state"])
        elif kind == "progress":
            eta = f", {data['eta_seconds']:.0f} s left" if data.get("eta_seconds") is not None else ""
            said = f"{data['phase']} {data['epoch']}/{data['epochs']}{eta}"
            progress.update(task, completed=data["fraction"], said=said)


def events(client: httpx.Client, job_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of a job as they happen; a stream that breaks is taken up where it was."""
    import httpx

    last, kind = "0", ""
    while kind != "end":
        headers = {"Accept": "text/event-stream", "Last-Event-ID": last}
        with (
            contextlib.suppress(httpx.TransportError),
            client.stream("GET", f"/jobs/{job_id}/events", headers=headers) as stream,
        ):
            for line in stream.iter_lines():
                name, _, value = line.partition(": ")
                if name == "id":
                    last = value
                elif name == "event":
                    kind = value
                elif name == "data":
                    yield kind, json.loads(value)["data"]


def report(console: Console, found: dict[str, Any], ended: dict[str, dict[str, Any]]) -> None:
    """T_c, T_s and the noise rates."""
    import numpy as np
    from rich.text import Text

    from c2s.commands import display

    console.print(display.matrix_table(np.array(found["matrix"]), found["classes"]))
    console.print(display.similarity_table(**found["similarity"]))
    rates = found["noise_rate"]
    display.show_rates(console, rates["class"], rates["similarity"], found["estimator"])
    for note in found["learnability"]["warnings"]:
        console.print(Text(f"note: {note}", style="yellow"))


def compare(
    console: Console,
    client: httpx.Client,
    ended: dict[str, dict[str, Any]],
    images: npt.NDArray[np.uint8],
    truth: npt.NDArray[np.int64],
) -> None:
    """Both classifiers on clean digits, by POST /predict, and a few answers of the better one."""
    import numpy as np
    from rich.table import Table

    console.print("\nAccuracy on clean test digits, by POST /predict:")
    table = Table()
    table.add_column("method")
    table.add_column("accuracy")
    for method, job in ended.items():
        body = {"model": job["model_id"], "inputs": images.tolist()}
        said = answer(client.post("/predict", json=body))["predictions"]
        right = np.mean([int(entry["class"]) == k for entry, k in zip(said, truth, strict=True)])
        table.add_row(method, f"{right:.1%}")
    console.print(table)
    for entry, k in list(zip(said, truth, strict=True))[:SHOWN]:
        console.print(
            f"  digit {k} -> predicted {entry['class']} with probability {entry['probability']:.3f}"
        )


def answer(response: httpx.Response) -> dict[str, Any]:
    """The body of an answer, or the problem in it."""
    body: dict[str, Any] = response.json()
    if response.is_error:
        raise errors.Unavailable(f"{body.get('code')}: {body.get('detail')}")
    return body


def npz(images: npt.NDArray[np.uint8], labels: npt.NDArray[np.int64]) -> bytes:
    """The arrays as a file."""
    import numpy as np

    file = io.BytesIO()
    np.savez_compressed(file, x=images, y=labels)
    return file.getvalue()


def digits() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """scikit-learn's own 1,797 handwritten digits as 8 x 8 grey images, in random order, with their true classes."""
    import numpy as np
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = np.random.default_rng(0).permutation(len(bunch.target))
    images = np.rint(bunch.images[order] * (255 / 16)).astype(np.uint8)
    return images, bunch.target[order].astype(np.int64)
