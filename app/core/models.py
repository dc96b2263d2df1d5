"""Published models as rows: numbered when they are published, found by what users call them, removed.

A user says an id, `name@3`, `name@champion`, or a plain name, which is its alias `default` or else its newest version.
"""

import re
from collections.abc import Iterable, Sequence

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from app.core import errors, ids
from app.core.tables import Alias, Model, ModelName

DEFAULT = "default"  # the alias that a plain name means
ALIAS = r"[a-z][a-z0-9_-]{0,63}"
ALIAS_PATTERN = f"^{ALIAS}$"
LONGEST = 280  # of what a user says: a name, an @ and an alias
SELECTOR = re.compile(rf"(.+)@(?:([1-9][0-9]{{0,8}})|({ALIAS}))", re.DOTALL)
_NEXT = text(
    "INSERT INTO model_names (project_id, name, last_version) VALUES (:project, :name, 1)"
    " ON CONFLICT (project_id, name) DO UPDATE SET last_version = model_names.last_version + 1"
    " RETURNING last_version"
)


def addressable(name: str) -> bool:
    """Whether a name can only be read as one: not as an id, nor as another name's version or alias."""
    return not ids.valid("mdl", name) and SELECTOR.fullmatch(name) is None


def publish(tx: Session, model: Model, project_id: str) -> None:
    """Add a model as the next version of its name; the row of the name is the lock under which numbers are given."""
    given = tx.execute(_NEXT, {"project": project_id, "name": model.name})
    model.project_id, model.version = project_id, given.scalar_one()
    tx.add(model)


def find(tx: Session, model_id: str) -> Model:
    """The model of this id."""
    model = tx.get(Model, model_id)
    if model is None:
        raise errors.NotFound(f"there is no model {model_id}")
    return model


def resolve(tx: Session, said: str) -> Model:
    """The one version that a user means."""
    return selected(tx, said) or _serving(tx, said)


def selected(tx: Session, said: str) -> Model | None:
    """The version that an id, a number or an alias selects; None for what can only be a plain name."""
    if ids.valid("mdl", said):
        return find(tx, said)
    if len(said) > LONGEST or "\x00" in said:  # PostgreSQL cannot even look for a NUL
        raise unknown()
    match = SELECTOR.fullmatch(said)
    if match is None:
        return None
    name, version, alias = match.groups()
    found = pointed(tx, name, alias) if version is None else numbered(tx, name, int(version))
    if found is None and _ever(
        tx, name
    ):  # else a pin to what is gone could mean a model that is named like a pin
        raise unknown()
    return found


def _ever(tx: Session, name: str) -> bool:
    """Whether the name has had a version."""
    return tx.scalar(select(ModelName.name).where(ModelName.name == name)) is not None


def numbered(tx: Session, name: str, version: int) -> Model | None:
    """A version of a name by its number."""
    return tx.scalars(select(Model).where(Model.name == name, Model.version == version)).one_or_none()


def pointed(tx: Session, name: str, alias: str) -> Model | None:
    """The version that an alias of a name points at."""
    found = select(Model).join(Alias, Alias.model_id == Model.id)
    return tx.scalars(found.where(Alias.name == name, Alias.alias == alias)).one_or_none()


def newest(tx: Session, name: str, limit: int) -> Sequence[Model]:
    """Versions of a name, newest first."""
    found = select(Model).where(Model.name == name).order_by(Model.version.desc())
    return tx.scalars(found.limit(limit)).all()


def _serving(tx: Session, name: str) -> Model:
    """What a plain name means."""
    if (found := pointed(tx, name, DEFAULT)) is not None:
        return found
    if rows := newest(tx, name, 1):
        return rows[0]
    raise unknown()


def unknown() -> errors.NotFound:
    """What is said of names, numbers and aliases alike; a name that does not exist is not repeated."""
    return errors.NotFound("there is no model of this name, version or alias")


def aliases(tx: Session, found: Iterable[Model]) -> dict[str, list[str]]:
    """The aliases that point at each of these models, by id."""
    models = {model.id: list[str]() for model in found}
    pointing = select(Alias.model_id, Alias.alias).where(Alias.model_id.in_(models)).order_by(Alias.alias)
    for row in tx.execute(pointing):
        models[row.model_id].append(row.alias)
    return models


def remove(tx: Session, model_id: str) -> Model:
    """Delete the row of a version that no alias points at; its bytes are litter from then on."""
    tx.get(Model, model_id, with_for_update=True)  # an alias that is set meanwhile is seen, or refused
    model = find(tx, model_id)
    if used := aliases(tx, [model])[model_id]:
        named = ", ".join(used)
        detail = (
            f"the version is what {named} points at: move or delete the alias{'es' if used[1:] else ''} first"
        )
        raise errors.Conflict(detail, code="model_in_use")
    tx.delete(model)
    return model
