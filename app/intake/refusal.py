"""Why a file or a row of it cannot be used: a closed set of codes, each with a sentence and a place."""

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict, get_args

from c2s.reading import leftout

Code = Literal[
    "archive_bomb",  # unpacks to too much
    "bad_archive",  # damaged, encrypted, nested, overlapping or with one name twice
    "bad_array",  # of a shape or type that is neither vectors nor images nor texts
    "bad_column",  # of a type that is neither numbers nor dates nor text
    "bad_encoding",  # text that is not UTF-8, or holds NUL
    "bad_gold",  # a true label that no row is labelled as
    "bad_header",  # two columns of one name, or none
    "bad_ids",  # missing, or not all different
    "bad_image",
    "bad_json",
    "bad_option",  # asks for what the file does not have
    "empty",
    "image_too_large",
    "missing_file",  # a labels file names a picture that is not there
    "missing_label",
    "nested",  # lists or structs where one value is expected
    "no_label_column",
    "not_finite",  # NaN or an infinity in an array
    "nothing_to_learn",  # columns that say nothing, texts without a common word
    "path_escape",  # an archive's name that leaves its folder, or a link
    "pickled",
    "row_too_long",
    "too_few_classes",
    "too_few_rows",
    "too_large",  # unpacked
    "too_many_classes",
    "too_many_columns",
    "too_many_refused",
    "too_many_rows",
    "too_much_memory",
    "too_slow",
    "unknown_format",
    "unreadable",
    "wrong_width",
]
CODES: frozenset[str] = frozenset(get_args(Code))
LONGEST_DETAIL = 400  # characters: a sentence, whatever names the file brings into it


class Place(TypedDict, total=False):
    """Where it is: a line as editors count, a row as ids count (from 0), an archive's entry, a column, or an option."""

    line: int
    row: int
    entry: str
    pointer: str
    parameter: str


class Reason(TypedDict):
    """One thing that is wrong, ready for JSON."""

    code: Code
    detail: str
    line: NotRequired[int]
    row: NotRequired[int]
    entry: NotRequired[str]
    pointer: NotRequired[str]
    parameter: NotRequired[str]


class Refused(Exception):
    """The file cannot be used; `reasons` says why, and where."""

    def __init__(self, reasons: Sequence[Reason]) -> None:
        super().__init__("; ".join(f"{reason['code']}: {reason['detail']}" for reason in reasons[:3]))
        self.reasons = list(reasons)


def reason(code: Code, detail: str, place: Place | None = None) -> Reason:
    """One thing that is wrong."""
    if len(detail) > LONGEST_DETAIL:
        detail = detail[: LONGEST_DETAIL - 3] + "..."
    return {"code": code, "detail": detail, **(place or {})}


def of(one: leftout.LeftOut) -> Reason:
    """What the library says of a row that it left out."""
    place: Place = {"line": one.line} if one.line is not None else {"row": one.row or 0}
    return reason(one.code, one.detail, place)


def refuse(code: Code, detail: str, place: Place | None = None) -> Refused:
    """The refusal of a whole file for one reason."""
    return Refused([reason(code, detail, place)])
