"""A matrix in the forms that it can be taken away in: CSV, NPZ and pictures."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, assert_never, get_args

import numpy as np
import numpy.typing as npt

from app.api import acceptance, painting, problems, strict
from c2s import cells
from c2s.drawing import charts, drawings
from c2s.matrix import transition

Form = Literal["json", "csv", "npz", "png", "svg"]
Picture = Literal["png", "svg"]
Curves = Literal["json", "png", "svg"]
Chart = Literal["matrix", "similarity", "pairs"]
TYPES: dict[Form, str] = {
    "json": strict.JSON,
    "csv": "text/csv; charset=utf-8",
    "npz": "application/x-npz",
    "png": "image/png",
    "svg": "image/svg+xml",
}
FORMS: tuple[Form, ...] = get_args(Form)
FILES = [kind.partition(";")[0] for form, kind in TYPES.items() if form != "json"]
Matrix = npt.NDArray[np.float64]
F = TypeVar("F", bound=Form)


@dataclass(frozen=True, eq=False)
class Table:
    """A matrix with its classes, and which way round it is."""

    classes: tuple[str, ...]
    orientation: str
    matrix: Matrix  # (c, c)
    interval: Matrix | None  # (c, c, 2)
    priors: Matrix  # (c,)  clean
    estimator: str

    @property
    def sides(self) -> tuple[str, str]:
        """What the rows and what the columns are."""
        return ("true", "given") if self.orientation == "rows_clean_cols_noisy" else ("given", "true")


def wanted(accept: str, among: Sequence[F]) -> F:
    """The form that a client likes best."""
    known = {TYPES[form].partition(";")[0]: form for form in among}
    if (form := acceptance.best(accept, known)) is None:
        raise problems.NotAcceptable(f"the answer is one of {', '.join(known)}")
    return form


def render(table: Table, form: Form, chart: Chart = "matrix") -> bytes:
    """The bytes of a form; a picture is of the matrix, of T_s, or of the classes that are taken for each other."""
    match form:
        case "csv":
            return _csv(table).encode()
        case "npz":
            return _npz(table)
        case "png" | "svg":
            return picture(_drawn(table, chart), form)
        case "json":
            raise ValueError("JSON holds more than the matrix")
        case _:
            assert_never(form)


def picture(drawing: drawings.Drawing, form: Picture) -> bytes:
    """A drawing in a form."""
    return painting.png(drawing) if form == "png" else drawings.svg(drawing)


def _drawn(table: Table, chart: Chart) -> drawings.Drawing:
    clean = table.matrix if table.sides[0] == "true" else table.matrix.T
    match chart:
        case "matrix":
            title = f"P(given | true) in %, by {table.estimator}"
            return charts.heat_map(table.matrix, table.classes, table.classes, sides=table.sides, title=title)
        case "similarity":
            return charts.similarity(transition.similarity_from_class(clean, table.priors))
        case "pairs":
            return charts.pair_graph(clean, table.classes, title="Which class is taken for which")
        case _:
            assert_never(chart)


def _csv(table: Table) -> str:
    names = [cells.harmless(name) for name in table.classes]
    lines = [[name, *row] for name, row in zip(names, table.matrix.tolist(), strict=True)]
    text = io.StringIO()
    head = [" \\ ".join(table.sides), *names]
    csv.writer(text, lineterminator="\n").writerows([head, *lines])
    return text.getvalue()


def _npz(table: Table) -> bytes:
    """Arrays without pickles: names are text of fixed width, an interval that is not known is NaN."""
    file = io.BytesIO()
    unknown = np.full((*table.matrix.shape, 2), np.nan)
    np.savez(
        file,
        allow_pickle=False,
        matrix=table.matrix,
        interval=unknown if table.interval is None else table.interval,
        priors=table.priors,
        classes=np.array(table.classes),
        orientation=np.array(table.orientation),
    )
    return file.getvalue()
