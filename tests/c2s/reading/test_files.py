"""Files of users become datasets, or a sentence that says what is wrong with them."""

import contextlib
import json
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from c2s import data, errors
from c2s.reading import encoding, files, words

TEXTS = [
    "the cat sat here",
    "a dog barks here",
    "the cat sleeps",
    "one dog runs home",
    "cat and dog play",
    "rain all day",
]
CSV = b"age,colour,y\n20,red,no\n30,blue,yes\n,red,no\n40,green,yes\n"


def put(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def npz(folder: Path, **arrays: object) -> Path:
    np.savez(folder / "data.npz", **arrays)
    return folder / "data.npz"


def same(first: data.Inputs, second: data.Inputs) -> None:
    if isinstance(first, data.Bags):
        assert isinstance(second, data.Bags)
        np.testing.assert_array_equal(first.indptr, second.indptr)
        np.testing.assert_array_equal(first.indices, second.indices)
        np.testing.assert_array_equal(first.weights, second.weights)
    else:
        np.testing.assert_array_equal(first, second)


# --- tables -------------------------------------------------------------------------------------------------


def test_a_csv_of_numbers_and_names_is_a_table(tmp_path: Path) -> None:
    dataset = files.read(put(tmp_path, "a.csv", CSV))
    assert dataset.kind == "tabular"
    assert dataset.labels == ("no", "yes")
    assert dataset.y.tolist() == [0, 1, 0, 1]
    assert dataset.x.shape == (4, 5)  # age, whether it is missing, three colours
    assert json.loads(json.dumps(dataset.encoding)) == dataset.encoding


def test_training_and_prediction_files_are_encoded_equally(tmp_path: Path) -> None:
    dataset = files.read(put(tmp_path, "a.csv", CSV))
    without = put(tmp_path, "b.csv", b"colour,age\nred,20\nblue,30\nred,\ngreen,40\n")
    inputs, ids = files.read_inputs(without, json.loads(json.dumps(dataset.encoding)))
    same(dataset.x, inputs)
    assert ids == ("0", "1", "2", "3")


def test_json_lines_parquet_and_csv_give_the_same_rows(tmp_path: Path) -> None:
    raw = {
        "age": [20.0, 30.0, None, 40.0],
        "colour": ["red", "blue", "red", "green"],
        "y": ["no", "yes", "no", "yes"],
    }
    lines = "\n".join(json.dumps({name: raw[name][row] for name in raw}) for row in range(4))
    pq.write_table(pa.table(raw), tmp_path / "a.parquet")
    expected = files.read(put(tmp_path, "a.csv", CSV))
    for path in (put(tmp_path, "a.jsonl", lines), tmp_path / "a.parquet"):
        found = files.read(path)
        same(expected.x, found.x)
        assert found.labels == expected.labels
        assert found.encoding == expected.encoding
        same(expected.x, files.read_inputs(path, expected.encoding)[0])


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + CSV,
        CSV.replace(b"\n", b"\r\n"),
        CSV.replace(b",", b";"),
        CSV.replace(b",", b"\t"),
        b",age,colour,y\n0,20,red,no\n1,30,blue,yes\n2,,red,no\n3,40,green,yes\n",  # as pandas writes its row numbers
    ],
)
def test_dialects_of_csv_are_read_alike(tmp_path: Path, content: bytes) -> None:
    expected = files.read(put(tmp_path, "a.csv", CSV))
    found = files.read(put(tmp_path, "b.csv", content))
    same(expected.x, found.x)
    assert found.encoding == expected.encoding


def test_names_that_look_like_numbers_at_prediction_stay_names(tmp_path: Path) -> None:
    dataset = files.read(put(tmp_path, "a.csv", "code,y\n01,a\nx,b\n01,a\n"))
    inputs, _ = files.read_inputs(put(tmp_path, "b.csv", "code\n01\n01\n"), dataset.encoding)
    assert np.asarray(inputs).tolist() == [[1, 0], [1, 0]]


