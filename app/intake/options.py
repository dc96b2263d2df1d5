"""What a user says about a file, and what the file may cost."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

Format = Literal["csv", "jsonl", "parquet", "npz", "zip"]
LABELS = ("y", "label", "target", "class")  # what a column of labels is called where nobody says so
Name = Annotated[str, Field(min_length=1, max_length=256)]


class Options(BaseModel):
    """How to read the file; all of it can be left to us."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["auto"] | Format = "auto"
    label: Name | None = None  # None: a column or array named y, label, target or class
    text: Name | None = None
    id: Name | None = None
    gold: Name | None = None  # the true class of rows that somebody looked at; empty for the others
    drop: Annotated[tuple[Name, ...], Field(max_length=4096)] = ()
    kind: Literal["auto", "image", "text", "tabular", "vectors"] = "auto"
    image_size: Annotated[int, Field(ge=4, le=512)] | None = None  # the side that pictures are brought to


class Limits(BaseModel):
    """What the process that reads a file may use, and how large a dataset may be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_bytes: PositiveInt = 2 * 2**30  # of address space
    seconds: PositiveFloat = 600.0  # of the clock, and of the processor
    bytes: PositiveInt = 16 * 2**30  # unpacked, and of any file that is written
    rows: PositiveInt = 5_000_000
    columns: PositiveInt = 4096
    classes: PositiveInt = 1000
    entries: PositiveInt = 200_000  # of an archive
    ratio: PositiveInt = 200  # of an archive's unpacked to its packed size
    refused_share: Annotated[float, Field(ge=0, le=1)] = 0.2  # more rows that cannot be used refuse the file
