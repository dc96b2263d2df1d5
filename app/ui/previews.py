"""The first rows of a dataset as a person can look at them: pictures as thumbnails, vectors as numbers."""

import base64
import contextlib
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from app.api import datasets
from app.core import damage
from app.core.storage import Store
from c2s import slices
from c2s.errors import InvalidDataset

PICTURES, VECTORS, WIDTH = 24, 8, 12
MOST_BYTES = 64 * 2**20  # of the uploaded file in a bucket, which would have to be fetched whole


@dataclass(frozen=True)
class Picture:
    """A row that is a picture."""

    number: int
    label: str
    address: str  # data:


@dataclass(frozen=True)
class Vector:
    """A row of numbers, the first of them."""

    number: int
    label: str
    numbers: list[float]


@dataclass(frozen=True)
class Preview:
    """What can be shown of the first rows."""

    pictures: list[Picture]
    vectors: list[Vector]
    left_out: int = 0  # numbers of each vector


def read() -> contextlib.AbstractContextManager[None]:
    """What reading a dataset's rows for a look at them is done under."""
    return damage.told("the rows of the dataset", ValueError, InvalidDataset)


def of(store: Store, dataset: datasets.DatasetOut) -> Preview | None:
    """None: the rows are kept in a form that says nothing to a person, or are too many to fetch."""
    if dataset.kind not in ("image", "vectors") or (store.remote and dataset.bytes > MOST_BYTES):
        return None
    most, names = PICTURES if dataset.kind == "image" else VECTORS, dataset.classes or []
    with read():
        folder = store.open_dataset(dataset.id)
        array = slices.Array(folder / "x.npy")
        count = min(len(array), most)
        rows, places = array.read(0, count), slices.Array(folder / "y.npy").read(0, count).tolist()
    labels = [names[place] for place in places]
    if dataset.kind == "image":
        pairs = enumerate(zip(rows, labels, strict=True))
        return Preview([Picture(place, label, picture(row)) for place, (row, label) in pairs], [])
    numbers: list[list[float]] = rows[:, :WIDTH].tolist()
    told = [Vector(place, label, row) for place, (row, label) in enumerate(zip(numbers, labels, strict=True))]
    return Preview([], told, left_out=max(0, rows.shape[1] - WIDTH))


def picture(pixels: npt.NDArray[Any]) -> str:
    """Pixels as the address of a PNG."""
    flat = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(flat)).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
