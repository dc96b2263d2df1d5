"""Which format a file has, told by its bytes: names and suffixes are the user's and say nothing."""

import codecs
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

from app.intake import options as chosen
from app.intake import refusal

HEAD = 4096
CHUNK = 2**20
NAMED = {  # what is recognised only to say what it is
    b"\x80": "a pickle, which is never read",
    b"\x93NUMPY": "a single array: save it with numpy.savez, with its labels",
    b"\x1f\x8b": "a gzip file: unpack it",
    b"BZh": "a bzip2 file: unpack it",
    b"\xfd7zXZ": "an xz file: unpack it",
    b"7z\xbc\xaf": "a 7-Zip file: pack it as zip",
    b"Rar!": "a RAR file: pack it as zip",
    b"\x89HDF": "an HDF5 file",
    b"ARROW1": "an Arrow file: save it as Parquet",
    b"\x89PNG": "a single picture: pack pictures into a zip, a folder for each class",
    b"\xff\xd8\xff": "a single picture: pack pictures into a zip, a folder for each class",
    b"GIF8": "a single picture: pack pictures into a zip, a folder for each class",
    b"%PDF": "a PDF file",
    b"\x7fELF": "a program",
    b"\xd0\xcf\x11\xe0": "an old office file: save it as CSV",
    b"[": "one JSON list: write one object a line",
}
MARKUP = re.compile(rb"""<(?![^>,;\t\r\n='"]*+>? *[,;\t])""")  # a first column may be called `<id>`
KNOWN = "known are CSV, JSON lines, Parquet, NPZ and zip archives of PNG and JPEG pictures"
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def detect(path: Path, options: chosen.Options, *, one_column: bool = False) -> chosen.Format:
    """The format that the bytes have; one that is not known, or not the one that was said, is refused.

    Rows without labels may have `one_column`, which looks like any text.
    """
    with path.open("rb") as file:
        head = file.read(HEAD)
        file.seek(max(0, path.stat().st_size - 4))
        tail = file.read(4)
    if not head.removeprefix(codecs.BOM_UTF8).strip():
        raise refusal.refuse("empty", "the file is empty")
    wanted, alone = options.format, () if one_column else (options.label, *chosen.LABELS)
    found = _binary(path, head, tail) or _text(head, alone)
    if wanted in ("auto", found):
        return found
    if {wanted, found} <= {"csv", "jsonl"} and wanted != "auto":
        return wanted
    raise refusal.refuse("unknown_format", f"this is {found}, not {wanted}", {"parameter": "format"})


def _binary(path: Path, head: bytes, tail: bytes) -> chosen.Format | None:
    if head.startswith(b"PAR1"):
        if tail != b"PAR1":
            raise refusal.refuse("unreadable", "the Parquet file is cut off, or encrypted")
        return "parquet"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip(path)
    return None


def _zip(path: Path) -> chosen.Format:
    """NPZ or pictures; which, is asked again when the archive has been checked."""
    with path.open("rb") as file:
        head = file.read(30 + 1024)
    if head.startswith(b"PK\x05\x06"):  # the end record, and no entry before it
        raise refusal.refuse("empty", "the archive is empty")
    length = int.from_bytes(head[26:28], "little")
    if len(head) < 30 + min(length, 1024):
        raise refusal.refuse("bad_archive", "the archive is cut off")
    name = head[30 : 30 + length]
    return "npz" if name.endswith(b".npy") and b"/" not in name else "zip"


def _text(head: bytes, labels: Sequence[str | None]) -> chosen.Format:
    """CSV or JSON lines; where there are labels, a column of them alone is nothing to learn from."""
    pairs = head[:16]
    if head.startswith(UTF16) or (len(pairs) > 2 and (not any(pairs[::2]) or not any(pairs[1::2]))):
        detail = "the file is not UTF-8 text; save it in that encoding"
        raise refusal.refuse("bad_encoding", detail, {"line": 1})
    plain = head.removeprefix(codecs.BOM_UTF8).lstrip()
    for sign, name in NAMED.items():
        if plain.startswith(sign):
            raise refusal.refuse("unknown_format", f"this is {name}; {KNOWN}")
    if MARKUP.match(plain):
        raise refusal.refuse("unknown_format", f"this is HTML or XML; {KNOWN}")
    if any(sign < 32 and sign not in b"\t\n\r" for sign in plain[:8]):
        raise refusal.refuse("unknown_format", f"this is no text; {KNOWN}")
    if plain.startswith(b"{"):
        return "jsonl"
    first = plain.splitlines()[0]
    if labels and (len(head) < HEAD or b"\n" in plain) and not any(sign in first for sign in b",;\t"):
        name = first.decode(errors="replace").strip().strip('"')
        if name == labels[0] or name.lower() in labels:
            detail = f"there is no column besides the label {name!r}: nothing could be learnt from the rows"
            raise refusal.refuse("nothing_to_learn", detail, {"line": 1})
        raise refusal.refuse("unknown_format", f"the first line names no columns; {KNOWN}", {"line": 1})
    return "csv"


def check_text(path: Path) -> None:
    """Refuse text that is not UTF-8 or holds NUL, with the line."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    lines = 1
    with path.open("rb") as file:
        while True:
            chunk = file.read(CHUNK)
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as exc:
                lines += chunk.count(b"\n", 0, max(0, exc.start - pending))
                detail = f"line {lines} is not UTF-8; save the file in that encoding"
                raise refusal.refuse("bad_encoding", detail, {"line": lines}) from exc
            if (place := chunk.find(b"\0")) >= 0:
                lines += chunk.count(b"\n", 0, place)
                detail = f"line {lines} holds a NUL byte; text has none"
                raise refusal.refuse("bad_encoding", detail, {"line": lines})
            if not chunk:
                return
            lines += chunk.count(b"\n")


def refuse_foreign(archive: zipfile.ZipFile) -> None:
    """Refuse archives that are something else: models, office files, programs."""
    for name in archive.namelist():
        if name.endswith((".pkl", ".pickle", ".pt", ".pth")):
            raise refusal.refuse(
                "unknown_format", f"the archive holds a pickle; {KNOWN}", {"entry": name[:256]}
            )
        if name == "[Content_Types].xml":
            raise refusal.refuse("unknown_format", f"this is an office file: save it as CSV; {KNOWN}")
