"""What single rows hold, as a person can look at it: a thumbnail, a text, the cells of a table, or numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from app.api import datasets
from app.core.storage import Store
from app.intake import excerpts
from app.ui import previews
from c2s import slices

SIDE = 160  # pixels of a thumbnail
NUMBERS = 12  # of a vector


@dataclass(frozen=True)
class Content:
    """Of one of these the rows of a dataset have something."""

    picture: str = ""  # data:
    text: str = ""
    cells: tuple[tuple[str, str | None], ...] = ()
    numbers: str = ""


def of(store: Store, dataset: datasets.DatasetOut | None, rows: Sequence[int]) -> dict[int, Content]:
    """By row number; empty where the dataset is gone, or in a bucket and too large to fetch for a look."""
    if dataset is None or not rows or (store.remote and dataset.bytes > previews.MOST_BYTES):
        return {}
    with previews.read():
        return _of(store.open_dataset(dataset.id), dataset.kind, rows)


def _of(folder: Path, kind: str | None, rows: Sequence[int]) -> dict[int, Content]:
    match kind:
        case "image":
            return {row: Content(picture=_thumbnail(pixels)) for row, pixels in _inputs(folder, rows)}
        case "vectors" if not (folder / excerpts.FILE).is_file():
            return {row: Content(numbers=_told(numbers)) for row, numbers in _inputs(folder, rows)}
        case _:
            return {row: _read(cells) for row, cells in excerpts.read(folder / excerpts.FILE, rows).items()}


def _inputs(folder: Path, rows: Sequence[int]) -> list[tuple[int, npt.NDArray[Any]]]:
    array = slices.Array(folder / "x.npy")
    return [(row, array.read(row, row + 1)[0]) for row in rows]


def _thumbnail(pixels: npt.NDArray[Any]) -> str:
    """A picture that is not larger than a person needs."""
    if max(pixels.shape[:2]) <= SIDE:
        return previews.picture(pixels)
    flat = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    small = Image.fromarray(np.ascontiguousarray(flat))
    small.thumbnail((SIDE, SIDE))
    return previews.picture(np.asarray(small))


def _told(numbers: npt.NDArray[Any]) -> str:
    more = " …" if len(numbers) > NUMBERS else ""
    return "  ".join(f"{number:.3g}" for number in numbers[:NUMBERS].tolist()) + more


def _read(cells: dict[str, str | None]) -> Content:
    if len(cells) == 1:
        return Content(text=next(iter(cells.values())) or "")
    return Content(cells=tuple(cells.items()))
