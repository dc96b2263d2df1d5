"""NPZ archives: array headers are judged before their bytes are read, and pickles are never read."""

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.intake import archive, refusal
from app.intake import options as chosen
from app.intake.raw import Raw, names
from c2s.reading import columns, formats, labels

HEADER = 2**16  # bytes that the header of an array may take
SUFFIX = ".npy"
CHUNK = 2**22
Array = npt.NDArray[Any]


def read(path: Path, options: chosen.Options, limits: chosen.Limits) -> Raw:
    """Rows `x` and labels of an NPZ archive; rows that are not finite are left out."""
    with archive.opened(path, limits) as (opened, entries):
        there = {entry.filename.removesuffix(SUFFIX): entry for entry in entries}
        for entry in entries:
            judge(opened, entry, limits)
        label = names(options.model_copy(update={"text": None, "drop": ()}), list(there))
        source = _source(options, list(there), label)
        wanted = [source, label, *(name for name in (options.id, options.gold) if name)]
        found = {name: _array(opened, there[name]) for name in wanted}
    shapes = {array.shape[:1] for array in found.values()}
    if len(shapes) > 1 or () in shapes:
        shown = ", ".join(f"{name!r} {array.shape}" for name, array in found.items())
        raise refusal.refuse("bad_array", f"the arrays differ in rows: {shown}")
    if found[label].ndim != 1:
        raise refusal.refuse("bad_array", f"{label!r} must be one label a row", {"entry": label})
    return _raw(found, source, label, options=options, limits=limits)


def _raw(
    found: dict[str, Array], source: str, label: str, *, options: chosen.Options, limits: chosen.Limits
) -> Raw:
    if len(found[label]) == 0:
        raise refusal.refuse("empty", "the arrays have no rows")
    if len(found[label]) > limits.rows:
        raise refusal.refuse("too_many_rows", f"a dataset has at most {limits.rows} rows")
    rows = _shaped(found.pop(source), options)
    ids = columns.arrow(found[options.id], options.id) if options.id else None
    gold = columns.arrow(found[options.gold], options.gold) if options.gold else None
    raw = Raw("npz", rows, labels.raw(found[label], label), label, ids=ids, gold=gold)
    if rows.dtype.kind == "f":
        raw.leave_out(formats.endless(rows), *formats.ENDLESS)
    return raw


def judge(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, limits: chosen.Limits) -> None:
    """Refuse what is no plain array, by its header alone."""
    where: refusal.Place = {"entry": archive.shown(entry.filename)}
    if not entry.filename.endswith(SUFFIX):
        raise refusal.refuse("bad_archive", "an NPZ archive holds arrays and nothing else", where)
    try:
        with opened.open(entry) as file:
            shape, _, dtype = header(file)
            begin = file.tell()
    except MemoryError:
        raise
    except Exception as exc:  # zlib.error, BadZipFile, SyntaxError, ValueError, TypeError, EOFError, ...
        raise refusal.refuse("bad_archive", "the header of an array cannot be read", where) from exc
    if dtype.hasobject:
        raise refusal.refuse(
            "pickled", "the array holds Python objects (pickle), which are never read", where
        )
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or size != entry.file_size - begin:
        raise refusal.refuse("bad_archive", "the array is not as long as its header says", where)
    if size > limits.memory_bytes:
        raise MemoryError


def header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type of an array, from where it begins."""
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:  # 3.0 is for names of fields, which no array of ours has
        raise ValueError("unknown version")
    return read(file, max_header_size=HEADER)


def _array(opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    """The array, its bytes counted as they come."""
    try:
        with opened.open(entry) as file:
            shape, fortran, dtype = header(file)
            flat: Array = np.empty(math.prod(shape), dtype)
            space = flat.view(np.uint8) if flat.nbytes else np.empty(0, np.uint8)
            place = 0
            while place < len(space):
                chunk = file.read(min(CHUNK, len(space) - place))
                if not chunk:
                    raise EOFError
                space[place : place + len(chunk)] = np.frombuffer(chunk, np.uint8)
                place += len(chunk)
            if file.read(1):
                raise EOFError
    except MemoryError:
        raise
    except Exception as exc:  # the same as above, and what damaged bytes make of a checksum
        where: refusal.Place = {"entry": archive.shown(entry.filename)}
        raise refusal.refuse("bad_archive", "the array is damaged: it cannot be unpacked", where) from exc
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


def _source(options: chosen.Options, there: list[str], label: str) -> str:
    """The array of the rows: `x`, the named texts, or the only one left."""
    left = [name for name in there if name not in {label, options.id, options.gold, *options.drop}]
    if options.text is not None:
        if options.text not in there:
            detail = f"there is no array {options.text!r}"
            raise refusal.refuse("bad_option", detail, {"parameter": "text"})
        return options.text
    if "x" in left or len(left) == 1:
        return "x" if "x" in left else left[0]
    raise refusal.refuse("bad_array", "the rows must be an array named 'x'")


def _shaped(rows: Array, options: chosen.Options) -> Array:
    """The rows as vectors, images or texts, whichever was asked for."""
    kinds = {1: ["text"], 2: ["vectors"], 3: ["image", "vectors"], 4: ["image", "vectors"]}
    fits = kinds.get(rows.ndim, [])
    if (rows.dtype.kind == "U") != (rows.ndim == 1) or rows.dtype.kind not in "buifU" or 0 in rows.shape:
        fits = []
    if not fits:
        detail = f"rows must be vectors, images or texts, not {rows.dtype} of shape {rows.shape}"
        raise refusal.refuse("bad_array", detail)
    if options.kind not in ("auto", *fits):
        detail = f"an array of shape {rows.shape} holds {fits[0]}, not {options.kind}"
        raise refusal.refuse("bad_option", detail, {"parameter": "kind"})
    if options.kind == "vectors" and rows.ndim > 2:
        return rows.reshape(len(rows), -1)
    if rows.ndim == 4 and rows.shape[1] in (1, 3) and rows.shape[3] > 4:
        detail = f"images are (rows, height, width, channels), not channels first as in {rows.shape}"
        raise refusal.refuse("bad_array", detail)
    return rows
