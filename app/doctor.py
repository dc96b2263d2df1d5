"""Compares rows with bytes: what no row names is litter, what no byte backs is a loss."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import structlog
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from app.core import workers
from app.core.db import Database
from app.core.errors import Damaged, Unavailable
from app.core.storage import PREDICTIONS, Piece, Store
from app.core.tables import ENDED, Dataset, Intake, Job, Model, State
from c2s import cards, errors
from c2s.judging import reviews

YOUNG_SECONDS = 3600.0  # what may still be in the making is left alone
KEPT_SECONDS = 7 * 86400.0  # what a failed job leaves, for whoever asks why
_READY = Dataset.state == Intake.ready
log = structlog.get_logger("c2s.doctor")


@dataclass(frozen=True)
class Finding:
    """Litter can be removed; a loss cannot be mended."""

    kind: str  # litter | loss
    what: str
    key: str


def examine(
    database: Database, store: Store, *, young: float = YOUNG_SECONDS, deep: bool = False
) -> list[Finding]:
    """All that rows and bytes disagree about."""
    return [*litter(database, store, young=young), *losses(database, store, deep=deep)]


def litter(database: Database, store: Store, *, young: float = YOUNG_SECONDS) -> list[Finding]:
    """Bytes that no row names; they are listed before the rows are, so that what is made meanwhile has its row."""
    now = time.time()
    pieces = list(store.pieces())
    with database.read() as tx:
        rows = _Rows(
            datasets=set(tx.scalars(select(Dataset.id))),
            jobs={row.id: (row.state, row.task) for row in tx.execute(select(Job.id, Job.state, Job.task))},
            published={
                folder.rsplit("/", 2)[0]
                for folder in (*tx.scalars(select(Model.folder)), *(found.folder for found in _results(tx)))
            },
            waiting=set(_sources(tx)),
        )
    found = []
    for piece in pieces:
        what, patience = rows.judge(piece, young)
        if what is not None and piece.modified <= now - patience:
            found.append(Finding("litter", what, piece.key))
    return found


@dataclass(frozen=True)
class _Rows:
    """What rows say about bytes."""

    datasets: set[str]
    jobs: dict[str, tuple[State, str]]
    published: set[str]  # attempts
    waiting: set[str]  # jobs whose uploaded files are still to be predicted, by themselves or by a retry

    def judge(self, piece: Piece, young: float) -> tuple[str | None, float]:
        """Why a piece is litter, if it is, and how long such litter is left alone."""
        match piece.key.split("/"):
            case ["tmp", _]:
                return "an upload that never ended", young
            case ["parts", *_]:
                return "an upload in parts that never ended", young
            case ["datasets", name] if name not in self.datasets:
                return "bytes of a dataset that has no row", young
            case ["datasets", name, _] if name in self.datasets:
                return "a reading that never ended", young
            case ["jobs", name] if name not in self.jobs:
                return "bytes of a job that has no row", young
            case ["jobs", name, "0"] if name in self.waiting:
                return None, young
            case ["jobs", name, _] if name in self.jobs and piece.key not in self.published:
                return self._spent(*self.jobs[name], young)
        return None, young

    def _spent(self, state: State, task: str, young: float) -> tuple[str | None, float]:
        """What an ended job no longer needs: all but what it published, and for a week what a failed one left.

        A file of rows is kept as long for whoever retries predictions that were cancelled.
        """
        if state not in ENDED:
            return None, young
        failed = state == State.failed and task != "ingest"
        kept = failed or (state == State.cancelled and task == "predict")
        return "an attempt that published nothing", KEPT_SECONDS if kept else young


@dataclass(frozen=True)
class _Result:
    job_id: str
    folder: str
    sha256: str


def _results(tx: Session) -> Iterator[_Result]:
    """The predictions that rows promise."""
    done = select(Job.id, Job.result).where(Job.task == "predict", Job.state == State.succeeded)
    for row in tx.execute(done):
        yield _Result(row.id, row.result["folder"], row.result["sha256"])


def _sources(tx: Session) -> Iterator[str]:
    live = select(Job.config).where(Job.task == "predict", Job.state.not_in(ENDED))
    return (config["source"] for config in tx.scalars(live) if config["source"] is not None)


def losses(database: Database, store: Store, *, deep: bool = False) -> Iterator[Finding]:
    """Rows that no byte backs. A look may take hours: what was deleted meanwhile is no loss."""
    with database.read() as tx:
        datasets = list(tx.scalars(select(Dataset.id).where(_READY)))
        judged = list(_judged(tx))
        models, results = list(tx.scalars(select(Model))), list(_results(tx))
    for dataset_id in datasets:
        key = store.key(store.dataset(dataset_id))
        found = _folder(store, key, "meta.json", f"the bytes of dataset {dataset_id}", deep)
        yield from _standing(database, select(Dataset.id).where(Dataset.id == dataset_id, _READY), key, found)
    for job_id, key in judged:
        found = _labels(store, key, f"the judged labels of job {job_id}", deep)
        yield from _standing(database, select(Model.id).where(Model.job_id == job_id), key, found)
    for model in models:
        row = select(Model.id).where(Model.id == model.id)
        yield from _standing(database, row, model.folder, _lost(store, model, deep))
    for result in results:
        row = select(Job.id).where(Job.id == result.job_id)
        yield from _standing(database, row, result.folder, _unbacked(store, result, deep))


def _standing(database: Database, row: Select[str], key: str, said: Iterator[str]) -> Iterator[Finding]:
    """What is said of the bytes of a row, if there still is the row."""
    for what in said:
        with database.read() as tx:
            stands = tx.scalar(row) is not None
        if stands:
            yield Finding("loss", what, key)


def _judged(tx: Session) -> Iterator[tuple[str, str]]:
    """The jobs that judged labels, and the folders that rows name for that; these go with the model."""
    done = select(Job.id, Job.result).join(Model, Model.job_id == Job.id).where(Job.state == State.succeeded)
    for row in tx.execute(done):
        if key := (row.result or {}).get("labels"):
            yield row.id, key


def _labels(store: Store, key: str, what: str, deep: bool) -> Iterator[str]:
    if not store.holds(key, reviews.FILE):
        yield f"{what} are gone"
    elif deep and store.holds(key, reviews.SUMS):  # older folders have no list
        yield from _folder(store, key, reviews.SUMS, what, deep)


def _folder(store: Store, key: str, listing: str, what: str, deep: bool) -> Iterator[str]:
    """What a folder has lost, or holds otherwise than the sums in its list say."""
    if not store.holds(key, listing):
        yield f"{what} are gone"
    elif deep and (changed := _changed(store, key, listing)):
        yield f"{what} have changed or are gone: {', '.join(changed)}"


def _changed(store: Store, key: str, listing: str) -> list[str]:
    try:
        sums: dict[str, str] = json.loads(store.read(key, listing))["sha256"]
        return [name for name, sha256 in sums.items() if not store.intact(key, name, sha256)]
    except (ValueError, LookupError, TypeError, AttributeError, FileNotFoundError, Damaged):
        return [listing]


def _unbacked(store: Store, found: _Result, deep: bool) -> Iterator[str]:
    if not store.holds(found.folder, PREDICTIONS):
        yield f"the predictions of job {found.job_id} are gone"
    elif deep and not store.intact(found.folder, PREDICTIONS, found.sha256):
        yield f"the predictions of job {found.job_id} have changed"


def _lost(store: Store, model: Model, deep: bool) -> Iterator[str]:
    if not store.holds(model.folder, cards.WEIGHTS):
        yield f"the weights of model {model.id} are gone"
    elif deep and not store.intact(model.folder, cards.WEIGHTS, model.sha256):
        yield f"the weights of model {model.id} have changed"
    elif not store.holds(model.folder, cards.GRAPH):
        yield f"model {model.id} has no graph: `c2s export` on its folder makes one"
    elif deep and not _described(store, model.folder):
        yield f"the graph of model {model.id} has changed"


def _described(store: Store, key: str) -> bool:
    """Whether the graph is the one of the card."""
    try:
        card = cards.load(store.open_model(key))
    except (errors.InvalidModel, Unavailable):
        return False
    return "graph" not in card or store.intact(key, cards.GRAPH, card["graph"]["sha256"])


class Janitor(threading.Thread):
    """Removes litter every hour for as long as the service runs."""

    def __init__(self, database: Database, store: Store) -> None:
        super().__init__(name="janitor", daemon=True)
        self._database, self._store, self._stop_asked = database, store, threading.Event()

    def run(self) -> None:
        """Clean up until stopped; what fails is tried again in an hour."""
        while not self._stop_asked.wait(YOUNG_SECONDS):
            try:
                self.clean()
            except (
                Exception
            ) as exc:  # a database that is away, a folder that vanished: the next round may do better
                log.warning("cleaning_failed", error=type(exc).__name__)

    def clean(self) -> int:
        """Remove the litter there is now."""
        self._store.sweep()
        with self._database.begin() as tx:
            workers.forget(tx)
        found = litter(self._database, self._store)
        for finding in found:
            remove(self._store, finding)
        log.info("cleaned", pieces=len(found))
        return len(found)

    def stop(self) -> None:
        """Clean no more."""
        self._stop_asked.set()


def remove(store: Store, finding: Finding) -> None:
    """Delete litter."""
    if finding.kind == "litter":
        store.discard(finding.key)
