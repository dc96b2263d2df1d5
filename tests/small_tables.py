"""A small table in the forms that it is sent in, and what a refusal says first; for tests of intake."""

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = [
    (20, "red", "no"),
    (30, "blue", "yes"),
    (40, "red", "no"),
    (50, "green", "yes"),
    (60, "red", "no"),
] * 2
CSV = "age,colour,y\n" + "".join(f"{age},{colour},{y}\n" for age, colour, y in ROWS)


def parquet(tmp_path, **columns):
    pq.write_table(pa.table(columns), tmp_path / "table.parquet")
    return (tmp_path / "table.parquet").read_bytes()


def first(reasons):
    return reasons[0]["code"], {key: reasons[0][key] for key in reasons[0] if key not in ("code", "detail")}
