import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest

from c2s import errors
from c2s.paper import sources


def write_idx(path: Path, array: np.ndarray) -> None:
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(header + array.astype(np.uint8).tobytes()))


def write_mnist(root: Path, *, train: int, test: int) -> None:
    rng = np.random.default_rng(0)
    for part, rows in (("train", train), ("t10k", test)):
        images = rng.integers(0, 256, size=(rows, 28, 28))
        write_idx(root / "mnist" / f"{part}-images-idx3-ubyte.gz", images)
        write_idx(root / "mnist" / f"{part}-labels-idx1-ubyte.gz", np.arange(rows) % 10)


def write_news20(root: Path) -> None:
    here = root / "news20"
    here.mkdir(parents=True)
    (here / "label_names.json").write_text(json.dumps(["space", "cars"]))
    texts = ["Subject: x\n\nmoon orbit\nmoon", "Subject: y\n\nengine\nwheel"]
    lines = [json.dumps({"text": texts[n % 2], "label": n % 2}) for n in range(20)]
    (here / "news20_bydate.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    vectors = np.array([[1, 0], [4, 3], [0, 2], [0, 4]], dtype=np.float16)
    words = np.array(["moon", "orbit", "engine", "wheel"])
    np.savez(here / "glove6b_100d_news20.npz", words=words, vectors=vectors)


def test_mnist_is_read_from_its_own_format(tmp_path: Path) -> None:
    write_mnist(tmp_path, train=30, test=10)
    source = sources.load("mnist", tmp_path)
    assert source.x.shape == (30, 28, 28)
    assert source.x.dtype == np.uint8
    assert source.labels == tuple(range(10))
    assert source.y.tolist() == [n % 10 for n in range(30)]
    assert source.x_test.shape == (10, 28, 28)


def test_a_dataset_carries_the_labels_it_is_given(tmp_path: Path) -> None:
    write_mnist(tmp_path, train=30, test=10)
    source = sources.load("mnist", tmp_path)
    dataset = source.labelled((source.y + 1) % 10)
    assert dataset.kind == "image"
    assert dataset.y[:3].tolist() == [1, 2, 3]


def test_a_missing_file_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidDataset, match=r"mnist.train-images-idx3-ubyte\.gz is missing"):
        sources.load("mnist", tmp_path)


def test_the_environment_names_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sources.ENVIRONMENT, str(tmp_path))
    assert sources.folder() == tmp_path
    assert sources.folder(tmp_path / "other") == tmp_path / "other"
    monkeypatch.delenv(sources.ENVIRONMENT)
    assert sources.folder() == Path("../shared/data")