def test_dropped_columns_and_ids_are_no_inputs(tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", "key,a,leak,y\n007,1,5,0\n008,2,6,1\n")
    dataset = files.read(path, id="key", drop=["leak"])
    assert dataset.ids == ("007", "008")
    assert [column["name"] for column in dataset.encoding["columns"]] == ["a"]
    assert files.read_inputs(path, dataset.encoding, id="key")[1] == ("007", "008")


# --- labels -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["10", "9"], (9, 10)),
        (["-1", "1"], (-1, 1)),
        (["01", "02"], ("01", "02")),
        (["True", "False"], ("False", "True")),
        (["1.5", "2"], ("1.5", "2")),
        (["2024-01-01", "2024-01-02"], ("2024-01-01", "2024-01-02")),
    ],
)
def test_labels_of_a_csv_are_integers_or_stay_as_written(
    tmp_path: Path, written: list[str], expected: tuple[data.Label, ...]
) -> None:
    rows = "".join(f"{number},{label}\n" for number, label in enumerate(written))
    assert files.read(put(tmp_path, "a.csv", "a,y\n" + rows)).labels == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.array([1.0, 0.0]), (0, 1)),
        (np.array([0.5, 0.0], np.float16), (0.0, 0.5)),
        (np.array([True, False]), (False, True)),
        (np.array([7, 3], np.uint8), (3, 7)),
        (np.array(["b", "a"]), ("a", "b")),
    ],
)
def test_labels_of_an_array_keep_their_type(
    tmp_path: Path, given: np.ndarray, expected: tuple[data.Label, ...]
) -> None:
    labels = files.read(npz(tmp_path, x=np.eye(2), y=given)).labels
    assert labels == expected
    assert [type(label) for label in labels] == [type(label) for label in expected]


def test_rows_without_a_label_refuse_the_file_with_their_numbers(tmp_path: Path) -> None:
    gaps = put(tmp_path, "a.csv", "a,y\n1,no\n2,\n3,yes\n4,NaN\n")
    with pytest.raises(errors.InvalidDataset, match="2 of 4 rows have no label in 'y': 1, 3"):
        files.read(gaps)
    with pytest.raises(
        errors.InvalidDataset, match=r"8 of 9 rows have no label in 'y': 1, 2, 3, 4, 5, \.\.\."
    ):
        files.read(npz(tmp_path, x=np.eye(9), y=np.array([1.0] + [np.nan] * 8)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("a,y\n1,no\n2,no\n", "at least two classes are needed, 'y' holds only 'no'"),
        ("a,label\n1,no\n2,yes\n", "there is no column 'y', only 'a', 'label'"),
        ("", "the file has no rows"),
        ("a,y\n", "no rows"),
        ("a,y\n1,no\n\n2,yes,3\n", "line 4 has 3 columns, the header 2"),
        ('a,y\n"1\n1",no\n2\n', "line 4 has 1 columns, the header 2"),
        ("a,a,y\n1,2,no\n", "same name"),
        ("a,y\n1,caf\xe9\n2,no\n".encode("latin-1"), "not UTF-8"),
        ("a,y\ncaf\xe9,yes\n2,no\n".encode("latin-1"), "column 'a' is not UTF-8"),
        ("caf\xe9,y\n1,yes\n2,no\n".encode("latin-1"), "not UTF-8"),
        ("a,y\n1,no\n2,yes\n".encode("utf-16"), "not UTF-8"),
        ("a,y\n1,no\n1,yes\n", "nothing to learn from in 'a'"),
        ("y\nno\nyes\n", "nothing to learn from in a table without columns"),
        (f"a,y\n1,{'long ' * 100}\n2,no\n", "over 256 characters"),
        ("," * 5000 + "\n", "at most 4096 columns"),
    ],
)
def test_a_csv_that_cannot_be_used_is_refused_with_the_reason(
    tmp_path: Path, content: str | bytes, reason: str
) -> None:
    with pytest.raises(errors.InvalidDataset, match=reason):
        files.read(put(tmp_path, "a.csv", content))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.jsonl", '{"a": 1, "y": 0}\n{"a": \n', "it is no file of JSON lines, or a damaged one"),
        ("a.jsonl", '{"a": 1, "y": 0}\n{"a": "b", "y": 0}\n', "column 'a' holds a number and a string"),
        ("a.jsonl", b'{"a": "\xe9", "y": 0}\n', "not UTF-8"),
        ("a.jsonl", '{"a": [1], "y": 0}\n{"a": [2], "y": 1}\n', "column 'a' holds lists or objects, only"),
        ("a.jsonl", "", "the file has no rows"),
        ("a.parquet", b"PAR1 no", "Parquet"),
        ("a.xlsx", b"PK", "only files that end in .csv"),
        ("a", b"", "only files that end in"),
        ("a.npz", b"PK\x03\x04", "zip"),
        ("a.npz", b"\x80\x04N.", "pickle"),
    ],
)
def test_other_files_that_cannot_be_used_are_refused_with_the_reason(
    tmp_path: Path, name: str, content: str | bytes, reason: str
) -> None:
    with pytest.raises(errors.InvalidDataset, match=reason):
        files.read(put(tmp_path, name, content))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for name in ("none.csv", "none.npz"):
        with pytest.raises(errors.InvalidDataset, match=f"{name}: no such file"):
            files.read(tmp_path / name)
    with pytest.raises(errors.InvalidDataset, match="no such file"):
        files.read(put(tmp_path, "a.csv", CSV), text="colour", word_vectors=tmp_path / "none.txt")


