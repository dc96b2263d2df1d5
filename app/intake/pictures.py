"""Zip archives of pictures: a folder for each class, or a file of labels."""

import zipfile
from pathlib import Path, PurePosixPath

import numpy as np

from app.intake import archive, listing, refusal, report, sniff
from app.intake import options as chosen
from app.intake.raw import Raw
from c2s import errors
from c2s.reading import labels
from c2s.reading import pictures as pixels

SUFFIXES = (".png", ".jpg", ".jpeg")
LITTER = ("__MACOSX/", ".DS_Store", "Thumbs.db", "desktop.ini")
LARGEST = 64 * 2**20  # bytes of one packed picture
SMALLEST, USUAL, LARGE = 4, 32, 64  # sides


def read(path: Path, options: chosen.Options, limits: chosen.Limits) -> Raw:
    """All pictures in one size; those that cannot be read are left out and named."""
    if options.kind not in ("auto", "image"):
        raise refusal.refuse("bad_option", "the archive holds pictures", {"parameter": "kind"})
    with archive.opened(path, limits) as (opened, entries):
        sniff.refuse_foreign(opened)
        found = [entry for entry in entries if not _litter(entry.filename)]
        if not any(entry.filename.lower().endswith(SUFFIXES) for entry in found):
            raise refusal.refuse("unknown_format", f"the archive holds no PNG or JPEG; {sniff.KNOWN}")
        faults: list[refusal.Reason] = []
        label, rows = listing.rows(opened, found, faults=faults, options=options, limits=limits)
        if len(rows) > limits.rows:
            raise refusal.refuse("too_many_rows", f"a dataset has at most {limits.rows} rows")
        return _decoded(opened, rows, faults, label=label, options=options, limits=limits)


def is_picture(name: str) -> bool:
    """Whether an entry is named like a picture."""
    return name.lower().endswith(SUFFIXES) and not _litter(name)


def _litter(name: str) -> bool:
    return name.startswith(LITTER[0]) or PurePosixPath(name).name.startswith((".", *LITTER[1:]))


def _decoded(
    opened: zipfile.ZipFile,
    rows: list[listing.Picture],
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
    taken = [row for (row, _), fine in zip(kept, good, strict=True) if fine]
    entries = [row.entry.filename for row in taken]
    return Raw(
        "zip",
        x if good.all() else x[good],
        labels.raw(pa.array([row.label for row in taken], pa.string()), label or "folder"),
        label,
        ids=pa.chunked_array([entries]) if len(set(entries)) == len(entries) else None,
        gold=None
        if options.gold is None
        else pa.chunked_array([pa.array([r.gold for r in taken], pa.string())]),
        untyped=True,
        places=lambda numbers: [{"entry": archive.shown(entries[number])} for number in numbers],
        faults=faults,
        image=image,
    )


def _measured(
    opened: zipfile.ZipFile, row: listing.Picture, faults: list[refusal.Reason]
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
    return refusal.reason(code, str(exc), listing.at(entry))
