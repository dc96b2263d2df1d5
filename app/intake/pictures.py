"""Zip archives of pictures: a folder for each class, or a file of labels."""

import tempfile
import zipfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from app.intake import archive, refusal, report, sniff, tabular
from app.intake import options as chosen
from app.intake.raw import Raw, names
from c2s import errors, files, formats
from c2s import pictures as pixels

SUFFIXES = (".png", ".jpg", ".jpeg")
TABLES = (".csv", ".tsv")
FILES = ("file", "filename", "file_name", "image", "path", "name")  # what the column of files is called
LITTER = ("__MACOSX/", ".DS_Store", "Thumbs.db", "desktop.ini")
LARGEST = 64 * 2**20  # bytes of one packed picture
SMALLEST, USUAL, LARGE = 4, 32, 64  # sides


@dataclass(frozen=True)
class Picture:
    """A file of the archive and the label that its folder or the labels file gives it."""

    entry: zipfile.ZipInfo
    label: str


def read(path: Path, options: chosen.Options, limits: chosen.Limits) -> Raw:
    """All pictures in one size; those that cannot be read are left out and named."""
    if options.kind not in ("auto", "image"):
        raise refusal.refuse("bad_option", "the archive holds pictures", {"pointer": "/kind"})
    if options.gold is not None:
        raise refusal.refuse("bad_option", "gold labels are read from tables and NPZ", {"pointer": "/gold"})
    with archive.opened(path, limits) as (opened, entries):
        sniff.refuse_foreign(opened)
        found = [entry for entry in entries if not _litter(entry.filename)]
        if not any(entry.filename.lower().endswith(SUFFIXES) for entry in found):
            raise refusal.refuse("unknown_format", f"the archive holds no PNG or JPEG; {sniff.KNOWN}")
        faults: list[refusal.Reason] = []
        tables = [entry for entry in found if entry.filename.lower().endswith(TABLES)]
        if len(tables) == 1:
            label, rows = _labelled(opened, tables[0], found, faults=faults, options=options, limits=limits)
        elif options.label is not None:
            detail = "the archive holds no labels file: leave the label out, folders are the labels"
            raise refusal.refuse("no_label_column", detail, {"pointer": "/label"})
        else:
            label, rows = None, _foldered(found, faults)
        if len(rows) > limits.rows:
            raise refusal.refuse("too_many_rows", f"a dataset has at most {limits.rows} rows")
        return _decoded(opened, rows, faults, label=label, options=options, limits=limits)


def is_picture(name: str) -> bool:
    """Whether an entry is named like a picture."""
    return name.lower().endswith(SUFFIXES) and not _litter(name)


def _litter(name: str) -> bool:
    return name.startswith(LITTER[0]) or PurePosixPath(name).name.startswith((".", *LITTER[1:]))


def _foldered(found: list[zipfile.ZipInfo], faults: list[refusal.Reason]) -> list[Picture]:
    """Each picture by the folder that it lies in."""
    rows = []
    for entry in found:
        folder = PurePosixPath(entry.filename.replace("\\", "/")).parent.name
        if folder:
            rows.append(Picture(entry, folder))
        else:
            detail = "the picture lies in no folder, which would be its label"
            faults.append(refusal.reason("missing_label", detail, _at(entry)))
    return rows


