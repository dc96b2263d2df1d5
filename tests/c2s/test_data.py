import numpy as np
import pytest

from c2s import data, errors


def vectors(rows: int = 30, classes: int = 3) -> data.Dataset:
    rng = np.random.default_rng(0)
    return data.from_arrays(rng.normal(size=(rows, 4)), [f"c{i % classes}" for i in range(rows)])


def test_labels_keep_their_own_type_and_are_sorted():
    y, labels = data.index_labels([7, 3, 7])
    assert y.tolist() == [1, 0, 1]
    assert labels == (3, 7)
    assert data.index_labels(["b", "a"])[1] == ("a", "b")


def test_two_dimensions_are_vectors_and_three_are_images():
    assert vectors().kind == "vectors"
    images = data.from_arrays(np.zeros((4, 5, 6), np.uint8), [0, 1, 0, 1])
    assert images.kind == "image"
    assert images.shape.image == (5, 6, 1)
    colour = data.from_arrays(np.full((4, 5, 6, 3), 0.5), [0, 1, 0, 1])
    assert colour.x.dtype == np.uint8
    assert colour.shape.image == (5, 6, 3)


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        (np.zeros((0, 2)), [], "no rows"),
        (np.zeros((3, 2)), [0, 1], "3 rows but 2 labels"),
        (np.zeros((2, 2)), [1, 1], "two classes"),
        (np.array([[1.0], [np.nan]]), [0, 1], "row 1"),
        (np.array([[1.0], [1e300]]), [0, 1], "row 1"),
        (np.array([["a"], ["b"]]), [0, 1], "must be numbers"),
        (np.zeros(2), [0, 1], "1 dimensions"),
        (np.full((2, 3, 3), 7.0), [0, 1], "between 0 and 1"),
        (np.zeros((2, 2)), [0.0, np.nan], "missing"),
    ],
)
def test_unusable_arrays_are_refused_with_the_reason(x, y, why):
    with pytest.raises(errors.InvalidDataset, match=why):
        data.from_arrays(x, y)


def test_a_dataset_cannot_be_changed_and_leaves_the_caller_s_array_alone():
    images = np.zeros((4, 5, 6), np.uint8)
    dataset = data.from_arrays(images, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="read-only"):
        dataset.x[0, 0, 0] = 1
    images[0, 0, 0] = 1


def test_a_saved_dataset_comes_back_memory_mapped_and_equal(tmp_path):
    dataset = vectors()
    data.save(dataset, tmp_path / "d")
    loaded = data.load(tmp_path / "d")
    assert isinstance(loaded.x, np.memmap)
    np.testing.assert_array_equal(loaded.x, dataset.x)
    np.testing.assert_array_equal(loaded.y, dataset.y)
    assert loaded.labels == dataset.labels
    assert loaded.ids == tuple(map(str, range(30)))
    assert loaded.digest() == dataset.digest()


def test_bags_survive_saving_and_taking(tmp_path):
    bags = data.Bags(np.array([0, 2, 2, 3]), np.array([4, 1, 0]), np.array([0.5, 1.0, 2.0], np.float32), 6)
    dataset = data.Dataset(bags, np.array([0, 1, 0]), ("a", "b"), "text")
    data.save(dataset, tmp_path / "d")
    taken = data.load(tmp_path / "d").x.take(np.array([2, 0, 1]))
    assert taken.indptr.tolist() == [0, 1, 3, 3]
    assert taken.indices.tolist() == [0, 4, 1]
    assert taken.weights.tolist() == [2.0, 0.5, 1.0]
    assert dataset.shape.width == 6


def test_a_published_dataset_is_never_overwritten(tmp_path):
    data.save(vectors(), tmp_path / "d")
    with pytest.raises(OSError, match="not empty"):
        data.save(vectors(60), tmp_path / "d")
    assert len(data.load(tmp_path / "d")) == 30
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_other_word_vectors_are_another_digest():
    bags = data.Bags(np.array([0, 1, 2]), np.array([0, 1]), np.ones(2, np.float32), 2)
    tables = (np.zeros((2, 3), np.float32), np.ones((2, 3), np.float32))
    digests = {data.Dataset(bags, np.array([0, 1]), ("a", "b"), "text", vectors=t).digest() for t in tables}
    assert len(digests) == 2


def test_another_label_order_is_another_digest():
    one = data.Dataset(np.zeros((2, 1), np.float32), np.array([0, 1]), ("a", "b"), "vectors")
    two = data.Dataset(np.zeros((2, 1), np.float32), np.array([0, 1]), ("b", "a"), "vectors")
    assert one.digest() != two.digest()
