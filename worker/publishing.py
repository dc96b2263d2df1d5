"""From a finished model folder to a row that the API serves: verified first, then published in one write."""

from typing import Any

import structlog
from sqlalchemy.orm import Session

from app.core import claims, ids, jobs, models, storage
from app.core.tables import Model
from c2s import cards, errors
from worker import holding, saving

log = structlog.get_logger("c2s.worker")


def publish(store: storage.Store, hold: holding.Hold, *, crash_limit: int) -> None:
    """Publish the model of this attempt and clear away what led to it; a harmed model is made again."""
    claim = hold.claim
    folder = store.attempt(claim.job_id, claim.fence) / "run" / "model"
    try:
        card = saving.meanwhile(hold, lambda: cards.verify(folder))  # a slow store must not cost us the claim
    except (errors.InvalidModel, OSError) as exc:
        why = jobs.error("internal", f"the model was harmed on its way: {exc}", phase="packaging")
        hold.settle(lambda tx: claims.crash(tx, claim, why, crash_limit=crash_limit))
        return
    name = ids.new("mdl")
    key = saving.meanwhile(hold, lambda: store.keep_model(claim.job_id, claim.fence))
    labels = saving.meanwhile(hold, lambda: store.keep_outcome(claim.job_id, claim.fence, "result"))

    def write(tx: Session) -> None:  # a fresh row each time: it may take several transactions
        model = Model(
            id=name,
            job_id=claim.job_id,
            name=called(claim),
            folder=key,
            sha256=card["sha256"],
            card=summary(card),
        )
        told = {"model_id": name, "sha256": card["sha256"], "labels": labels, **summary(card)}
        claims.succeed(tx, claim, told, model)

    hold.settle(write)
    log.info("published", model_id=name)
    store.prune_job(claim.job_id, keep=claim.fence)


def called(claim: claims.Claim) -> str:
    """The name that the model is published under: the job's, else the dataset's, if it can be asked by it."""
    known = (claim.name, claim.manifest.get("dataset", {}).get("name"))
    return next((name for name in known if name and models.addressable(name)), claim.job_id)


def summary(card: dict[str, Any]) -> dict[str, Any]:
    """What lists of models show."""
    return {
        "kind": card["kind"],
        "classes": [str(label) for label in card["labels"]],
        "kept": card["kept"],
        "notes": card["notes"],
        "rows": card["dataset"]["rows"],
        "method": card["config"]["method"]["name"],
        "net": card["config"]["net"]["name"],
        "estimator": card["transition"]["estimator"],
        "noise_rate": card["transition"]["noise_rate"],
        "put_right": card.get("put_right"),
        "calibration": card["calibration"],
    }
