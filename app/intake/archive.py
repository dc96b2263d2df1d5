"""Zip archives that are checked before a byte is unpacked, and counted while they are."""

import contextlib
import re
import stat
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from app.intake import options as chosen
from app.intake import refusal
from c2s import errors

TAIL = 2**16 + 22 + 20 + 56  # the longest comment and the end records
FLOOR = 8 * 2**20  # bytes: what unpacks to less is no bomb, whatever its ratio
LONGEST_NAME, DEEPEST = 1024, 32
CHUNK = 2**20
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar", ".npz", ".jar", ".whl")
MAGIC = (b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!")
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
DRIVE = re.compile(r"[A-Za-z]:")


@contextlib.contextmanager
def opened(path: Path, limits: chosen.Limits) -> Iterator[tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]]:
    """The archive and its files, if nothing is wrong with its directory."""
    _count(path, limits)
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError, OSError, EOFError) as exc:
        raise refusal.refuse("bad_archive", "the archive is damaged: its directory cannot be read") from exc
    with archive:
        everything = archive.infolist()
        if len(everything) > limits.entries:
            raise _too_many(limits)
        _sizes(path, everything, limits)
        with path.open("rb") as file:
            _apart(archive, everything, file)
        names = set[str]()
        for info in everything:
            _entry(info, names)
        yield archive, [info for info in everything if not info.is_dir()]


def blob(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """The bytes of one file; what is damaged or larger than it says is `InvalidDataset`."""
    found = bytearray()
    try:
        with archive.open(info) as file:
            while chunk := file.read(CHUNK):
                found += chunk
                if len(found) > min(most, info.file_size):
                    raise errors.InvalidDataset(f"unpacks to more than {min(most, info.file_size)} bytes")
    except (errors.C2SError, MemoryError):
        raise
    except (
        Exception
    ) as exc:  # zlib.error, BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError, ...
        raise errors.InvalidDataset("is damaged: it cannot be unpacked") from exc
    if len(found) != info.file_size:
        raise errors.InvalidDataset("is cut off")
    if found.startswith(MAGIC):
        raise _nested(info.filename)
    return bytes(found)


def _count(path: Path, limits: chosen.Limits) -> None:
    """Look at the number of entries before the directory is read: a million of them fill the memory."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        tail = file.read(TAIL)
    count = size = 0
    end = tail.rfind(b"PK\x05\x06")
    if end >= 0 and len(tail) >= end + 22:
        count, size = struct.unpack_from("<HL", tail, end + 10)
        wide = tail.rfind(b"PK\x06\x06", 0, end)
        if wide >= 0 and len(tail) >= wide + 56:
            count, size = struct.unpack_from("<QQ", tail, wide + 32)
    if count > limits.entries or size > limits.entries * LONGEST_NAME:  # the number may be a lie
        raise _too_many(limits)


def _too_many(limits: chosen.Limits) -> refusal.Refused:
    return refusal.refuse("archive_bomb", f"the archive holds more than {limits.entries} files")


def _sizes(path: Path, everything: list[zipfile.ZipInfo], limits: chosen.Limits) -> None:
    total = sum(info.file_size for info in everything)
    if total > limits.bytes:
        raise refusal.refuse("archive_bomb", f"the archive unpacks to {total} bytes, over {limits.bytes}")
    for info in everything:
        packed = max(1, info.compress_size)
        if info.file_size > FLOOR and info.file_size / packed > limits.ratio:
            detail = f"an entry unpacks to over {limits.ratio} times its size"
            raise refusal.refuse("archive_bomb", detail, {"entry": shown(info.filename)})
    if total > FLOOR and total / path.stat().st_size > limits.ratio:
        raise refusal.refuse("archive_bomb", f"the archive unpacks to over {limits.ratio} times its size")


def _apart(archive: zipfile.ZipFile, everything: list[zipfile.ZipInfo], file: BinaryIO) -> None:
    """No two entries share bytes, and none reaches into the directory.

    How long an entry is, is said by its own header too: a long extra field can hide the entries behind it.
    """
    end = archive.start_dir
    for info in sorted(everything, key=lambda one: one.header_offset, reverse=True):
        if info.header_offset < 0 or info.header_offset + _length(file, info) > end:
            raise refusal.refuse("bad_archive", "entries overlap", {"entry": shown(info.filename)})
        end = info.header_offset


def _length(file: BinaryIO, info: zipfile.ZipInfo) -> int:
    """The bytes of an entry with its header; one that is cut off reads as short, and fails when it is unpacked."""
    file.seek(info.header_offset + 26)
    name, extra = struct.unpack("<HH", file.read(4).ljust(4, b"\0"))
    return 30 + int(name) + int(extra) + info.compress_size


def _entry(info: zipfile.ZipInfo, names: set[str]) -> None:
    name = info.filename
    where: refusal.Place = {"entry": shown(name)}
    parts = name.replace("\\", "/").split("/")
    if info.orig_filename.split("\0")[0] != info.orig_filename:
        raise refusal.refuse("path_escape", "an entry's name holds NUL", where)
    if parts[0] == "" or DRIVE.match(name) or ".." in parts:
        raise refusal.refuse("path_escape", "an entry's name leaves the archive's folder", where)
    if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise refusal.refuse("path_escape", "an entry is a link or a device, not a file", where)
    if name in names:
        raise refusal.refuse("bad_archive", "two entries have the same name", where)
    if len(name) > LONGEST_NAME or len(parts) > DEEPEST:
        raise refusal.refuse("bad_archive", "an entry's name is too long, or too many folders deep", where)
    if info.flag_bits & 0x1 or info.compress_type not in METHODS:
        raise refusal.refuse("bad_archive", "an entry is encrypted, or packed by an unusual method", where)
    if name.lower().endswith(ARCHIVES):
        raise _nested(name)
    names.add(name)


def _nested(name: str) -> refusal.Refused:
    return refusal.refuse(
        "bad_archive", "an archive inside the archive is never read", {"entry": shown(name)}
    )


def shown(name: str) -> str:
    """A name as it may be repeated: printable and short."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in name[:256])
