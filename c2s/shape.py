"""The shape of a dataset as a net sees it, and the net that suits it; loads without torch, so that the API may ask."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from c2s import config, errors

Kind = Literal["image", "vectors", "tabular", "text"]
SMALLEST_SIDE = 4  # of an image, so that something is left after two poolings
# Of few rows with many features a net learns the labels by heart: on LabelMe (1,000 rows of 512) dropout is worth two
# points, on 1,200 digits of 64 and on clusters in 32 dimensions it costs as much.
ROWS_A_FEATURE, DROPOUT = 4, 0.5


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


def auto(shape: Shape, rows: int) -> config.NetConfig:
    """The net that suits the data: the paper's for data like the paper's."""
    if shape.kind == "text":
        return config.TextNet()
    if shape.image is None:
        few = shape.width is not None and rows < ROWS_A_FEATURE * shape.width
        return config.Mlp(dropout=DROPOUT if few else 0.0)
    height, width, channels = shape.image
    if channels == 1 and max(height, width) <= 32 and min(height, width) >= SMALLEST_SIDE:
        return config.LeNet()  # MNIST
    if max(height, width) <= 64:
        return config.ResNet56()  # CIFAR; a shake-shake net costs almost three times as much a step
    return config.ResNet50()  # Clothing1M
