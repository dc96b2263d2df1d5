"""What Prometheus may know: the figures of a process, or of several that share a folder, under closed names.

Everything else calls the plain functions below. The library is loaded with the first figure, because it decides at
that moment whether figures live in this process or, where `share` was called before, in files that all of them add to.
"""

import contextlib
import functools
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import event
from sqlalchemy.orm import Session

if TYPE_CHECKING:
    from prometheus_client import Counter, Histogram
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector

SHARED = "PROMETHEUS_MULTIPROC_DIR"  # the library's own name
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SLOW = (0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 10_000)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
LIVE = re.compile(r"gauge_live[a-z]*_([0-9]+)\.db")


class Instruments:
    """Every figure that a process counts; what rows say is in `app.core.census`."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.registry = CollectorRegistry()
        count = functools.partial(Counter, registry=self.registry)
        spread = functools.partial(Histogram, registry=self.registry)
        route = ("method", "route")
        self.requests = count("c2s_requests_total", "Requests answered.", (*route, "status"))
        self.request = spread("c2s_request_seconds", "From a request to its answer.", route, buckets=QUICK)
        self.batch = spread("c2s_predict_batch_size", "Rows that a model saw at once.", buckets=SIZES)
        self.predict = spread("c2s_predict_seconds", "From rows to probabilities.", buckets=QUICK)
        self.uploads = count("c2s_uploads_bytes_total", "Bytes of files taken in.")
        self.intake = spread("c2s_intake_seconds", "Reading an uploaded file.", buckets=SLOW)
        self.epoch = spread("c2s_epoch_seconds", "One epoch of a training.", ("phase",), buckets=SLOW)
        self.training = spread("c2s_training_seconds", "One attempt at a training.", buckets=SLOW)
        self.finished = count("c2s_jobs_finished_total", "Jobs that ended.", ("state", "code"))
        self.losses = count("c2s_lease_losses_total", "Claims that their holder found lost.")
        self.takeovers = count("c2s_takeovers_total", "Jobs taken over from a worker that went silent.")
        self.memory = Gauge(
            "c2s_device_memory_bytes",
            "Memory of running trainings: reserved on a GPU, the peak of the process on a CPU.",
            ("device",),
            registry=self.registry,
            multiprocess_mode="livesum",
        )


_making = threading.Lock()


@functools.cache
def _made() -> Instruments:
    return Instruments()


def _all() -> Instruments:
    with _making:  # a cached function may run twice, a name may be registered once
        return _made()


@contextlib.contextmanager
def share() -> Iterator[None]:
    """Let this process and all that it starts add to the same figures, in a private folder that goes with it."""
    folder = tempfile.mkdtemp(prefix="c2s-metrics-")  # only its owner can enter it
    os.environ[SHARED] = folder
    try:
        yield
    finally:
        del os.environ[SHARED]
        shutil.rmtree(folder, ignore_errors=True)


def exposition(*more: "Collector") -> bytes:
    """All figures as text, whichever of the processes is asked, and what `more` adds to them."""
    from prometheus_client import CollectorRegistry, generate_latest

    own, folder = _all().registry, os.environ.get(SHARED)
    if folder:
        _forget_the_dead(Path(folder))
        own = CollectorRegistry()
        own.register(_Files(Path(folder)))
    added = CollectorRegistry()
    for collector in more:
        added.register(collector)
    return generate_latest(own) + generate_latest(added)


class _Files:
    """The figures of all processes. A file that one of them is just making is empty, and the library fails at it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterable["Metric"]:
        """As the library adds them up."""
        from prometheus_client.multiprocess import MultiProcessCollector

        files = [str(path) for path in self._folder.glob("*.db") if _size(path)]
        found: Iterable[Metric] = MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call]
        return found


def _size(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):  # a process that ended, forgotten meanwhile
        return path.stat().st_size
    return 0


def _forget_the_dead(folder: Path) -> None:
    """What a process held ends with it; what it counted stays."""
    for path in folder.iterdir():
        found = LIVE.fullmatch(path.name)
        if found and not Path(f"/proc/{found[1]}").exists():
            path.unlink(missing_ok=True)


# Requests: one dictionary and no lock of ours on the hot path
_requests: dict[tuple[str, str, int], tuple["Counter", "Histogram"]] = {}


def request(method: str, route: str, status: int, seconds: float) -> None:
    """A request was answered; `route` is a template of ours, never a path that somebody sent."""
    key = (method if method in METHODS else "other", route, status)
    found = _requests.get(key)
    if found is None:
        known = _all()
        found = known.requests.labels(*key), known.request.labels(*key[:2])
        _requests[key] = found
    found[0].inc()
    found[1].observe(seconds)


def batch(rows: int) -> None:
    """A model saw so many rows at once."""
    _all().batch.observe(rows)


def predicted(seconds: float) -> None:
    """A prediction took so long, waiting included."""
    _all().predict.observe(seconds)


def uploaded(size: int) -> None:
    """A file has arrived."""
    _all().uploads.inc(size)


def read(seconds: float) -> None:
    """A file was read, or refused, after so long."""
    _all().intake.observe(seconds)


def epoch(phase: str, seconds: float) -> None:
    """An epoch of a phase took so long."""
    _all().epoch.labels(phase).observe(seconds)


def memory(device: str, size: int) -> None:
    """A training of this process takes so much memory; 0 at its end."""
    _all().memory.labels(device).set(size)


def trained(seconds: float) -> None:
    """An attempt at a training took so long, however it ended."""
    _all().training.observe(seconds)


def lease_lost() -> None:
    """A claim of ours is no longer ours."""
    _all().losses.inc()


def finished(tx: Session, state: str, code: str = "") -> None:
    """A job ends, if the transaction does."""
    _on_commit(tx, lambda: _all().finished.labels(state, code).inc())


def taken_over(tx: Session) -> None:
    """A job whose worker went silent has a new one, if the transaction ends well."""
    _on_commit(tx, lambda: _all().takeovers.inc())


def _on_commit(tx: Session, count: Callable[[], None]) -> None:
    event.listen(tx, "after_commit", lambda _session: count(), once=True)
