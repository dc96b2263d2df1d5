"""Aliases: words that point at a version of a name, moved by whoever saw where they point, and moved back.

Every change is a numbered move, and the number is what a client must have seen. A rollback follows the moves back:
from the version before to the one before that, passing over what was deleted since.
"""

from collections.abc import Collection, Sequence

from sqlalchemy import Select, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.core import errors, models
from app.core.db import now
from app.core.tables import Alias, AliasMove, Model

SHOWN = 100  # moves of a history
Seen = Collection[int] | None  # moves of which one must be the last; None: whichever it is
KEY_SHARE = {
    "read": True,
    "key_share": True,
}  # the version stays until we are done; readers are not kept waiting


def find(tx: Session, name: str, alias: str, *, hold: bool = False) -> Alias:
    """An alias; held, nobody else moves it before this transaction ends."""
    found = _look(tx, name, alias, hold=hold)
    if found is None:
        raise errors.NotFound("there is no such alias")
    return found


def _look(tx: Session, name: str, alias: str, *, hold: bool = False) -> Alias | None:
    chosen = select(Alias).where(Alias.name == name, Alias.alias == alias)
    return tx.scalars(chosen.with_for_update() if hold else chosen).one_or_none()


def of(tx: Session, name: str) -> Sequence[tuple[Alias, int]]:
    """The aliases of a name, each with the number of its version."""
    found = select(Alias, Model.version).join(Model, Alias.model_id == Model.id)
    return [(row[0], row[1]) for row in tx.execute(found.where(Alias.name == name).order_by(Alias.alias))]


def history(tx: Session, name: str, alias: str) -> Sequence[AliasMove]:
    """The last moves of an alias, newest first."""
    return tx.scalars(_moves(name, alias).order_by(AliasMove.number.desc()).limit(SHOWN)).all()


def moved(tx: Session, name: str, alias: str, number: int) -> AliasMove:
    """One move of an alias, which later ones do not change."""
    return tx.scalars(_moves(name, alias).where(AliasMove.number == number)).one()


def create(tx: Session, model: Model, alias: str) -> Alias:
    """An alias that was not there."""
    if _look(tx, model.name, alias) is not None:
        raise errors.Moved("the alias exists already")
    last = select(func.max(AliasMove.number)).where(AliasMove.name == model.name, AliasMove.alias == alias)
    made = Alias(project_id=model.project_id, name=model.name, alias=alias, model_id=model.id)
    made.number = 1 + (tx.scalar(last) or 0)
    tx.add(made)
    try:
        tx.flush()
    except IntegrityError as exc:
        raise errors.Moved("somebody else made the alias meanwhile") from exc
    tx.refresh(made)
    _note(tx, made, model, "set", back=None)
    return made


def move(tx: Session, model: Model, alias: str, seen: Seen) -> tuple[Alias, bool]:
    """Point an alias at a version of its name, if it is where the caller saw it; and whether that was a change."""
    held = _seen(tx, model.name, alias, seen)
    if held.model_id == model.id:
        return held, False
    _shift(tx, held, model, "set", back=held.number)
    return held, True


def rollback(tx: Session, name: str, alias: str, seen: Seen = None) -> Alias:
    """Point an alias at what it pointed at before; once more, and it goes one step further back."""
    held = _seen(tx, name, alias, seen)
    found = earlier(tx, held, hold=True)
    if found is None:
        raise errors.Conflict(
            "the alias pointed nowhere else, or at versions that are gone", code="no_earlier_version"
        )
    model, back = found
    _shift(tx, held, model, "rollback", back=back)
    return held


def earlier(tx: Session, held: Alias, *, hold: bool = False) -> tuple[Model, int | None] | None:
    """What an alias pointed at before and the move that came before that; None: nothing that is still there."""
    back = moved(tx, held.name, held.alias, held.number).back
    while back is not None:
        step = moved(tx, held.name, held.alias, back)
        lock = KEY_SHARE if hold else None
        model = tx.get(Model, step.model_id, with_for_update=lock) if step.model_id else None
        if model is not None and model.id != held.model_id:
            return model, step.back
        back = step.back
    return None


def remove(tx: Session, name: str, alias: str, seen: Seen = None) -> Alias:
    """Delete an alias; its history stays, and so does its count."""
    held = _seen(tx, name, alias, seen)
    held.number += 1
    _note(tx, held, None, "delete", back=None)
    tx.delete(held)
    return held


def version(tx: Session, name: str, *, model_id: str | None, number: int | None) -> Model:
    """The version that an alias of this name is to point at; it cannot be deleted before this transaction ends."""
    found = models.numbered(tx, name, number) if number is not None else tx.get(Model, model_id)
    if found is not None and found.name == name:
        found = tx.get(Model, found.id, with_for_update=KEY_SHARE)
        if found is not None:
            return found
    where = "/version" if number is not None else "/model_id"
    fault = {"pointer": where, "code": "not_found", "detail": "the name has no such version"}
    raise errors.Invalid("the name has no such version", code="unknown_version", errors=[fault])


def _seen(tx: Session, name: str, alias: str, seen: Seen) -> Alias:
    held = find(tx, name, alias, hold=True)
    if seen is not None and held.number not in seen:
        raise errors.Moved("the alias has moved since it was looked at")
    return held


def _shift(tx: Session, held: Alias, model: Model, action: str, *, back: int | None) -> None:
    held.model_id, held.number, held.moved_at = model.id, held.number + 1, now()
    tx.flush()
    tx.refresh(held)
    _note(tx, held, model, action, back=back)


def _note(tx: Session, held: Alias, model: Model | None, action: str, *, back: int | None) -> None:
    tx.add(
        AliasMove(
            project_id=held.project_id,
            name=held.name,
            alias=held.alias,
            number=held.number,
            action=action,
            model_id=model.id if model else None,
            version=model.version if model else None,
            back=back,
            at=held.moved_at if model else now(),  # the history and the alias tell one time
        )
    )


def _moves(name: str, alias: str) -> Select[AliasMove]:
    return select(AliasMove).where(AliasMove.name == name, AliasMove.alias == alias)
