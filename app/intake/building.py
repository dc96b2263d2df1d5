"""From raw rows to the dataset and its report; the same for every format."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from app.intake import classes, duplicates, refusal, report, sampling
from app.intake import options as chosen
from app.intake.raw import Raw
from c2s import data, errors
from c2s.reading import columns, encoding, files, labels, truths, unused, words

if TYPE_CHECKING:
    import pyarrow as pa

LEAST_ROWS = 4  # fewer leave nothing to hold out
EXAMPLES = 20  # refused rows that go with the refusal of the file
NOTES = 10  # of one kind


def build(
    raw: Raw, options: chosen.Options, limits: chosen.Limits, *, started: float
) -> tuple[data.Dataset, report.Report]:
    """The dataset, and what to tell its owner."""
    raw.leave_out(raw.labels.is_null().to_numpy(), *labels.MISSING)
    if options.kind == "vectors" and not isinstance(raw.rows, np.ndarray):
        raw.leave_out(_gaps(raw.rows), "not_finite", "the row has no number in some column")
    y, own = _indexed(raw, limits)
    dataset = _dataset(raw, y, own, options)
    if raw.gold is not None:
        dataset = dataclasses.replace(dataset, gold=truths.numbers(raw.gold.to_pylist(), dataset.classes))
    return dataset, _report(raw, dataset, started)


def _indexed(raw: Raw, limits: chosen.Limits) -> tuple[data.Labels, tuple[data.Label, ...]]:
    """Class numbers and classes, once no row is left whose gold label is no class."""
    name = raw.label or "folder"
    while True:
        _enough(raw, limits)
        _classes(raw, name, limits)
        try:
            y, own = labels.index(raw.labels, name, untyped=raw.untyped)
        except errors.InvalidDataset as exc:
            raise refusal.refuse("bad_column", str(exc), {"parameter": "label"}) from exc
        said = _strange(raw, own)
        if not said:
            return y, own
        bad = np.zeros(len(y), dtype=np.bool_)
        bad[list(said)] = True
        raw.leave_out(bad, "bad_gold", list(said.values()))  # and look again: a class may have gone with them


def _strange(raw: Raw, own: Sequence[data.Label]) -> dict[int, str]:
    """Rows whose gold label is no class, and what is said of each."""
    if raw.gold is None:
        return {}
    try:
        return truths.strange(raw.gold.to_pylist(), [str(one) for one in own])
    except errors.InvalidDataset as exc:
        raise refusal.refuse("bad_column", str(exc), {"parameter": "gold"}) from exc


def _gaps(table: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    gaps = np.zeros(table.num_rows, dtype=np.bool_)
    for column in table.columns:
        gaps |= column.is_null().to_numpy()
    return gaps


def _enough(raw: Raw, limits: chosen.Limits) -> None:
    kept, gone = len(raw.labels), len(raw.faults)
    if gone > limits.refused_share * (kept + gone):
        detail = f"{gone} of {kept + gone} rows cannot be used, over {limits.refused_share:.0%}"
        raise refusal.Refused([refusal.reason("too_many_refused", detail), *raw.faults[:EXAMPLES]])
    if kept == 0:
        raise refusal.refuse("empty", "the file has no rows")


def _classes(raw: Raw, name: str, limits: chosen.Limits) -> None:
    import pyarrow.compute as pc

    count, rows = pc.count_distinct(raw.labels).as_py(), len(raw.labels)
    if count < 2:
        detail = f"at least two classes are needed, {name!r} holds one label only"
        raise refusal.refuse("too_few_classes", detail, {"parameter": "label"})
    if count > min(limits.classes, labels.most_classes(rows)):
        detail = f"{name!r} holds {count} different labels in {rows} rows; at most {limits.classes} and half the rows"
        raise refusal.refuse("too_many_classes", detail, {"parameter": "label"})
    if rows < LEAST_ROWS:
        raise refusal.refuse("too_few_rows", f"{rows} rows are too few, {LEAST_ROWS} are the least")


def _dataset(raw: Raw, y: data.Labels, own: tuple[data.Label, ...], options: chosen.Options) -> data.Dataset:
    try:
        ids = None if raw.ids is None else labels.identify(raw.ids, options.id or "file")
    except errors.InvalidDataset as exc:
        raise refusal.refuse("bad_ids", str(exc), {"parameter": "id"}) from exc
    text = _text(raw, options)
    try:
        if options.kind == "vectors" and not isinstance(raw.rows, np.ndarray):
            names = tuple(raw.rows.column_names)
            spec = encoding.VectorEncoding(width=len(names), columns=names)
            x = encoding.apply(spec, raw.rows)
            return data.Dataset(x, y, own, "vectors", ids, spec.model_dump(mode="json"))
        plain = options.kind == "tabular"
        return files.build(raw.rows, y, own, ids=ids, text=text, plain=plain, loose=raw.loose)
    except errors.InvalidDataset as exc:
        if isinstance(exc.__cause__, MemoryError):
            raise
        code: refusal.Code = "bad_array" if isinstance(raw.rows, np.ndarray) else "nothing_to_learn"
        raise refusal.refuse(code, str(exc)) from exc


def _text(raw: Raw, options: chosen.Options) -> str | None:
    """The column of texts, if it was named, or asked for and there is only one."""
    if options.text is not None or options.kind != "text":
        return options.text
    if isinstance(raw.rows, np.ndarray):
        return "x"
    texts = [
        name
        for name, kind in zip(raw.rows.column_names, raw.rows.schema.types, strict=True)
        if "string" in str(kind)
    ]
    if len(texts) != 1:
        raise refusal.refuse("bad_option", "say which column holds the texts", {"parameter": "text"})
    return str(texts[0])


def _report(raw: Raw, dataset: data.Dataset, started: float) -> report.Report:
    counts = np.bincount(dataset.y, minlength=len(dataset.labels)).tolist()
    same, conflicting = duplicates.find(dataset)
    faults = sorted(raw.faults, key=_order)
    used = _columns(raw, dataset)
    features = () if used is None else [name for name, kind in used.kinds.items() if kind != "text"]
    strays = {} if isinstance(raw.rows, np.ndarray) else encoding.strays(encoding.of(dataset), raw.rows)
    return report.Report(
        format=raw.format,
        kind=dataset.kind,
        rows=len(dataset),
        label=raw.label,
        classes=classes.of(dataset),
        imbalance=round(max(counts) / min(counts), 4),
        duplicates=same,
        conflicting=conflicting,
        refused=report.RefusedRows(
            count=len(faults),
            rows=tuple(report.RefusedRow.model_validate(fault) for fault in faults[: report.SHOWN]),
        ),
        columns=used,
        image=raw.image or _image(dataset),
        missing=_missing(raw, strays),
        notes=(
            *truths.counted(dataset),
            *truths.remarks(features, unused.SERVICE),
            *encoding.remarks(strays)[:NOTES],
            *classes.lookalikes(dataset.classes, most=NOTES),
        ),
        sample=sampling.of(raw.rows, dataset),
        sha256=dataset.digest(),
        seconds=round(time.monotonic() - started, 3),
    )


def _order(fault: refusal.Reason) -> tuple[bool, int, int, str]:
    """As in the file; those that were only counted come last."""
    placed = len(fault) > len(("code", "detail"))
    return not placed, fault.get("line", 0), fault.get("row", 0), fault.get("entry", "")


def _columns(raw: Raw, dataset: data.Dataset) -> report.Columns | None:
    if isinstance(raw.rows, np.ndarray):
        return None
    spec = encoding.of(dataset)
    kinds: dict[str, report.ColumnKind] = dict.fromkeys(raw.rows.column_names, "number")
    if isinstance(spec, encoding.TableEncoding):
        kinds = {column.name: _kind(column) for column in spec.columns}
    elif isinstance(spec, words.TextEncoding):
        kinds = {spec.column or "text": "text"}
    left = encoding.left_out(spec, raw.rows, raw.aside, loose=raw.loose)
    reasons = {
        one.name: report.Reason(code=one.code, detail=one.detail, keep=one.keep(unused.SERVICE))
        for one in left
    }
    return report.Columns(used=tuple(kinds), dropped=tuple(reasons), kinds=kinds, reasons=reasons)


def _kind(column: columns.Number | columns.Category) -> report.ColumnKind:
    if isinstance(column, columns.Category):
        return "category"
    return "date" if column.time else "number"


def _image(dataset: data.Dataset) -> report.Image | None:
    if dataset.kind != "image" or isinstance(dataset.x, data.Bags):
        return None
    height, width, channels = dataset.x.shape[1:]
    return report.Image(height=height, width=width, channels=channels)


def _missing(raw: Raw, strays: Mapping[str, tuple[int, str]]) -> dict[str, int]:
    if isinstance(raw.rows, np.ndarray):
        return {}
    pairs = zip(raw.rows.column_names, raw.rows.columns, strict=True)
    found = {name: column.null_count + strays.get(name, (0, ""))[0] for name, column in pairs}
    return {name: count for name, count in found.items() if count}
