"""One picture as pixels: PNG and JPEG only, sized before it is unpacked, never larger than a limit."""

from __future__ import annotations

import contextlib
import functools
import io
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from c2s import errors

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG")
PIXELS = 24_000_000  # a camera's; a file of half a megabyte may claim a hundred times as many
GREY = ("1", "L", "LA", "La", "I", "I;16", "I;16B")  # Pillow's names of what has no colours


class TooLarge(errors.InvalidDataset):
    """A picture of more pixels than are ever unpacked."""


def decode(blob: bytes, height: int, width: int, channels: int) -> npt.NDArray[np.uint8]:
    """The picture in this size, grey (1 channel) or in colours (3), as bytes of shape (height, width, channels)."""
    if channels not in (1, 3):
        raise errors.InvalidDataset(f"pictures have 1 or 3 channels, not {channels}")
    with _opened(blob) as image:
        image.draft(None, (width, height))  # a JPEG is unpacked at a fraction of its size, not below this
        image.load()
        plain = _plain(image, "L" if channels == 1 else "RGB")
        if plain.size != (width, height):
            plain = plain.resize((width, height), resample=2)  # bilinear, smoothed where it shrinks
        return np.array(plain, dtype=np.uint8).reshape(height, width, channels)


def measure(blob: bytes) -> tuple[int, int, int]:
    """Height, width and channels as the picture's header has them; the pixels are not read."""
    with _opened(blob) as image:
        width, height = image.size
        return height, width, 1 if image.mode in GREY else 3


def _plain(image: Image, mode: str) -> Image:
    """Eight bits a pixel and channel."""
    if image.mode.startswith("I"):  # 16 bits: Pillow would cut them off instead of scaling
        import PIL.Image

        wide: npt.NDArray[Any] = np.asarray(image).astype(np.int64)
        image = PIL.Image.fromarray(np.clip(wide // 256, 0, 255).astype(np.uint8))
    if image.mode in ("P", "PA"):  # a palette with transparency knows its colours only by way of RGBA
        image = image.convert("RGBA")
    return image if image.mode == mode else image.convert(mode)


@functools.cache
def _warn_loudly() -> None:
    """Pillow's warning is an error, for good: a filter set and reset around each picture races among threads."""
    import PIL.Image

    warnings.simplefilter("error", PIL.Image.DecompressionBombWarning)


@contextlib.contextmanager
def _opened(blob: bytes) -> Iterator[Image]:
    import PIL.Image

    _warn_loudly()
    try:
        with PIL.Image.open(io.BytesIO(blob), formats=FORMATS) as image:
            if image.width * image.height > PIXELS:
                raise TooLarge(f"the picture has {image.width} x {image.height} pixels, over {PIXELS}")
            yield image
    except (errors.C2SError, MemoryError):
        raise
    except (PIL.Image.DecompressionBombError, PIL.Image.DecompressionBombWarning) as exc:
        raise TooLarge(f"the picture has over {PIXELS} pixels") from exc
    except (
        Exception
    ) as exc:  # a damaged picture: OSError, SyntaxError, ValueError, struct.error, zlib.error, ...
        reason = "no PNG or JPEG" if isinstance(exc, PIL.UnidentifiedImageError) else "damaged or cut off"
        raise errors.InvalidDataset(f"the picture cannot be read: it is {reason}") from exc
