"""One file, from its bytes to the saved dataset; loaded only inside the limited process."""

from pathlib import Path

import pyarrow as pa

from app.intake import arrays, building, excerpts, parquet, pictures, refusal, report, sniff, tabular
from app.intake import options as chosen
from app.intake.raw import Raw
from c2s import data, errors

pa.set_cpu_count(1)
pa.set_io_thread_count(1)


def ingest(
    source: Path, target: Path, options: chosen.Options, *, limits: chosen.Limits, started: float
) -> report.Report:
    """Read the file into the folder `target`."""
    try:
        raw = _read(source, options, limits)
        dataset, found = building.build(raw, options, limits, started=started)
    except errors.C2SError as exc:
        if isinstance(exc.__cause__, MemoryError):
            raise MemoryError from exc
        raise refusal.refuse("unreadable", str(exc).removeprefix(f"{source.name}: ")) from exc
    if _bytes(dataset.x) > limits.bytes:
        raise refusal.refuse("too_large", f"the dataset takes more than {limits.bytes} bytes")
    data.save(dataset, target)
    excerpts.write(target / excerpts.FILE, raw.rows)
    return found


def _bytes(x: data.Inputs) -> int:
    return x.indices.nbytes + x.weights.nbytes if isinstance(x, data.Bags) else x.nbytes


def _read(source: Path, options: chosen.Options, limits: chosen.Limits) -> Raw:
    form = sniff.detect(source, options)
    if form == "npz":
        return arrays.read(source, options, limits)
    if form == "zip":
        return pictures.read(source, options, limits)
    if options.kind == "image":
        raise refusal.refuse("bad_option", "a table holds no pictures", {"parameter": "kind"})
    tables = {"csv": tabular.comma_separated, "jsonl": tabular.lines_of_json, "parquet": parquet.read}
    raw = tables[form](source, options, limits)
    detail = f"a cell holds more than {tabular.LONGEST_CELL} bytes"
    raw.leave_out(tabular.long(raw.rows), "row_too_long", detail)
    return raw
