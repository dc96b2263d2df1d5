"""Parquet files as raw rows."""

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet as arrow_parquet

from app.intake import options as chosen
from app.intake import tabular
from app.intake.raw import Raw, names
from c2s.reading import formats, tables, unused

BATCH = 4096  # rows at a time: 463 bytes of Parquet may hold two thousand strings of a megabyte
HALF = 2  # of the memory is for the table, the rest for what becomes of it


def read(path: Path, options: chosen.Options, limits: chosen.Limits) -> Raw:
    """A Parquet file, in small batches: what its metadata says about sizes is no defence."""
    with (
        tabular.unreadable(path),
        formats.reading(path, "Parquet file"),
        arrow_parquet.ParquetFile(path) as file,
    ):
        there = file.metadata.row_group(0).num_columns if file.metadata.num_row_groups else 0
        if max(there, file.metadata.num_columns) > limits.columns:
            raise tabular.too_many_columns(limits)
        if file.metadata.num_rows > limits.rows:
            raise tabular.too_many_rows(limits)
        schema = file.schema_arrow
        tabular.check_columns(schema.names, limits)
        label = names(options, schema.names)
        wanted = [name for name in schema.names if name not in options.drop]
        tabular.check_types(schema, wanted)
        batches: list[pa.RecordBatch] = []
        room, rows = limits.memory_bytes // HALF, limits.rows
        for batch in file.iter_batches(batch_size=BATCH, columns=wanted, use_threads=False):
            room, rows = room - batch.nbytes, rows - batch.num_rows
            if rows < 0:
                raise tabular.too_many_rows(limits)
            if room < 0:
                raise MemoryError
            batches.append(batch)
        found = formats.checked(
            path, pa.Table.from_batches(batches, batches[0].schema if batches else schema), text=False
        )
    raw = tabular.assemble("parquet", tables.Table(found), label, options=options, limits=limits)
    raw.aside = (
        unused.set_aside(options.drop, id=None, drop=options.drop) | raw.aside
    )  # they were not even read
    return raw