@pytest.mark.parametrize(
    "content",
    [b"not gzip", gzip.compress(b""), gzip.compress(b"\0\0\x08\x03abc")],
    ids=["no gzip", "no header", "no rows"],
)
def test_a_broken_idx_file_is_refused(tmp_path: Path, content: bytes) -> None:
    write_mnist(tmp_path, train=10, test=10)
    (tmp_path / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(content)
    with pytest.raises(errors.InvalidDataset, match="no gzipped IDX"):
        sources.load("mnist", tmp_path)


def test_rows_and_labels_of_unequal_number_are_refused(tmp_path: Path) -> None:
    write_mnist(tmp_path, train=10, test=10)
    write_idx(tmp_path / "mnist" / "train-labels-idx1-ubyte.gz", np.arange(9))
    with pytest.raises(errors.InvalidDataset, match="do not belong together"):
        sources.load("mnist", tmp_path)


def test_an_unknown_dataset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(errors.InvalidDataset, match="mnist, news20"):
        sources.load("imagenet")


def test_posts_become_averages_of_their_words(tmp_path: Path) -> None:
    write_news20(tmp_path)
    source = sources.load("news20", tmp_path)
    assert source.labels == ("space", "cars")
    assert (len(source.y), len(source.y_test)) == (12, 8)
    assert source.x[source.y == 0][0].tolist() == [2.0, 1.0]  # twice moon, once orbit
    assert source.x[source.y == 1][0].tolist() == [0.0, 3.0]


def test_the_news20_split_is_the_same_every_time(tmp_path: Path) -> None:
    write_news20(tmp_path)
    first, second = (sources.load("news20", tmp_path) for _ in range(2))
    np.testing.assert_array_equal(first.y_test, second.y_test)


def test_cifar_planes_become_pixels(tmp_path: Path) -> None:
    here = tmp_path / "cifar-10-batches-bin"
    here.mkdir()
    red, green, blue = (np.full(1024, value, np.uint8) for value in (10, 20, 30))
    record = np.concatenate([[7], red, green, blue]).astype(np.uint8)
    for name in [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]:
        (here / f"{name}.bin").write_bytes(record.tobytes() * 2)
    source = sources.load("cifar10", tmp_path)
    assert source.x.shape == (10, 32, 32, 3)
    assert source.x[0, 0, 0].tolist() == [10, 20, 30]
    assert source.labels[source.y[0]] == "horse"


def test_cifar100_takes_the_fine_label(tmp_path: Path) -> None:
    here = tmp_path / "cifar-100-binary"
    here.mkdir()
    (here / "fine_label_names.txt").write_text("\n".join(f"class{n}" for n in range(100)) + "\n")
    record = np.concatenate([[3, 42], np.zeros(3072)]).astype(np.uint8)
    for name in ("train", "test"):
        (here / f"{name}.bin").write_bytes(record.tobytes())
    source = sources.load("cifar100", tmp_path)
    assert source.labels[source.y[0]] == "class42"


def test_a_truncated_cifar_file_is_refused(tmp_path: Path) -> None:
    here = tmp_path / "cifar-100-binary"
    here.mkdir()
    (here / "fine_label_names.txt").write_text("a b")
    (here / "train.bin").write_bytes(bytes(3000))
    with pytest.raises(errors.InvalidDataset, match="whole records of 3074 bytes"):
        sources.load("cifar100", tmp_path)


def test_clothing1m_asks_for_the_merged_classes(tmp_path: Path) -> None:
    here = tmp_path / "clothing1m"
    here.mkdir()
    for part, classes in (("train", 14), ("test", 13)):
        np.savez(here / f"{part}.npz", x=np.zeros((classes, 8, 8, 3), np.uint8), y=np.arange(classes))
    with pytest.raises(errors.InvalidDataset, match="merge labels 3 and 5"):
        sources.load("clothing1m", tmp_path)
    np.savez(here / "train.npz", x=np.zeros((13, 8, 8, 3), np.uint8), y=np.arange(13))
    assert len(sources.load("clothing1m", tmp_path).labels) == 13


def test_an_npz_without_its_arrays_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cifar10").mkdir()
    np.savez(tmp_path / "cifar10" / "cifar10_subset.npz", x_train=np.zeros(3))
    with pytest.raises(errors.InvalidDataset, match="no NPZ file with x_train, y_train"):
        sources.load("cifar10-subset", tmp_path)


def test_the_first_rows_keep_the_shares_of_the_classes(tmp_path: Path) -> None:
    write_mnist(tmp_path, train=200, test=10)
    source = sources.load("mnist", tmp_path)
    skewed = sources.Source("mnist", "image", source.labels, source.x, np.sort(source.y), source.x, source.y)
    part = skewed.first(50)
    assert np.bincount(part.y).tolist() == [5] * 10
    assert len(part.y_test) == 200
    np.testing.assert_array_equal(part.x[:5], skewed.x[:5])


def test_more_rows_than_there_are_is_refused(tmp_path: Path) -> None:
    write_mnist(tmp_path, train=20, test=10)
    with pytest.raises(errors.InvalidDataset, match="no first 21"):
        sources.load("mnist", tmp_path).first(21)