def test_ids_must_be_there_and_differ(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidDataset, match="1 of 2 rows have no id in 'k': 0"):
        files.read(put(tmp_path, "a.csv", "k,a,y\n,1,0\n2,2,1\n"), id="k")
    with pytest.raises(errors.InvalidDataset, match="not all different"):
        files.read(put(tmp_path, "a.csv", "k,a,y\n2,1,0\n2,2,1\n"), id="k")


# --- texts --------------------------------------------------------------------------------------------------


def texts_csv(folder: Path) -> Path:
    rows = "".join(f'"{text}\nand ""more""",{number % 2}\n' for number, text in enumerate(TEXTS))
    return put(folder, "texts.csv", "body,y\n" + rows)


def test_one_column_of_free_text_with_quoted_newlines_is_text(tmp_path: Path) -> None:
    dataset = files.read(texts_csv(tmp_path))
    assert dataset.kind == "text"
    assert dataset.labels == (0, 1)
    assert len(dataset) == len(TEXTS)
    assert encoding.of(dataset).column == "body"
    same(dataset.x, files.read_inputs(texts_csv(tmp_path), dataset.encoding)[0])


def test_a_named_text_column_is_text_and_the_others_are_left_out(tmp_path: Path) -> None:
    rows = "\n".join(
        json.dumps({"n": n, "word": word, "y": n % 2}) for n, word in enumerate(["aa", "aa", "bb", None])
    )
    dataset = files.read(put(tmp_path, "a.jsonl", rows), text="word")
    assert isinstance(dataset.x, data.Bags)
    assert dataset.x.indptr.tolist() == [0, 1, 2, 2, 2]


def test_one_column_of_few_names_is_a_table(tmp_path: Path) -> None:
    rows = "".join(f"{'deep red' if n % 2 else 'pale blue'},{n % 2}\n" for n in range(20))
    assert files.read(put(tmp_path, "a.csv", "colour,y\n" + rows)).kind == "tabular"


def test_arrays_of_strings_are_texts(tmp_path: Path) -> None:
    path = npz(tmp_path, x=np.array(TEXTS), y=np.arange(6) % 2, key=np.array(list("abcdef")))
    dataset = files.read(path, id="key")
    assert dataset.kind == "text"
    inputs, ids = files.read_inputs(path, dataset.encoding, id="key")
    same(dataset.x, inputs)
    assert ids == dataset.ids == tuple("abcdef")


@pytest.mark.parametrize("form", ["npz", "glove", "word2vec"])
def test_word_vectors_are_averaged_over_the_known_words(tmp_path: Path, form: str) -> None:
    known = ["cat", "unseen", "dog", "rain"]
    vectors = np.arange(12, dtype=np.float32).reshape(4, 3)
    lines = "".join(
        f"{word} {' '.join(map(str, row))}\n" for word, row in zip(known, vectors.tolist(), strict=True)
    )
    if form == "npz":
        path = tmp_path / "vectors.npz"
        np.savez(path, words=np.array(known), vectors=vectors.astype(np.float16))
    else:
        path = put(tmp_path, "vectors.txt", ("4 3\n" if form == "word2vec" else "") + lines)
    dataset = files.read(texts_csv(tmp_path), word_vectors=path)
    assert isinstance(dataset.x, data.Bags)
    assert dataset.vectors is not None
    for row, text in enumerate(TEXTS):
        inside = slice(dataset.x.indptr[row], dataset.x.indptr[row + 1])
        average = dataset.x.weights[inside] @ dataset.vectors[dataset.x.indices[inside]]
        found = [vectors[known.index(word)] for word in words.split(text) if word in known]
        np.testing.assert_allclose(average, np.mean(found, axis=0) if found else np.zeros(3), atol=1e-5)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("cat 1 2\ndog 1\n", "line 2 of the word vectors"),
        ("cat 1 x\n", "line 1 of the word vectors is not a word and 2 numbers"),
        ("cat 1 nan\n", "'cat' holds NaN"),
        ("unseen 1 2\n", "none of the word vectors"),
        ("", "none of the word vectors"),
        (b"caf\xe9 1 2\n", "not UTF-8"),
    ],
)
def test_word_vectors_that_cannot_be_used_are_refused(
    tmp_path: Path, content: str | bytes, reason: str
) -> None:
    with pytest.raises(errors.InvalidDataset, match=reason):
        files.read(texts_csv(tmp_path), word_vectors=put(tmp_path, "v.txt", content))


