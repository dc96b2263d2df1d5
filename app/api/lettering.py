"""Which font has the letters of a text: Pillow's own, which knows plain Latin alone, one of the machine's, or none."""

import functools
import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import PIL.features
import PIL.ImageFont

FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "/System/Library/Fonts", "/Library/Fonts")
SUFFIXES = (".ttf", ".otf", ".ttc")
OTHERS = ("bold", "italic", "oblique", "mono", "condensed", "light", "thin", "black", "medium")
LOOKED_AT, MOST = 5000, 64  # files of folders, fonts that are tried: a text of no font costs so many looks
NOBODY = "\U0010fffe"  # no character at all: what a font draws for it stands for letters that it lacks
TRIAL = 20  # pixels

Font = PIL.ImageFont.FreeTypeFont | PIL.ImageFont.ImageFont


def lettered(text: str, instead: str | None, size: float) -> tuple[str, Font]:
    """The text and a font that has its letters; else its letters without accents, else what may stand for it."""
    bare = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    if _shaped(text):
        for said in (text, bare):
            for path in _candidates():
                if _has(path, said):
                    return said, _font(path, size)
    return instead or text, _font(None, size)


def _shaped(text: str) -> bool:
    """Whether letters can be joined and turned as their script wants it."""
    simple = all(
        unicodedata.bidirectional(sign) not in ("R", "AL", "AN") and unicodedata.category(sign) != "Mc"
        for sign in text
    )
    return simple or all(PIL.features.check(part) for part in ("raqm", "fribidi"))


@functools.cache
def _candidates() -> tuple[str | None, ...]:
    """Pillow's font, then plain ones of the machine, sans serif first; only its own folders are looked into."""
    found = [path for path in _files() if not any(word in Path(path).stem.lower() for word in OTHERS)]
    found.sort(key=lambda path: ("sans" not in Path(path).name.lower(), Path(path).name))
    return (None, *found[:MOST])


def _files() -> Iterator[str]:
    looked = 0
    for folder in FOLDERS:
        for place, _, names in os.walk(folder):
            for name in names:
                looked += 1
                if looked > LOOKED_AT:
                    return
                if name.lower().endswith(SUFFIXES):
                    yield str(Path(place, name))


def _has(path: str | None, text: str) -> bool:
    return all(sign.isspace() or _has_sign(path, sign) for sign in text)


@functools.lru_cache(2**16)
def _has_sign(path: str | None, sign: str) -> bool:
    try:
        return _drawn(path, sign) != _drawn(path, NOBODY)
    except OSError:  # a file that is no font, or a damaged one
        return False


def _drawn(path: str | None, sign: str) -> tuple[tuple[int, int], bytes]:
    mask = _font(path, TRIAL).getmask(sign)
    return mask.size, bytes(mask)


@functools.lru_cache(256)
def _font(path: str | None, size: float) -> Font:
    return PIL.ImageFont.load_default(size) if path is None else PIL.ImageFont.truetype(path, size)
