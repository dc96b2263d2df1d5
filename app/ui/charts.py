"""All drawing: matrices, curves and counts as SVG without scripts or styles of its own.

Colours are classes (`heat-right`, `heat-wrong`, `line-0`, ...) that a style sheet fills in, so that one picture suits
light and dark pages. Every function takes plain numbers and names and returns text that is safe inside HTML.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

Matrix = Sequence[Sequence[float]]
Ends = Sequence[Sequence[Sequence[float]]]  # [low, high] for every entry
NUMBERED, NAMED = 12, 30  # classes up to which cells hold numbers, and up to which every class is named
FAINT = 0.005  # of a large matrix: below, a cell is left to the background
LONGEST = 14  # letters of a name on an axis
SIDE, MARGIN, HEAD = 480, 110, 96
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 560, 240, 52, 28, 10
LEGEND = 3  # entries in a row


@dataclass(frozen=True)
class Line:
    """A curve: what it is, and its points from left to right."""

    name: str
    points: Sequence[tuple[float, float]]


def short(name: str) -> str:
    """A name that fits an axis."""
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def heat_map(
    matrix: Matrix, classes: Sequence[str], interval: Ends | None = None, *, sides: tuple[str, str]
) -> Markup:
    """A transition matrix; `sides` says what its rows and columns are."""
    count = len(classes)
    cell = max(4, min(44, SIDE // count))
    span = cell * count
    shown = [
        _cell(matrix, interval, classes, (row, column), cell, sides)
        for row in range(count)
        for column in range(count)
        if count <= NAMED or row == column or matrix[row][column] >= FAINT
    ]
    label = f"{sides[0]} classes down, {sides[1]} labels across: {count} by {count}"
    return Markup(
        '<svg class="heat" role="img" tabindex="0" aria-label="{label}" viewBox="0 0 {width} {height}"'
        ' width="{width}" height="{height}"><text x="{x}" y="14" class="side">{across} →</text>'
        '<text x="4" y="{y}" class="side">{down} ↓</text>{names}<g transform="translate({x} {top})">'
        '<rect class="heat-ground" width="{span}" height="{span}"/>{cells}</g></svg>'
    ).format(
        label=label,
        width=MARGIN + span + 8,
        height=HEAD + span + 8,
        x=MARGIN,
        y=HEAD - 8,
        top=HEAD,
        across=sides[1],
        down=sides[0],
        span=span,
        names=_names(classes, cell),
        cells=Markup().join(shown),
    )


def _names(classes: Sequence[str], cell: int) -> Markup:
    """The classes along both sides; of many, every tenth."""
    step = 1 if len(classes) <= NAMED else 10
    down = [
        Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
            MARGIN - 6, HEAD + (place + 0.5) * cell + 4, short(classes[place])
        )
        for place in range(0, len(classes), step)
    ]
    across = [
        Markup('<text transform="translate({} {}) rotate(-45)">{}</text>').format(
            MARGIN + (place + 0.5) * cell + 4, HEAD - 6, short(classes[place])
        )
        for place in range(0, len(classes), step)
    ]
    return Markup().join([*down, *across])


def _cell(
    matrix: Matrix,
    interval: Ends | None,
    classes: Sequence[str],
    place: tuple[int, int],
    cell: int,
    sides: tuple[str, str],
) -> Markup:
    row, column = place
    value = matrix[row][column]
    said = f"{sides[0]} {classes[row]}, {sides[1]} {classes[column]}: {100 * value:.1f} %"
    if interval is not None:
        low, high = interval[row][column]
        said += f" (95 % interval {100 * low:.1f} to {100 * high:.1f} %)"
    kind = "heat-right" if row == column else "heat-wrong"
    drawn = Markup(
        '<g data-row="{}" data-column="{}"><title>{}</title>'
        '<rect class="{}" x="{}" y="{}" width="{}" height="{}" fill-opacity="{:.3f}"/>'
    ).format(row, column, said, kind, column * cell, row * cell, cell, cell, 0.85 * max(value, 0.0) ** 0.6)
    if len(classes) <= NUMBERED and value >= FAINT:
        middle = Markup('<text x="{}" y="{}" text-anchor="middle">{:.0f}</text>')
        drawn += middle.format((column + 0.5) * cell, (row + 0.5) * cell + 4, 100 * value)
    return drawn + Markup("</g>")


def curves(lines: Sequence[Line], label: str, *, across: str = "epoch") -> Markup:
    """Curves over one axis, with a legend that tells the last value of each."""
    points = [point for line in lines for point in line.points]
    if not points:
        return Markup("")
    xs, ys = [x for x, _ in points], [y for _, y in points]
    box = (min(xs), max(max(xs), min(xs) + 1), min(ys), max(max(ys), min(ys) + 1e-6))
    drawn = [_line(line, number, box) for number, line in enumerate(lines)]
    told = [(number, line) for number, line in enumerate(lines) if line.points]
    legend = [_entry(place, number, line) for place, (number, line) in enumerate(told)]
    return Markup(
        '<svg class="curves" role="img" aria-label="{label}" viewBox="0 0 {w} {h}">{axes}{drawn}{legend}</svg>'
    ).format(
        label=f"{label}: " + ", ".join(f"{one.name} {one.points[-1][1]:.3f}" for one in lines if one.points),
        w=WIDTH,
        h=HEIGHT + 18 * -(-len(told) // LEGEND) + 4,
        axes=_axes(box, across),
        drawn=Markup().join(drawn),
        legend=Markup().join(legend),
    )


def _entry(place: int, number: int, line: Line) -> Markup:
    """A line of the legend, below the picture so that no curve crosses it."""
    x, y = LEFT + place % LEGEND * 170, HEIGHT + 14 + 18 * (place // LEGEND)
    return Markup('<path class="line line-{}" d="M{} {}h22"/><text x="{}" y="{}">{} {:.3f}</text>').format(
        number % 4, x, y - 4, x + 28, y, short(line.name), line.points[-1][1]
    )


def _at(point: tuple[float, float], box: tuple[float, float, float, float]) -> tuple[float, float]:
    left, right, low, high = box
    x = LEFT + (point[0] - left) / (right - left) * (WIDTH - LEFT - 8)
    return x, HEIGHT - BOTTOM - (point[1] - low) / (high - low) * (HEIGHT - BOTTOM - TOP)


def _line(line: Line, number: int, box: tuple[float, float, float, float]) -> Markup:
    places = [_at(point, box) for point in line.points]
    kind = f"line-{number % 4}"
    if len(places) == 1:
        return Markup('<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="3"/>').format(kind, *places[0])
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return Markup('<polyline class="line {}" points="{}"/>').format(kind, path)


def _axes(box: tuple[float, float, float, float], across: str) -> Markup:
    left, right, low, high = box
    marks = []
    for value in (low, (low + high) / 2, high):
        _, y = _at((left, value), box)
        marks.append(
            Markup(
                '<path class="axis" d="M{} {y:.1f}H{}"/><text x="{}" y="{:.1f}" text-anchor="end">{:.3g}</text>'
            ).format(LEFT, WIDTH - 8, LEFT - 6, y + 4, value, y=y)
        )
    for value, anchor in ((left, "start"), (right, "end")):
        x, _ = _at((value, low), box)
        mark = Markup('<text x="{:.1f}" y="{}" text-anchor="{}">{} {:.0f}</text>')
        marks.append(mark.format(x, HEIGHT - 8, anchor, across, value))
    return Markup().join(marks)


def bars(counts: Sequence[tuple[str, float]], label: str) -> Markup:
    """Counts of classes: named bars, or of many classes thin columns."""
    most = max((count for _, count in counts), default=1) or 1
    if len(counts) > NAMED:
        step = WIDTH / len(counts)
        drawn = [
            Markup(
                '<rect class="bar" x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}"><title>{}: {:g}</title></rect>'
            ).format(place * step, 120 - 110 * count / most, step * 0.8, 110 * count / most, name, count)
            for place, (name, count) in enumerate(counts)
        ]
        height = 120
    else:
        drawn = [_bar(place, name, count, most) for place, (name, count) in enumerate(counts)]
        height = 22 * len(counts) + 4
    return Markup('<svg class="bars" role="img" aria-label="{}" viewBox="0 0 {} {}">{}</svg>').format(
        f"{label}: {len(counts)} classes, {sum(count for _, count in counts):g} in all",
        WIDTH,
        height,
        Markup().join(drawn),
    )


def _bar(place: int, name: str, count: float, most: float) -> Markup:
    y, width = 22 * place + 2, 380 * count / most
    return Markup(
        '<text x="{}" y="{}" text-anchor="end">{}<title>{}</title></text>'
        '<rect class="bar" x="{}" y="{}" width="{:.1f}" height="16"/><text x="{:.1f}" y="{}">{:,g}</text>'
    ).format(
        MARGIN - 6, y + 13, short(name), escape(name), MARGIN, y, width, MARGIN + width + 6, y + 13, count
    )