def test_word_vectors_without_texts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidDataset, match="word vectors are for texts"):
        files.read(put(tmp_path, "a.csv", CSV), word_vectors=tmp_path / "v.txt")


# --- arrays -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "kind"),
    [(np.eye(4), "vectors"), (np.zeros((4, 5, 6), np.uint8), "image"), (np.full((4, 5, 6, 3), 0.5), "image")],
)
def test_arrays_are_vectors_or_images(tmp_path: Path, x: np.ndarray, kind: str) -> None:
    path = npz(tmp_path, x=x, noisy=np.array([0, 1, 0, 1]))
    dataset = files.read(path, label="noisy")
    assert dataset.kind == kind
    same(dataset.x, files.read_inputs(path, dataset.encoding)[0])


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"x": np.array([{}, None], dtype=object), "y": [0, 1]}, "Python objects .pickle. are never read"),
        ({"x": np.eye(2), "y": np.array(["a", None], dtype=object)}, "Python objects"),
        ({"x": np.eye(2)}, "there is no array 'y', only 'x'"),
        ({"x": np.eye(3), "y": [0, 1]}, "differ in rows"),
        ({"x": np.array([[1.0], [np.nan]]), "y": [0, 1]}, "row 1"),
        ({"x": np.array([[1j], [2]]), "y": [0, 1]}, "must be numbers"),
        ({"x": np.zeros(2), "y": [0, 1]}, "vectors or images"),
        ({"x": np.zeros((2, 0)), "y": [0, 1]}, "vectors or images"),
        ({"x": np.eye(2), "y": np.eye(2)}, "column 'y' must hold one value a row"),
        ({"x": np.zeros((0, 2)), "y": np.zeros(0)}, "no rows"),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(
    tmp_path: Path, arrays: dict[str, object], reason: str
) -> None:
    with pytest.raises(errors.InvalidDataset, match=reason):
        files.read(npz(tmp_path, **arrays))


def test_a_single_array_and_a_foreign_archive_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(2))
    (tmp_path / "a.npy").rename(tmp_path / "a.npz")
    with pytest.raises(errors.InvalidDataset, match="single array"):
        files.read(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        archive.writestr("x", b"no array")
        archive.writestr("y", b"no array")
    with pytest.raises(errors.InvalidDataset):
        files.read(tmp_path / "b.npz")


@pytest.mark.parametrize("name", ["a.npz", "a.parquet", "a.jsonl", "a.csv"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_damaged_file_raises_nothing_but_our_errors(
    tmp_path: Path, name: str, damage: list[tuple[float, int]]
) -> None:
    raw = {"x": np.arange(6).reshape(6, 1) if name.endswith("z") else list(range(6)), "y": [0, 1, 0, 1, 0, 1]}
    path = tmp_path / name
    if name.endswith("npz"):
        np.savez_compressed(path, **raw)
    elif name.endswith("parquet"):
        pq.write_table(pa.table(raw), path)
    else:
        path.write_bytes(CSV if name.endswith("csv") else b'{"x": 1.5, "y": "a"}\n{"x": 2.5, "y": "b"}\n')
    content = bytearray(path.read_bytes())
    for where, value in damage:
        content[int(where * (len(content) - 1))] = value
    path.write_bytes(content)
    with contextlib.suppress(errors.InvalidDataset):
        files.read(path)


def test_a_question_mark_is_a_missing_number(tmp_path):
    path = tmp_path / "d.csv"
    lines = [f"{'?' if i % 10 == 0 else i},{'ab'[i % 2]}" for i in range(40)]
    path.write_text("\n".join(["size,label", *lines]))
    dataset = files.read(path, label="label")
    assert dataset.encoding["columns"][0]["kind"] == "number"


def test_labels_that_are_nearly_all_different_are_refused(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("\n".join(["size,target", *(f"{i},{i * 0.37}" for i in range(30))]))
    with pytest.raises(errors.InvalidDataset, match="30 different labels in 30 rows"):
        files.read(path, label="target")
