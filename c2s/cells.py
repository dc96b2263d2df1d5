"""Cells of a CSV that stay what they are: one that a spreadsheet would compute has an apostrophe before it.

It begins with = + - @, a tab or a return, and is no plain number.
"""

import re

FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"  # in the syntax that Python and Arrow share
_formula, _number = re.compile(FORMULA), re.compile(NUMBER.replace("$", r"\Z"))


def harmless(value: object) -> object:
    """The cell as it may be written; only text is ever changed."""
    if not isinstance(value, str) or not _formula.match(value) or _number.match(value):
        return value
    return f"'{value}"


def plain(text: str) -> str:
    """What a cell was before it was made harmless."""
    return text[1:] if text.startswith("'") and harmless(text[1:]) == text else text
