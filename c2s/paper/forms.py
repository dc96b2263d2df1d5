"""Which form of the correction a run's pairs were held to: where `auto` took the exact one, both are one training."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from c2s import config
from c2s.matrix import transition
from c2s.methods import method
from c2s.paper import results, settings

EXACT, AVERAGED = "exact", "similarity"
SAME = (
    "dataset",
    "noise",
    "preset",
    "seed",
    "subset",
    "eta",
    "source",
    "torch",
    "threads",
    "device",
    "precision",
)


def held_to(
    chosen: config.MethodConfig, T_c: transition.Matrix, priors: npt.NDArray[np.float64]
) -> str | None:
    """The form that corrected pairs saw; None for every other method."""
    if not isinstance(chosen, config.ForwardSimi | config.ReweightSimi):
        return None
    return EXACT if method.is_exact(chosen.correction, T_c, priors) else AVERAGED


def twin(row: results.Row, rows: Iterable[results.Row]) -> results.Row | None:
    """The finished line of the same training under its other name, if `row` is one that asks for the exact form."""
    name = row["method"].removesuffix(settings.EXACT)
    if name == row["method"]:
        return None
    found = [other for other in rows if other["method"] == name and other.get("form") == EXACT]
    return next((other for other in found if _same(row, other)), None)


def _same(row: results.Row, other: results.Row) -> bool:
    return all(row[fact] == other.get(fact) for fact in SAME) and _but_for_the_form(row) == _but_for_the_form(
        other
    )


def _but_for_the_form(row: results.Row) -> dict[str, object]:
    how = {name: value for name, value in row["config"]["method"].items() if name != "correction"}
    return {**row["config"], "method": how}
