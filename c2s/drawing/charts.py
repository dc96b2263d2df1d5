"""The charts of a noise report, defined once: heat maps, and which classes are taken for which.

Colours go from light to dark, so that they are told apart without hue and in print. From 2 to some hundred classes
everything stays readable: cells shrink, numbers and then names give way.
"""

import dataclasses
import math
import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from c2s.drawing.drawings import BLACK, TITLE, Box, Colour, Drawing, Line, Mark, Shape, Text, apart

Matrix = npt.NDArray[np.float64]
SIDE, LEAST_CELL, MOST_CELL = 640, 7, 84  # pixels of a heat map, and of a cell
NAME, SIGN = 18, 6.4  # signs of a name that are shown, pixels of one
LIGHT, DARK = (255, 255, 255), (8, 48, 107)
SIDES = Mark("side")
EDGES = 60  # of the pair graph: the strongest
CROWD, BESIDE_POLE = 24, 80  # classes from which names near the top and the bottom give way, in pixels
LINE, OUTWARDS = 12, 8  # pixels between two names, and of a name near a pole away from its neighbours' places
APART = 28  # pixels that two arcs of one pair are pulled from each other
FRAME = (190, 190, 190)


def heat_map(
    matrix: Matrix,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    sides: tuple[str, str],
    title: str,
    interval: Matrix | None = None,
) -> Drawing:
    """A matrix of probabilities; `sides` say what rows and columns are, `interval` (c, c, 2) is told of its cells."""
    count = len(matrix)
    cell = min(MOST_CELL, max(LEAST_CELL, SIDE // count))
    size = 11.0 if cell >= 14 else 9.0
    step = max(1, math.ceil((size + 2) / cell))  # names that do not fit side by side
    left = 46 + SIGN * max(_columns(_short(name)) for name in rows)
    top = 78 + SIGN * max(_columns(_short(name)) for name in columns)
    across = count * cell
    shapes: list[Shape] = [Text(12, 26, title, 15, mark=TITLE)]
    shapes.append(Box(left, top, across, across, LIGHT, Mark("heat-ground")))
    for i, j in np.ndindex(matrix.shape):
        x, y, value = left + j * cell, top + i * cell, float(matrix[i, j])
        said = f"{sides[0]} {apart(rows[i])}, {sides[1]} {apart(columns[j])}: {_told(value, interval, i, j)}"
        mark = Mark("heat-right" if i == j else "heat-wrong", _strength(value), said, (i, j))
        shapes.append(Box(x, y, cell - (cell > 12), cell - (cell > 12), _shade(value), mark))
        if cell >= 30:
            ink = LIGHT if value > 0.3 else BLACK
            shapes.append(Text(x + cell / 2, y + cell / 2 + 4, _number(value), 11.0, "middle", colour=ink))
    for k in range(0, count, step):
        beside, above = (_short(names[k]) for names in (rows, columns))
        number = _numbered(k)
        shapes.append(Text(left - 6, top + (k + 0.5) * cell + 4, beside, size, "end", instead=number))
        x = left + (k + 0.5) * cell + 4
        shapes.append(Text(x, top - 6, above, size, turned=True, instead=number))
    shapes.append(Text(left + across / 2, 48, f"{sides[1]} label", 12, "middle", mark=SIDES))
    shapes.append(Text(22, top + across / 2, f"{sides[0]} label", 12, "middle", turned=True, mark=SIDES))
    shapes += _scale(left + across + 22, top, min(across, 200))
    return Drawing(int(left + across + 90), int(max(top + across, top + 200) + 24), title, tuple(shapes))


def _told(value: float, interval: Matrix | None, i: int, j: int) -> str:
    said = f"{100 * value:.1f} %"
    if interval is None:
        return said
    low, high = interval[i][j]
    return f"{said} (95 % interval {100 * low:.1f} to {100 * high:.1f} %)"


def _scale(x: float, top: float, height: float) -> list[Shape]:
    """What the shades mean; a frame shows that they end in the ground of an empty cell."""
    steps = 40
    frame: Shape = Box(x - 1, top - 1, 16, height + 2, FRAME, Mark("heat-ground"))
    bars: list[Shape] = [
        Box(
            x,
            top + k * height / steps,
            14,
            height / steps + 0.5,
            _shade(1 - k / (steps - 1)),
            Mark("heat-right", _strength(1 - k / (steps - 1))),
        )
        for k in range(steps)
    ]
    ticks = [
        Text(x + 20, top + (1 - value) * height + 4, f"{_number(value)} %", 10.0) for value in (0.0, 0.5, 1.0)
    ]
    return [frame, *bars, *ticks]


def similarity(T_s: Matrix) -> Drawing:
    """The 2 x 2 matrix of similarity labels."""
    names = ("dissimilar", "similar")
    return heat_map(
        T_s, names, names, sides=("true", "given"), title="Similarity labels: P(given | true) in %"
    )


def pair_graph(matrix: Matrix, classes: Sequence[str], *, title: str) -> Drawing:
    """Which true class is given which label: arcs on a circle, thick and dark where often; thin end at the label."""
    count = len(classes)
    radius = 220.0 if count <= 40 else 290.0
    middle = (radius + 40 + SIGN * max(_columns(_short(name)) for name in classes), radius + 80)
    places = [
        (middle[0] + radius * math.cos(angle), middle[1] + radius * math.sin(angle))
        for angle in (2 * math.pi * k / count - math.pi / 2 for k in range(count))
    ]
    off = matrix * (1 - np.eye(count))
    order = [divmod(int(flat), count) for flat in np.argsort(-off, axis=None, kind="stable")[:EDGES]]
    found = [(i, j, float(off[i, j])) for i, j in order if off[i, j] > 0.01]
    shapes: list[Shape] = [Text(12, 26, title, 15, mark=TITLE)]
    drawn = {(i, j) for i, j, _ in found}
    weight = np.zeros(count)
    for i, j, value in reversed(found):  # the strongest on top
        shapes += _arc(places[i], places[j], middle, value, aside=APART if (j, i) in drawn else 0)
        weight[[i, j]] += value
    shapes += [Box(x - 3, y - 3, 6, 6, BLACK) for x, y in places]
    shapes += _names(places, middle, classes, weight)
    bottom = middle[1] + radius + 50
    shapes.append(Text(12, bottom, "from the true class (thick) to the label it is given (thin)", 11.0))
    return Drawing(int(2 * middle[0]), int(bottom + 14), title, tuple(shapes))


def _names(
    places: Sequence[tuple[float, float]],
    middle: tuple[float, float],
    classes: Sequence[str],
    weight: npt.NDArray[np.float64],
) -> list[Shape]:
    """Names beside their places; of two that would touch, that of the class with more of the arcs."""
    found: dict[int, Text] = {}
    for k in np.argsort(-weight, kind="stable").tolist():
        (x, y), name = places[k], _short(classes[k])
        text = dataclasses.replace(_beside(x, y, middle, name), instead=_numbered(k))
        if len(classes) > CROWD and text.anchor != "middle" and abs(x - middle[0]) < BESIDE_POLE:
            if weight[k] == 0:
                continue  # it would run over its neighbours, which stand at the same height
            text = dataclasses.replace(text, y=text.y + (OUTWARDS if y > middle[1] else -OUTWARDS))
        if not any(_touch(text, other) for other in found.values()):
            found[k] = text
    return [found[k] for k in sorted(found)]


def _touch(one: Text, other: Text) -> bool:
    """Whether two names are on one line, and on one side or over each other."""
    (left, right), (from_, to) = _extent(one), _extent(other)
    return abs(one.y - other.y) < LINE and (one.anchor == other.anchor or (left < to and from_ < right))


def _extent(text: Text) -> tuple[float, float]:
    wide = SIGN * _columns(text.text)
    left = text.x - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor]
    return left, left + wide


def _arc(
    start: tuple[float, float],
    end: tuple[float, float],
    pull: tuple[float, float],
    value: float,
    *,
    aside: float = 0,
) -> list[Shape]:
    """A bow towards the middle in pieces that grow thinner, `aside` to the left of its way: not on the way back."""
    across, down = (b - a for a, b in zip(start, end, strict=True))
    step = aside / (math.hypot(across, down) or 1)
    left = (down * step, -across * step)
    control = tuple(
        (a + b) / 2 * 0.45 + c * 0.55 + d for a, b, c, d in zip(start, end, pull, left, strict=True)
    )
    steps = np.linspace(0, 1, 13)
    points = [
        tuple(
            (1 - t) ** 2 * a + 2 * t * (1 - t) * c + t**2 * b
            for a, b, c in zip(start, end, control, strict=True)
        )
        for t in steps
    ]
    colour = _shade(0.25 + 0.75 * min(1.0, value * 2))
    thick = 1.0 + 9.0 * min(0.6, value)
    return [Line((points[k], points[k + 1]), colour, max(0.6, thick * (1 - 0.8 * k / 12))) for k in range(12)]


def _beside(x: float, y: float, middle: tuple[float, float], name: str) -> Text:
    gap = x - middle[0]
    if abs(gap) < 4:
        return Text(x, y + (20 if y > middle[1] else -10), name, 11.0, "middle")
    return Text(x + (9 if gap > 0 else -9), y + 4, name, 11.0, "start" if gap > 0 else "end")


def _strength(value: float) -> float:
    """Of a colour on a page; small values are lifted, as the noise is in them."""
    return 0.85 * float(max(0.0, min(1.0, value)) ** 0.6)


def _shade(value: float) -> Colour:
    """Light for 0, dark for 1; small values are lifted, as the noise is in them."""
    part = max(0.0, min(1.0, value)) ** 0.6
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(LIGHT, DARK, strict=True))
    return red, green, blue


def _number(value: float) -> str:
    return f"{100 * value:.0f}"


def _short(name: str) -> str:
    if _columns(name) <= NAME:
        return name
    kept = next(end for end in range(len(name), -1, -1) if _columns(name[:end]) < NAME)
    return name[:kept] + "\u2026"


def _columns(name: str) -> int:
    """How wide a name is, in plain letters: those of Chinese, Japanese and Korean take two."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in name[: NAME + 1])


def _numbered(place: int) -> str:
    """A class by its place among the classes, from 1: what a picture shows where it lacks the letters."""
    return f"#{place + 1}"
