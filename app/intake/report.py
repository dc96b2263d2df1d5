"""What a user is told about a dataset that was read."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt, PositiveInt

from app.intake.options import Format
from app.intake.refusal import Code
from c2s.reading import unused

SHOWN = 1000  # refused rows that are listed


class Part(BaseModel):
    """A frozen value of the report."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Class(Part):
    """A class and how many rows carry its label."""

    name: str
    rows: PositiveInt
    gold: NonNegativeInt = 0  # those of them whose true label is known


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


class Corrections(Part):
    """Of a dataset made from another: the labels that people decided, and that a threshold changed."""

    reviewed: NonNegativeInt  # in this review or one before it, or by a gold label
    by_threshold: NonNegativeInt
    gold: bool  # whether what people decided is kept as gold labels


ColumnKind = Literal["number", "date", "category", "text"]


class Reason(Part):
    """Why a column is left out, and how to keep it."""

    code: unused.Code
    detail: str  # of the column: "holds no value"
    keep: str | None  # null: nothing can be learnt from it


class Columns(Part):
    """Which columns the rows are made of, and which were left out."""

    used: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    kinds: dict[str, ColumnKind] = {}  # of those used
    reasons: dict[str, Reason] = {}  # of those dropped; reports of before they were told have none


class Image(Part):
    """The size of all pictures, and whether some were brought to it."""

    height: PositiveInt
    width: PositiveInt
    channels: PositiveInt
    resized: bool = False


class SampleRow(Part):
    """A row as the file has it: its values as text, null where there is none."""

    id: str
    label: str
    values: tuple[str | None, ...]


class Sample(Part):
    """The first rows of a table or of texts, long cells cut."""

    columns: tuple[str, ...]
    left_out: NonNegativeInt = 0  # columns beyond those
    rows: tuple[SampleRow, ...]


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
    corrections: Corrections | None = None  # of a dataset made from another one
    columns: Columns | None = None
    image: Image | None = None
    missing: dict[str, PositiveInt] = {}  # values per column: empty, not finite, or beyond float32
    notes: tuple[str, ...] = ()  # what looks like a slip
    sample: Sample | None = None  # reports of before there were samples have none
    sha256: str
    seconds: NonNegativeFloat
