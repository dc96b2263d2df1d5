"""A large upload as a job: what the reader is asked, and what its answer means for the dataset."""

from typing import Any

from sqlalchemy.orm import Session

from app.core import claims, datasets, db, storage
from app.core.tables import Dataset, Intake
from worker import holding, messages, saving


def request(database: db.Database, store: storage.Store, hold: holding.Hold) -> dict[str, Any]:
    """What the reader must know about the file."""
    dataset_id = hold.claim.dataset_id or ""
    with database.read() as tx:
        dataset = tx.get(Dataset, dataset_id)
        options = dict(dataset.options) if dataset is not None else {}
        sha256 = dataset.source_sha256 if dataset is not None else ""
        parent = tx.get(Dataset, dataset.parent_id) if dataset is not None and dataset.parent_id else None
    source = saving.fetched(store, hold, lambda: store.open_source(dataset_id, sha256=sha256))
    before = {}
    if parent is not None:  # the file says which of its labels are to be others
        folder = saving.fetched(store, hold, lambda: store.open_dataset(parent.id))
        before = {"corrects": str(folder), "report": parent.report}
    return before | {
        "source": str(source),
        "target": str(store.dataset(dataset_id)),
        "options": options,
    }


def settle(store: storage.Store, hold: holding.Hold, answer: messages.Read | messages.Refused) -> None:
    """Write the answer to the dataset and end the job in one transaction; the file is of no use afterwards."""
    claim, dataset_id = hold.claim, hold.claim.dataset_id or ""
    values = _values(answer)
    refused = isinstance(answer, messages.Refused)
    if not refused:
        saving.meanwhile(hold, lambda: store.keep_dataset(dataset_id))

    def write(tx: Session) -> None:
        datasets.settle(tx, dataset_id, **values)
        claims.succeed(tx, claim, {"refused": refused})

    hold.settle(write)
    if refused:
        store.remove_dataset(dataset_id)
    else:
        store.remove_source(dataset_id)
    store.remove_job(claim.job_id)


def _values(answer: messages.Read | messages.Refused) -> dict[str, Any]:
    if isinstance(answer, messages.Read):
        return datasets.facts(answer.report, answer.shape)
    why = {"code": "invalid_dataset", "message": "the file cannot be used", "errors": answer.reasons}
    return {"state": Intake.refused, "error": why}
