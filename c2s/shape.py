"""The shape of a dataset as a net sees it; loads without torch, so that the API may ask."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from c2s import errors

Kind = Literal["image", "vectors", "tabular", "text"]
SMALLEST_SIDE = 4  # of an image, so that something is left after two poolings


@dataclass(frozen=True)
class Shape:
    """What one row looks like and how many classes there are."""

    kind: Kind
    classes: int
    image: tuple[int, int, int] | None = None  # height, width, channels
    width: int | None = None  # of a vector, or the size of a text's vocabulary
    vectors: int | None = None  # how long the user's word vectors are; None: the net learns its own

    def __post_init__(self) -> None:
        sizes = self.image if self.kind == "image" else (self.width,)
        if sizes is None or any(size is None or size < 1 for size in sizes):
            needed = "a height, a width and channels" if self.kind == "image" else "a width"
            raise errors.InvalidDataset(f"{self.kind} data needs {needed} of at least 1")
        if self.image is not None:
            height, width, channels = self.image  # a list where it comes from JSON
            object.__setattr__(self, "image", (height, width, channels))

    def plain(self) -> dict[str, Any]:
        """The shape as plain data: `Shape(**plain)` is the shape again."""
        return asdict(self)
