"""What changed between the labels of two jobs, and whether it is more than chance."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query

from app.api import deps, problems, strict, transitions
from app.core import errors, ids
from c2s.matrix import drift

router = APIRouter(
    prefix="/transitions", route_class=strict.Strict, tags=["results"], responses=problems.documented()
)
SHOWN = 20  # entries that changed most
JobId = Annotated[str, Query(pattern=ids.pattern("job"))]


class Change(deps.Out):
    """An entry of the matrix in both jobs."""

    true: str
    given: str
    a: float
    b: float
    deviations: float  # standard errors of the difference


class Diff(deps.Out):
    """b - a; rows are true classes, columns the labels given."""

    a: str
    b: str
    classes: list[str]
    difference: list[list[float]]
    distance: float  # mean L1 distance of the rows
    p_value: float  # of so large a difference if nothing had changed
    more_than_chance: bool
    changes: list[Change]  # the clearest first


@router.get("/diff", summary="What changed between the labels of two jobs")
def diff(a: JobId, b: JobId, database: deps.Db, store: deps.Files) -> Diff:
    cards = [transitions.find(database, store, job_id).card for job_id in (a, b)]
    names, others = ([str(label) for label in card["labels"]] for card in cards)
    if names != others:
        fault = {"parameter": "b", "code": "invalid", "detail": "its classes are not those of a"}
        raise errors.Invalid("matrices over different classes cannot be compared", errors=[fault])
    first, second = (np.array(card["transition"]["matrix"]) for card in cards)
    ends = [_ends(card["transition"].get("interval")) for card in cards]
    found = drift.compare(first, second, ends_a=ends[0], ends_b=ends[1])
    order = np.argsort(-np.abs(found.deviations), axis=None, kind="stable")[:SHOWN]
    places = [divmod(int(flat), len(names)) for flat in order]
    return Diff(
        a=a,
        b=b,
        classes=names,
        difference=found.difference.tolist(),
        distance=found.distance,
        p_value=found.p_value,
        more_than_chance=found.more_than_chance,
        changes=[
            Change(
                true=names[i],
                given=names[j],
                a=first[i, j],
                b=second[i, j],
                deviations=found.deviations[i, j],
            )
            for i, j in places
            if found.difference[i, j] != 0
        ],
    )


def _ends(found: dict[str, Any] | None) -> Any:
    return None if found is None else np.array(found["matrix"])
