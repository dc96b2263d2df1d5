"""Predictions as a table: the columns of a result, the same in every part of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from c2s.interface import Interface, Probabilities
from c2s.judging import verdicts
from worker.sources import Piece, Source

CLASSES, TOP = (
    b"c2s.classes",
    b"c2s.top",
)  # in the schema's metadata: the order of probabilities, and how many
TOO_LARGE = "the row is too large for the model"
NUMBERS = pa.list_(pa.float64())
RANKED = pa.list_(pa.struct([("class", pa.string()), ("probability", pa.float64())]))
AUDIT = pa.struct(
    [
        ("label", pa.string()),
        ("wrong", pa.float64()),
        ("likeliest", pa.string()),
        ("probability", pa.float64()),
    ]
)
PLACES = {"id": pa.string(), "line": pa.int64(), "entry": pa.string()}


@dataclass(frozen=True)
class Form:
    """What a result holds."""

    model: Interface
    source: Source
    outputs: tuple[str, ...]
    top_k: int | None

    @property
    def schema(self) -> pa.Schema:
        """The columns, named as `/predict` names them."""
        fields = [("row", pa.int64())]
        if self.source.place is not None:
            fields.append((self.source.place, PLACES[self.source.place]))
        if "class" in self.outputs:
            fields += [("class", pa.string()), ("probability", pa.float64())]
        if "probabilities" in self.outputs:
            fields.append(("probabilities", NUMBERS) if self.top_k is None else ("top", RANKED))
        if "noisy_probabilities" in self.outputs:
            fields.append(("noisy_probabilities", NUMBERS))
        if self.source.labelled:
            fields.append(("audit", AUDIT))
        fields.append(("error", pa.string()))
        top = min(self.top_k or 0, len(self.model.classes))
        return pa.schema(fields, metadata={CLASSES: orjson.dumps(self.model.classes), TOP: str(top)})

    def table(self, piece: Piece, probs: Probabilities, first: int) -> pa.Table:
        """The rows of a piece, which begin with row `first`; one that is at fault has an error and nothing else."""
        faults = (
            dict.fromkeys(np.flatnonzero(~np.isfinite(probs).all(axis=1)).tolist(), TOO_LARGE) | piece.faults
        )
        bad = np.zeros(len(probs), dtype=np.bool_)
        bad[list(faults)] = True
        probs = np.where(bad[:, None], 0.0, probs)
        made = {
            "row": pa.array(np.arange(first, first + len(probs))),
            "error": pa.array([faults.get(row) for row in range(len(probs))], pa.string()),
        }
        if self.source.place is not None:
            made[self.source.place] = pa.array(piece.places, PLACES[self.source.place])
        made |= self._answers(probs, bad)
        if self.source.labelled:
            made["audit"] = self._audit(piece, probs, bad)
        schema = self.schema
        return pa.table([made[name] for name in schema.names], schema=schema)

    def _answers(self, probs: Probabilities, bad: npt.NDArray[np.bool_]) -> dict[str, Any]:
        best, top = verdicts.best(probs)
        made = {"class": self._names(best, bad), "probability": pa.array(top, mask=bad)}
        if "probabilities" in self.outputs:
            if self.top_k is None:
                made["probabilities"] = _lists(pa.array(probs.ravel()), bad)
            else:
                order = verdicts.ranked(probs, self.top_k)
                numbers = np.take_along_axis(probs, order, axis=1)
                both = [self._names(order.ravel()), pa.array(numbers.ravel())]
                made["top"] = _lists(pa.StructArray.from_arrays(both, ["class", "probability"]), bad)
        if "noisy_probabilities" in self.outputs:
            made["noisy_probabilities"] = _lists(pa.array(self.model.noisy_posterior(probs).ravel()), bad)
        return made

    def _audit(self, piece: Piece, probs: Probabilities, bad: npt.NDArray[np.bool_]) -> Any:
        """Of labels that the model knows; it has no opinion on others."""
        given = np.full(len(probs), -1) if piece.given is None else piece.given
        unknown = bad | (given < 0)
        judged = np.where(unknown, 0, given)
        found = verdicts.audit(self.model, probs, judged, corrected=self.source.corrected)
        columns = [
            pa.array(piece.labels, pa.string()),
            pa.array(found.wrong),
            self._names(found.likeliest),
            pa.array(found.probability),
        ]
        names = [AUDIT.field(place).name for place in range(AUDIT.num_fields)]
        return pa.StructArray.from_arrays(columns, names, mask=pa.array(unknown))

    def _names(self, places: verdicts.Places, bad: npt.NDArray[np.bool_] | None = None) -> Any:
        return pa.array(np.array(self.model.classes, dtype=object)[places], pa.string(), mask=bad)


def _lists(flat: Any, bad: npt.NDArray[np.bool_]) -> Any:
    """Equally long lists out of one array, null where a row is bad."""
    offsets = np.linspace(0, len(flat), len(bad) + 1).round().astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), flat, mask=pa.array(bad))
