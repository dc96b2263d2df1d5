"""What a net must know about the rows it is built for, and which net suits them; loads without torch."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from c2s import config

Kind = Literal["image", "vectors", "tabular", "text"]
SMALL = 32  # pixels a side, up to which a grey image needs no deep net
MEDIUM = 64


@dataclass(frozen=True)
class Shape:
    """The kind and size of the rows, and how many classes there are."""

    kind: Kind
    classes: int
    image: tuple[int, int, int] | None = None  # height, width, channels
    width: int | None = None  # of a vector, or the number of terms of a text

    def __post_init__(self) -> None:
        if self.image is not None:  # JSON brings a list
            height, width, channels = self.image
            object.__setattr__(self, "image", (height, width, channels))

    def plain(self) -> dict[str, Any]:
        """Plain data, for a card; `Shape(**plain)` is the way back."""
        return asdict(self) | {"image": list(self.image) if self.image else None}


def auto(shape: Shape) -> config.NetConfig:
    """The net that suits the rows: by kind, and by size for images."""
    if shape.image is None:
        return config.TextNet() if shape.kind == "text" else config.Mlp()
    height, width, channels = shape.image
    if max(height, width) <= SMALL and channels == 1:
        return config.LeNet()
    return config.ResNet56() if max(height, width) <= MEDIUM else config.ResNet50()
