"""What a notebook shows: tables, heat maps and bars as HTML; every word of a user's is escaped."""

import html
from collections.abc import Mapping, Sequence

MOST_CLASSES = 40  # a larger matrix is a grid of colours without numbers
MOST_ROWS = 20
MOST_ITEMS, LONGEST = 10, 280  # of a list, and letters of anything else, in a cell
CELL = "padding:2px 6px;text-align:center;"
HEAD = "padding:2px 6px;font-weight:600;"


def text(value: object) -> str:
    """Anything as text that no browser takes for markup."""
    return html.escape(_said(value))


def _said(value: object) -> str:
    """In as many letters as a cell of a table should have."""
    match value:
        case None:
            return ""
        case float():
            return f"{value:.4g}"
        case list() | tuple():
            more = [f"... {len(value) - MOST_ITEMS} more"] if len(value) > MOST_ITEMS else []
            return ", ".join([*map(_said, value[:MOST_ITEMS]), *more])
        case _:
            said = str(value)
            return said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}\u2026"


def facts(title: str, told: Mapping[str, object]) -> str:
    """A thing and what is known of it, a line each."""
    lines = "".join(
        f'<tr><td style="{HEAD}">{text(name)}</td><td style="text-align:left">{text(value)}</td></tr>'
        for name, value in told.items()
        if value is not None
    )
    return f"<table><caption>{text(title)}</caption>{lines}</table>"


def rows(found: Sequence[Mapping[str, object]]) -> str:
    """The first rows of a list."""
    names = list(dict.fromkeys(name for row in found[:MOST_ROWS] for name in row))
    head = "".join(f"<th>{text(name)}</th>" for name in names)
    lines = "".join(
        f"<tr>{''.join(f'<td>{text(row.get(name))}</td>' for name in names)}</tr>"
        for row in found[:MOST_ROWS]
    )
    more = f"<p>{len(found) - MOST_ROWS} more rows</p>" if len(found) > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{more}"


def heat_map(matrix: Sequence[Sequence[float]], classes: Sequence[str], *, caption: str) -> str:
    """A matrix as coloured cells: rows are true classes, columns the labels they were given."""
    numbers = len(classes) <= MOST_CLASSES
    head = "".join(f'<th style="{CELL}">{text(name)}</th>' for name in classes)
    lines = "".join(
        f'<tr><th style="{HEAD}">{text(name)}</th>'
        + "".join(
            _cell(value, f"{name} given as {other}", numbers)
            for other, value in zip(classes, row, strict=True)
        )
        + "</tr>"
        for name, row in zip(classes, matrix, strict=True)
    )
    return (
        f"<table><caption>{text(caption)}</caption>"
        f"<thead><tr><th>true \\ given</th>{head}</tr></thead><tbody>{lines}</tbody></table>"
    )


def _cell(value: float, title: str, numbers: bool) -> str:
    depth = int(255 * (1 - min(1.0, max(0.0, value)) ** 0.5))  # the root lets small confusions show
    ink = "#000" if depth > 110 else "#fff"
    style = f"{CELL}background:rgb({depth},{depth},255);color:{ink}"
    return f'<td style="{style}" title="{text(f"{title}: {value:.4f}")}">{f"{value:.2f}" if numbers else ""}</td>'


def bar(fraction: float, said: str) -> str:
    """A progress bar and what is being done."""
    return f'<progress value="{min(1.0, max(0.0, fraction)):.4f}" max="1"></progress> {text(said)}'
