"""What a user is told about a dataset that was read."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt, PositiveInt

from app.intake.options import Format
from app.intake.refusal import Code

SHOWN = 1000  # refused rows that are listed


class Part(BaseModel):
    """A frozen value of the report."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Class(Part):
    """A class and how many rows carry its label."""

    name: str
    rows: PositiveInt


class Groups(Part):
    """Rows whose inputs are equal once encoded: how many, in how many groups."""

    rows: NonNegativeInt = 0
    groups: NonNegativeInt = 0


class RefusedRow(Part):
    """A row that was left out; lines count from 1 as in an editor, rows from 0 as row ids do."""

    line: int | None = None
    entry: str | None = None
    row: int | None = None
    code: Code
    detail: str


class RefusedRows(Part):
    """The rows that were left out, the first thousand by name."""

    count: NonNegativeInt = 0
    rows: tuple[RefusedRow, ...] = ()


ColumnKind = Literal["number", "date", "category", "text"]


class Columns(Part):
    """Which columns the rows are made of, and which were left out."""

    used: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    kinds: dict[str, ColumnKind] = {}  # of those used


class Image(Part):
    """The size of all pictures, and whether some were brought to it."""

    height: PositiveInt
    width: PositiveInt
    channels: PositiveInt
    resized: bool = False


class Report(Part):
    """What was found in the file."""

    format: Format
    kind: str
    rows: PositiveInt
    label: str | None  # the column or array of the labels; None: the folders of an archive
    classes: tuple[Class, ...]
    imbalance: NonNegativeFloat  # rows of the largest class to those of the smallest
    duplicates: Groups
    conflicting: Groups  # equal inputs under different labels
    refused: RefusedRows
    columns: Columns | None = None
    image: Image | None = None
    missing: dict[str, PositiveInt] = {}  # values per column: empty, not finite, or beyond float32
    notes: tuple[str, ...] = ()  # what looks like a slip
    sha256: str
    seconds: NonNegativeFloat
