"""A drawing as plain shapes, and its form as SVG; who has Pillow can paint the same shapes."""

import html
from dataclasses import dataclass
from typing import Literal

Anchor = Literal["start", "middle", "end"]
Colour = tuple[int, int, int]
BLACK: Colour = (25, 25, 25)
FONT = "Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Mark:
    """What a shape is, for a page that colours it by its own style sheet and tells more of it."""

    kind: str  # class of the style sheet
    strength: float = 1.0  # of its colour
    said: str = ""
    place: tuple[int, int] | None = None  # row and column, of a cell


def apart(text: object) -> str:
    """A user's string inside ours, in marks of Unicode: from right to left or not, it moves nothing around it."""
    return f"\N{FIRST STRONG ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}"


TITLE = Mark("title")  # a page has headings of its own


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    colour: Colour
    mark: Mark | None = None


@dataclass(frozen=True)
class Line:
    """Through points, in a colour and a width."""

    points: tuple[tuple[float, float], ...]
    colour: Colour = BLACK
    width: float = 1.0
    mark: Mark | None = None


@dataclass(frozen=True)
class Text:
    """On its base line; turned texts run upwards."""

    x: float
    y: float
    text: str
    size: float = 12.0
    anchor: Anchor = "start"
    turned: bool = False
    colour: Colour = BLACK
    mark: Mark | None = None
    instead: str | None = None  # where no font has its letters


Shape = Box | Line | Text


@dataclass(frozen=True)
class Drawing:
    """Shapes on white, the later over the earlier."""

    width: int
    height: int
    title: str
    shapes: tuple[Shape, ...]


def svg(drawing: Drawing) -> bytes:
    """The drawing as SVG; whatever users named is escaped, and there is no script."""
    size = f'width="{drawing.width}" height="{drawing.height}" viewBox="0 0 {drawing.width} {drawing.height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}">',
        f"<title>{_escaped(drawing.title)}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *map(_element, drawing.shapes),
        "</svg>",
    ]
    return "\n".join(lines).encode()


def _element(shape: Shape) -> str:
    colour = "#{:02x}{:02x}{:02x}".format(*shape.colour)
    if isinstance(shape, Box):
        place = f'x="{shape.x:.2f}" y="{shape.y:.2f}" width="{shape.width:.2f}" height="{shape.height:.2f}"'
        return f'<rect {place} fill="{colour}"/>'
    if isinstance(shape, Line):
        points = " ".join(f"{x:.2f},{y:.2f}" for x, y in shape.points)
        return (
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{shape.width:.2f}"'
            ' stroke-linecap="round" stroke-linejoin="round"/>'
        )
    turn = f' transform="rotate(-90 {shape.x:.2f} {shape.y:.2f})"' if shape.turned else ""
    place = f'x="{shape.x:.2f}" y="{shape.y:.2f}" font-size="{shape.size:g}" text-anchor="{shape.anchor}"'
    return f'<text {place} fill="{colour}"{turn}>{_escaped(shape.text)}</text>'


def _escaped(text: str) -> str:
    """As XML takes it: without control characters, which no escape makes legal."""
    legal = "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
    return html.escape(legal, quote=False)
