"""Which pictures of an archive are rows, under which label: by folder, or by a labels file; and the true ones known.

A labels file that has a column of true labels and none of labels leaves the labels to the folders.
"""

import dataclasses
import tempfile
import zipfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from app.intake import archive, refusal, sniff, tabular
from app.intake import options as chosen
from app.intake.raw import names
from c2s import errors
from c2s.reading import formats

TABLES = (".csv", ".tsv")
FILES = ("file", "filename", "file_name", "image", "path", "name")  # what the column of files is called


@dataclass(frozen=True)
class Picture:
    """A file of the archive and the label that its folder or the labels file gives it."""

    entry: zipfile.ZipInfo
    label: str
    gold: str | None = None  # its true label, if somebody looked


@dataclass(frozen=True)
class Listed:
    """What a line of the labels file says."""

    file: str | None
    label: str | None
    gold: str | None


def rows(
    opened: zipfile.ZipFile,
    found: list[zipfile.ZipInfo],
    *,
    faults: list[refusal.Reason],
    options: chosen.Options,
    limits: chosen.Limits,
) -> tuple[str | None, list[Picture]]:
    """The label column, None where folders are the labels, and every picture that has a label."""
    tables = [entry for entry in found if entry.filename.lower().endswith(TABLES)]
    if len(tables) == 1:
        return _labelled(opened, tables[0], found, faults=faults, options=options, limits=limits)
    for parameter, said in (("label", options.label), ("gold", options.gold)):
        if said is not None:
            detail = f"the archive holds no labels file: leave the {parameter} out, folders are the labels"
            code: refusal.Code = "no_label_column" if parameter == "label" else "bad_option"
            raise refusal.refuse(code, detail, {"parameter": parameter})
    return None, _foldered(found, faults)


def at(entry: zipfile.ZipInfo) -> refusal.Place:
    """Where a reason lies."""
    return {"entry": archive.shown(entry.filename)}


def _foldered(found: list[zipfile.ZipInfo], faults: list[refusal.Reason]) -> list[Picture]:
    """Each picture by the folder that it lies in."""
    rows = []
    for entry in found:
        folder = PurePosixPath(entry.filename.replace("\\", "/")).parent.name
        if folder:
            rows.append(Picture(entry, folder))
        else:
            detail = "the picture lies in no folder, which would be its label"
            faults.append(refusal.reason("missing_label", detail, at(entry)))
    return rows


def _labelled(
    opened: zipfile.ZipFile,
    table: zipfile.ZipInfo,
    found: list[zipfile.ZipInfo],
    *,
    faults: list[refusal.Reason],
    options: chosen.Options,
    limits: chosen.Limits,
) -> tuple[str | None, list[Picture]]:
    """Each row of the labels file that names a picture, or each picture in a folder with what the file knows of it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "labels.csv"
        try:
            copy.write_bytes(archive.blob(opened, table, limits.memory_bytes // 8))
        except errors.InvalidDataset as exc:
            raise refusal.refuse("bad_archive", f"the labels file {exc}", at(table)) from exc
        label, listed = _table(copy, table, faults, options)
    others = [entry for entry in found if entry is not table]
    matched = _matched(listed, table, others, faults)
    if label is None:
        true = {entry.filename: line.gold for entry, line in matched}
        known = _foldered(others, faults)
        return None, [dataclasses.replace(one, gold=true.get(one.entry.filename)) for one in known]
    named = {entry.filename for entry, _ in matched}
    for entry in others:
        if entry.filename not in named:
            faults.append(refusal.reason("missing_label", "the labels file does not name it", at(entry)))
    rows = [Picture(entry, line.label, line.gold) for entry, line in matched if line.label is not None]
    for entry, line in matched:
        if line.label is None:
            faults.append(refusal.reason("missing_label", "the picture has no label", at(entry)))
    return label, rows


def _table(
    copy: Path, table: zipfile.ZipInfo, faults: list[refusal.Reason], options: chosen.Options
) -> tuple[str | None, list[Listed]]:
    """The label column, if the labels file has one, and its lines."""
    sniff.check_text(copy)
    head = tabular.header(copy)
    label = _label(options, head)
    column = next(
        (name for name in head if name.lower() in FILES and name not in (label, options.gold)), None
    )
    if column is None:
        detail = "the labels file needs a column 'file' beside the labels"
        raise refusal.refuse("bad_header", detail, at(table))
    wrong: list[formats.Width] = []
    with tabular.unreadable(copy):
        strings = [name for name in (label, column, options.gold) if name is not None]
        rows = formats.comma_separated(copy, strings, wrong)
    faults += [
        refusal.reason("wrong_width", f"row {one.row} of the labels file has {one.got} columns", at(table))
        for one in wrong
    ]
    columns = [_values(rows, name) for name in (column, label, options.gold)]
    return label, [Listed(*line) for line in zip(*columns, strict=True)]


def _label(options: chosen.Options, head: list[str]) -> str | None:
    """The column of labels; None where the file tells true ones alone."""
    rest = {name for name in head if name.lower() not in FILES}
    return None if options.label is None and rest == {options.gold} else names(options, head)


def _values(rows: Any, column: str | None) -> list[str | None]:
    values: list[str | None] = [None] * len(rows) if column is None else rows[column].to_pylist()
    return values


def _matched(
    listed: list[Listed],
    table: zipfile.ZipInfo,
    found: list[zipfile.ZipInfo],
    faults: list[refusal.Reason],
) -> list[tuple[zipfile.ZipInfo, Listed]]:
    """The pictures by whole name, by name beside the labels file, or by bare name if only one has it."""
    whole = {entry.filename: entry for entry in found}
    bare: dict[str, list[zipfile.ZipInfo]] = defaultdict(list)
    for one in whole.values():
        bare[PurePosixPath(one.filename).name].append(one)
    beside = str(PurePosixPath(table.filename).parent / "x")[:-1].removeprefix("./")
    matched = []
    for line in listed:
        name, same = line.file or "", bare.get(line.file or "", [])
        entry: zipfile.ZipInfo | None = (
            whole.get(name) or whole.get(f"{beside}{name}") or (same[0] if len(same) == 1 else None)
        )
        if entry is not None:
            matched.append((entry, line))
            continue
        where: refusal.Place = {"entry": archive.shown(name)}
        detail = "the labels file names no picture of the archive"
        faults.append(refusal.reason("missing_file", detail, where))
    return matched
