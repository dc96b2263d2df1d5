"""`c2s demo`: the whole product over HTTP: real digits, 40 % of the labels wrong, cross-entropy against Class2Simi."""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.commands import service
from app.core import errors

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from rich.console import Console
    from rich.progress import Progress

    from app.core.settings import Settings
    from c2s import Client
    from c2s.client.bound import Blocking
    from c2s.client.jobs import Job

RATE, TEST_ROWS, SHOWN = 0.4, 400, 8
METHODS = ("ce", "f-class2simi")
START_SECONDS = 90.0


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser("demo", help="learn real digits from labels of which 40 %% are wrong")
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--url", help="of a service that runs elsewhere; its token is read from C2S_TOKEN")
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Start the service if it is not running, give it digits with wrong labels, and show all that it says of them."""
    from rich.console import Console

    from app.core import access, settings
    from c2s import Client

    console = Console()
    known = settings.load()
    address = chosen.url or started(known)
    token = access.token(known)
    with Client(address, token) as client:
        show(console, client, chosen.seed)
    if chosen.url is None:
        console.print(f"\nThe service goes on at [bold]{address}/?token={token}[/]")
        console.print(service.told_home(known), end="", markup=False, highlight=False, soft_wrap=True)
        console.print("Stop it with: make down, or c2s down")


def started(known: Settings) -> str:
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


def show(console: Console, client: Client, seed: int) -> None:
    """Upload, train both ways, report the noise, and compare on clean digits."""
    from c2s import streams
    from c2s.matrix import noise

    images, truth = digits()
    test, train = slice(None, TEST_ROWS), slice(TEST_ROWS, None)
    given = noise.corrupt(truth[train], noise.symmetric(10, RATE), rng=streams.numpy(seed, "flips"))
    wrong = float((given != truth[train]).mean())
    console.print(
        f"{len(given)} digits, [bold]{wrong:.1%} of the labels wrong[/]; {TEST_ROWS} clean ones to test on"
    )
    dataset = client.datasets.create(images[train], given, name="digits")
    console.print(
        f"POST /datasets -> {dataset.id}: {dataset.rows} rows, {len(dataset.classes or ())} classes"
    )
    jobs = {}
    for method in METHODS:
        jobs[method] = client.jobs.create(dataset, method=method, seed=seed)
        console.print(f"POST /jobs -> {jobs[method].id} ({method})")
    follow(console, jobs)
    report(console, jobs[METHODS[-1]].transition().raw)
    compare(console, client, jobs, images=images[test], truth=truth[test])


def follow(console: Console, jobs: dict[str, Job[Blocking]]) -> None:
    """A live bar for each job, fed by its event stream, until all have ended well."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<13}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[said]}"),
    )
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        watchers = [
            threading.Thread(target=watch, args=(job, progress, method), daemon=True)
            for method, job in jobs.items()
        ]
        for watcher in watchers:
            watcher.start()
        for watcher in watchers:
            watcher.join()
    for job in jobs.values():
        job.wait()  # has ended, and tells how


def watch(job: Job[Blocking], progress: Progress, method: str) -> None:
    """Move a bar until the job's stream ends."""
    from c2s.client.progress import TerminalBar, Watched

    job.wait(progress=Watched(TerminalBar(progress, method)), check=False)


def report(console: Console, found: dict[str, Any]) -> None:
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
    client: Client,
    jobs: dict[str, Job[Blocking]],
    *,
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
    for method, job in jobs.items():
        said = client.predict(job.model_id or "", images)
        right = np.mean([int(label) == k for label, k in zip(said.labels, truth, strict=True)])
        table.add_row(method, f"{right:.1%}")
    console.print(table)
    for entry, k in list(zip(said, truth, strict=True))[:SHOWN]:
        console.print(
            f"  digit {k} -> predicted {entry['class']} with probability {entry['probability']:.3f}"
        )


def digits() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """scikit-learn's own 1,797 handwritten digits as 8 x 8 grey images, in random order, with their true classes."""
    import numpy as np
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = np.random.default_rng(0).permutation(len(bunch.target))
    images = np.rint(bunch.images[order] * (255 / 16)).astype(np.uint8)
    return images, bunch.target[order].astype(np.int64)
