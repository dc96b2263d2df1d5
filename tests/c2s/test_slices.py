"""Rows some at a time: the same as all at once, and only those that were written."""

import numpy as np
import pytest

from c2s import data, errors, slices


def bags(start, rows):
    lengths = np.arange(start, start + rows) % 3
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    indices = np.arange(start, start + indptr[-1]) % 50
    return data.Bags(indptr, indices, indices.astype(np.float32), 50)


def same(one, other):
    if isinstance(one, data.Bags):
        assert one.width == other.width
        for name in ("indptr", "indices", "weights"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    else:
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32), "vectors"),
        (np.asfortranarray(np.arange(120, dtype=np.float32).reshape(30, 4)), "vectors"),
        (np.arange(30 * 16, dtype=np.uint8).reshape(30, 4, 4, 1), "image"),
        (bags(0, 30), "text"),
    ],
)
def test_a_saved_dataset_reads_as_it_was(tmp_path, x, kind):
    y = np.arange(30) % 2
    data.save(data.Dataset(x, y, ("a", "b"), kind), tmp_path / "d")
    reader = slices.Reader(tmp_path / "d")
    assert len(reader) == 30
    for start, stop in ((0, 30), (0, 1), (7, 19), (29, 30)):
        rows = np.arange(start, stop)
        same(reader.read(start, stop), x.take(rows) if isinstance(x, data.Bags) else x[rows])


@pytest.mark.parametrize(
    "parts", [[np.ones((3, 2), np.float32), np.zeros((1, 2), np.float32)], [bags(0, 5), bags(5, 4)]]
)
def test_what_is_written_in_pieces_reads_as_one(tmp_path, parts):
    with slices.Writer(tmp_path / "d") as writer:
        for part in parts:
            writer.append(part)
        writer.finish(kind="any")
    reader, start = slices.Reader(tmp_path / "d"), 0
    assert reader.meta["kind"] == "any"
    for part in parts:
        same(reader.read(start, start + len(part)), part)
        start += len(part)
    assert len(reader) == start


def test_bytes_that_changed_are_refused(tmp_path):
    with slices.Writer(tmp_path / "d") as writer:
        writer.append(np.ones((3, 2), np.float32))
        writer.finish()
    path = tmp_path / "d" / "x.npy"
    blob = path.read_bytes()
    path.write_bytes(blob[:-1] + bytes([blob[-1] ^ 1]))
    with pytest.raises(errors.InvalidDataset, match="not those"):
        slices.Reader(tmp_path / "d")