def _labelled(
    opened: zipfile.ZipFile,
    table: zipfile.ZipInfo,
    found: list[zipfile.ZipInfo],
    *,
    faults: list[refusal.Reason],
    options: chosen.Options,
    limits: chosen.Limits,
) -> tuple[str, list[Picture]]:
    """Each row of the labels file that names a picture."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "labels.csv"
        try:
            copy.write_bytes(archive.blob(opened, table, limits.memory_bytes // 8))
        except errors.InvalidDataset as exc:
            raise refusal.refuse("bad_archive", f"the labels file {exc}", _at(table)) from exc
        label, column, rows = _table(copy, table, faults, options)
    listed = zip(rows[column].to_pylist(), rows[label].to_pylist(), strict=True)
    return label, _matched(list(listed), table, found, faults)


def _table(
    copy: Path, table: zipfile.ZipInfo, faults: list[refusal.Reason], options: chosen.Options
) -> tuple[str, str, Any]:
    """The label column, the file column and the rows of the labels file."""
    sniff.check_text(copy)
    head = tabular.header(copy)
    label = names(options, head)
    column = next((name for name in head if name.lower() in FILES and name != label), None)
    if column is None:
        detail = "the labels file needs a column 'file' beside the labels"
        raise refusal.refuse("bad_header", detail, _at(table))
    wrong: list[formats.Width] = []
    with tabular.unreadable(copy):
        rows = formats.comma_separated(copy, [label, column], wrong)
    faults += [
        refusal.reason("wrong_width", f"row {one.row} of the labels file has {one.got} columns", _at(table))
        for one in wrong
    ]
    return label, column, rows


def _matched(
    listed: list[tuple[str | None, str | None]],
    table: zipfile.ZipInfo,
    found: list[zipfile.ZipInfo],
    faults: list[refusal.Reason],
) -> list[Picture]:
    """The pictures by whole name, by name beside the labels file, or by bare name if only one has it."""
    whole = {entry.filename: entry for entry in found if entry is not table}
    bare: dict[str, list[zipfile.ZipInfo]] = defaultdict(list)
    for one in whole.values():
        bare[PurePosixPath(one.filename).name].append(one)
    beside = str(PurePosixPath(table.filename).parent / "x")[:-1].removeprefix("./")
    rows, used = [], set[str]()
    for name, label in listed:
        same = bare.get(name or "", [])
        entry: zipfile.ZipInfo | None = (
            whole.get(name or "") or whole.get(f"{beside}{name}") or (same[0] if len(same) == 1 else None)
        )
        if entry is None:
            where: refusal.Place = {"entry": archive.shown(name or "")}
            faults.append(
                refusal.reason("missing_file", "the labels file names no picture of the archive", where)
            )
            continue
        used.add(entry.filename)
        if label is None:
            faults.append(refusal.reason("missing_label", "the picture has no label", _at(entry)))
        else:
            rows.append(Picture(entry, label))
    for name in whole.keys() - used:
        faults.append(refusal.reason("missing_label", "the labels file does not name it", _at(whole[name])))
    return rows


def _decoded(
    opened: zipfile.ZipFile,
    rows: list[Picture],
    faults: list[refusal.Reason],
    *,
    label: str | None,
    options: chosen.Options,
    limits: chosen.Limits,
) -> Raw:
    import pyarrow as pa

    sizes = [_measured(opened, row, faults) for row in rows]
    kept = [(row, size) for row, size in zip(rows, sizes, strict=True) if size is not None]
    if not kept:
        raise refusal.Refused(
            [refusal.reason("too_many_refused", "none of the pictures can be used"), *faults[:20]]
        )
    image = _size([size for _, size in kept], options)
    x = np.zeros((len(kept), image.height, image.width, image.channels), dtype=np.uint8)
    good = np.ones(len(kept), dtype=np.bool_)
    for number, (row, _) in enumerate(kept):
        try:
            blob = archive.blob(opened, row.entry, LARGEST)
            x[number] = pixels.decode(blob, image.height, image.width, image.channels)
        except errors.InvalidDataset as exc:
            good[number] = False
            faults.append(_fault(row.entry, exc))
    entries = [row.entry.filename for row, fine in zip((row for row, _ in kept), good, strict=True) if fine]
    given = [row.label for (row, _), fine in zip(kept, good, strict=True) if fine]
    return Raw(
        "zip",
        x if good.all() else x[good],
        files.label_column(pa.array(given, pa.string()), label or "folder"),
        label,
        ids=pa.chunked_array([entries]) if len(set(entries)) == len(entries) else None,
        untyped=True,
        places=lambda numbers: [{"entry": archive.shown(entries[number])} for number in numbers],
        faults=faults,
        image=image,
    )


def _measured(
    opened: zipfile.ZipFile, row: Picture, faults: list[refusal.Reason]
) -> tuple[int, int, int] | None:
    try:
        if row.entry.file_size > LARGEST:
            raise pixels.TooLarge(f"the file is larger than {LARGEST} bytes")
        return pixels.measure(archive.blob(opened, row.entry, LARGEST))
    except errors.InvalidDataset as exc:
        faults.append(_fault(row.entry, exc))
        return None


def _size(sizes: list[tuple[int, int, int]], options: chosen.Options) -> report.Image:
    """The size of most use: the one that was asked for, the common one, or a square near the middle."""
    channels = max(channels for _, _, channels in sizes)
    height, width = sizes[0][:2]
    common = all(size[:2] == (height, width) for size in sizes)
    if options.image_size is not None:
        height = width = options.image_size
    elif not common or max(height, width) > LARGE or min(height, width) < SMALLEST:
        middle = float(np.median([max(size[:2]) for size in sizes]))
        height = width = int(min(LARGE, max(USUAL, middle)))
    resized = any(size[:2] != (height, width) for size in sizes)
    return report.Image(height=height, width=width, channels=channels, resized=resized)


def _fault(entry: zipfile.ZipInfo, exc: errors.InvalidDataset) -> refusal.Reason:
    code: refusal.Code = "image_too_large" if isinstance(exc, pixels.TooLarge) else "bad_image"
    return refusal.reason(code, str(exc), _at(entry))


def _at(entry: zipfile.ZipInfo) -> refusal.Place:
    return {"entry": archive.shown(entry.filename)}
