"""Drawings as PNG, painted by Pillow: no browser, nothing from elsewhere."""

import io

import PIL.Image
import PIL.ImageDraw

from app.api import lettering
from c2s.drawing.drawings import Box, Drawing, Line, Text

SCALE = 2  # pixels a unit: sharp on screens of today
ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def png(drawing: Drawing) -> bytes:
    """The same picture as its SVG."""
    image = PIL.Image.new("RGB", (drawing.width * SCALE, drawing.height * SCALE), "white")
    brush = PIL.ImageDraw.Draw(image)
    for shape in drawing.shapes:
        if isinstance(shape, Box):
            x, y = shape.x * SCALE, shape.y * SCALE
            brush.rectangle((x, y, x + shape.width * SCALE - 1, y + shape.height * SCALE - 1), shape.colour)
        elif isinstance(shape, Line):
            points = [(x * SCALE, y * SCALE) for x, y in shape.points]
            brush.line(points, shape.colour, max(1, round(shape.width * SCALE)), joint="curve")
        elif shape.turned:
            _turned(image, shape)
        else:
            place = (shape.x * SCALE, shape.y * SCALE)
            text, font = _lettered(shape)
            brush.text(place, text, shape.colour, font, anchor=ANCHORS[shape.anchor])
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def _turned(image: PIL.Image.Image, shape: Text) -> None:
    """A text that runs upwards from its place, or is centred on it."""
    text, font = _lettered(shape)
    left, top, right, bottom = font.getbbox(text, anchor="ls")
    stamp = PIL.Image.new("L", (int(right - left) + 2, int(bottom - top) + 2), 0)
    PIL.ImageDraw.Draw(stamp).text((-left, -top), text, 255, font, anchor="ls")
    stamp = stamp.rotate(90, expand=True)
    across = {"start": 0, "middle": stamp.height // 2, "end": stamp.height}[shape.anchor]
    x, y = int(shape.x * SCALE + top), int(shape.y * SCALE) - stamp.height + across
    image.paste(PIL.Image.new("RGB", stamp.size, shape.colour), (x, y), stamp)


def _lettered(shape: Text) -> tuple[str, lettering.Font]:
    plain = "".join(sign if sign.isprintable() else "\ufffd" for sign in shape.text)
    return lettering.lettered(plain, shape.instead, shape.size * SCALE)
