"""NPZ and zip archives: checked before they are unpacked, and read row by row."""

import io
import stat
import struct
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from app.intake import options
from c2s import data


def packed(entries, compression=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return file.getvalue()


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def picture(seed=0, size=(8, 8), mode="RGB", form="PNG"):
    file = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).convert(mode).save(file, form)
    return file.getvalue()


def bomb(side=13_000):
    """A PNG of half a megabyte that claims and holds side x side black pixels."""

    def chunk(name, content):
        body = name + content
        return struct.pack(">L", len(content)) + body + struct.pack(">L", zlib.crc32(body))

    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(1 + 3 * side)) for _ in range(side)) + packer.flush()
    header = struct.pack(">LLBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def folders(count=10, **kwargs):
    return [(f"{'cat' if n % 2 else 'dog'}/{n}.png", picture(n, **kwargs)) for n in range(count)]


def codes(reasons):
    return [reason["code"] for reason in reasons]


LABELS = np.arange(6) % 2


# --- NPZ ------------------------------------------------------------------------------------------------------


def test_vectors_images_and_texts_are_read_from_arrays(taken):
    assert taken(npz(x=np.eye(6), y=LABELS)).kind == "vectors"
    report = taken(npz(x=np.zeros((6, 5, 7), np.uint8), y=LABELS))
    assert (report.kind, report.image.height, report.image.width, report.image.channels) == ("image", 5, 7, 1)
    assert report.duplicates.rows == 6
    assert report.conflicting.groups == 1
    assert taken(npz(x=np.array(["a cat", "a dog"] * 3), y=LABELS), kind="text").kind == "text"
    assert taken(npz(images=np.zeros((6, 5, 7, 3), np.uint8), label=LABELS), kind="vectors").kind == "vectors"
    assert taken(npz(x=np.asfortranarray(np.eye(6)), y=LABELS)).rows == 6


def test_the_child_reads_arrays_as_this_process_does(spawned, taken):
    content = npz(x=np.random.default_rng(0).random((50, 3)), y=np.arange(50) % 3)
    assert spawned(content).sha256 == taken(content).sha256


def test_rows_that_are_not_finite_or_not_labelled_are_refused_by_number(taken):
    x = np.ones((20, 3)) * np.arange(20)[:, None]
    x[3, 1], x[7, 0] = np.nan, np.inf
    y = (np.arange(20) % 2).astype(float)
    y[11] = np.nan
    report = taken(npz(x=x, y=y))
    found = [(row.row, row.code) for row in report.refused.rows]
    assert found == [(3, "not_finite"), (7, "not_finite"), (11, "missing_label")]
    assert report.rows == 17


@pytest.mark.parametrize(
    ("arrays", "code"),
    [
        ({"x": np.array([{}, None], dtype=object), "y": LABELS}, "pickled"),
        ({"x": np.eye(6), "y": LABELS, "unused": np.array([None])}, "pickled"),
        ({"x": np.eye(6)}, "no_label_column"),
        ({"x": np.eye(5), "y": LABELS}, "bad_array"),
        ({"x": np.zeros(6), "y": LABELS}, "bad_array"),
        ({"x": np.eye(6).astype(complex), "y": LABELS}, "bad_array"),
        ({"x": np.zeros((6, 3, 32, 32), np.uint8), "y": LABELS}, "bad_array"),
        ({"x": np.full((6, 4, 4), 255.0), "y": LABELS}, "bad_array"),
        ({"x": np.zeros((0, 2)), "y": np.zeros(0)}, "empty"),
        ({"x": np.eye(6), "y": np.zeros(6)}, "too_few_classes"),
        ({"x": np.full((6, 2), np.nan), "y": LABELS}, "too_many_refused"),
        ({"x": np.eye(6), "y": np.eye(6)}, "bad_array"),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(taken, arrays, code):
    assert codes(taken(npz(**arrays)))[0] == code


def test_damaged_arrays_are_refused_with_their_entry(taken):
    good = npz(x=np.random.default_rng(0).random((60, 4)), y=np.arange(60) % 2)
    spoiled = bytearray(good)
    spoiled[200:260] = bytes(60)
    for content in (bytes(spoiled), good[: len(good) // 2]):
        assert codes(taken(content)) == ["bad_archive"]
    short = packed([("x.npy", b"\x93NUMPY\x01\x00"), ("y.npy", b"")])
    reasons = taken(short)
    assert (codes(reasons), reasons[0]["entry"]) == (["bad_archive"], "x.npy")


def test_an_archive_that_is_cut_off_is_not_said_to_be_empty(taken):
    whole = npz(x=np.eye(6), y=LABELS)
    for length in (4, 22, 29, 33, len(whole) // 2, len(whole) - 1):
        assert codes(taken(whole[:length], format="npz")) == ["bad_archive"], length
    for nothing in (b"", packed([])):
        assert codes(taken(nothing)) == ["empty"]


# --- zip ------------------------------------------------------------------------------------------------------


def test_folders_are_classes_and_pictures_keep_their_common_size(spawned, tmp_path):
    report = spawned(packed(folders()))
    assert (report.format, report.kind, report.rows, report.label) == ("zip", "image", 10, None)
    assert [one.name for one in report.classes] == ["cat", "dog"]
    assert report.image.model_dump() == {"height": 8, "width": 8, "channels": 3, "resized": False}
    found = data.load(tmp_path / "out" / "data")
    assert found.ids[:2] == ("dog/0.png", "cat/1.png")
    assert found.encoding == {"kind": "image", "height": 8, "width": 8, "channels": 3, "unit": False}
    np.testing.assert_array_equal(found.x[0], np.asarray(Image.open(io.BytesIO(picture(0)))))


def test_pictures_of_many_sizes_are_brought_to_one(taken):
    mixed = [(f"{'ab'[n % 2]}/{n}.jpg", picture(n, (40 + n, 50), form="JPEG")) for n in range(6)]
    report = taken(packed(mixed))
    assert report.image.model_dump() == {"height": 50, "width": 50, "channels": 3, "resized": True}
    assert taken(packed(mixed), image_size=16).image.height == 16
    assert taken(packed(folders(size=(200, 100)))).image.height == 64
    assert taken(packed(folders(mode="L"))).image.channels == 1


def test_a_labels_file_may_tell_the_true_label_of_some_pictures(taken, tmp_path):
    lines = [f"{n}.png,{'cat' if n % 2 else 'dog'},{'cat' if n in (0, 1) else ''}" for n in range(10)]
    entries = [("labels.csv", "\n".join(["file,label,checked", *lines])), *folders()]
    taken(packed(entries), gold="checked")
    found = data.load(tmp_path / "out" / "data")
    assert found.classes == ("cat", "dog")
    assert found.gold.tolist() == [0, 0, *[-1] * 8]
    assert found.y[:2].tolist() == [1, 0]


def test_beside_folders_a_file_of_true_labels_alone_leaves_the_labels_to_them(taken, tmp_path):
    entries = [("gold.csv", "file,gold\n3.png,dog\n4.png,dog\ncat/5.png,cat"), *folders()]
    report = taken(packed(entries), gold="gold")
    found = data.load(tmp_path / "out" / "data")
    assert report.rows == 10
    assert found.gold.tolist() == [-1, -1, -1, 1, 1, 0, -1, -1, -1, -1]
    assert found.y.tolist() == [1, 0] * 5


def test_a_labels_file_names_the_classes(taken):
    names = [f"{n}.png" for n in range(20)]
    table = "file,label\n" + "".join(f"{name},{n % 3}\n" for n, name in enumerate(names)) + "gone.png,1\n"
    entries = [("set/labels.csv", table), *((f"set/pics/{name}", picture(n)) for n, name in enumerate(names))]
    entries.append(("set/pics/extra.png", picture(99)))
    report = taken(packed(entries))
    assert (report.rows, report.label, len(report.classes)) == (20, "label", 3)
    found = {(row.entry, row.code) for row in report.refused.rows}
    assert found == {("gone.png", "missing_file"), ("set/pics/extra.png", "missing_label")}


def test_pictures_that_cannot_be_read_are_refused_by_name(taken):
    entries = [
        *folders(20),
        ("cat/cut.png", picture(1)[:-60]),
        ("dog/text.png", b"hello"),
        ("dog/bomb.png", bomb()),
        ("__MACOSX/cat/._1.png", b"junk"),
    ]
    report = taken(packed(entries, zipfile.ZIP_STORED))
    found = {(row.entry, row.code) for row in report.refused.rows}
    assert found == {
        ("cat/cut.png", "bad_image"),
        ("dog/text.png", "bad_image"),
        ("dog/bomb.png", "image_too_large"),
    }
    assert report.rows == 20


def test_an_archive_of_image_bombs_is_refused(spawned):
    blob = bomb()
    assert len(blob) < 600_000
    reasons = spawned(packed([("a/1.png", blob), ("b/2.png", blob + b" ")], zipfile.ZIP_STORED))
    assert codes(reasons) == ["too_many_refused", "image_too_large", "image_too_large"]
    assert reasons[1]["entry"] == "a/1.png"


def linked(name):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        ([("../evil.png", b"x")], "path_escape"),
        ([("cat/../../evil.png", b"x")], "path_escape"),
        ([("/etc/evil.png", b"x")], "path_escape"),
        ([("C:/evil.png", b"x")], "path_escape"),
        ([("cat\\..\\..\\evil.png", b"x")], "path_escape"),
        ([(linked("cat/link.png"), b"/etc/passwd")], "path_escape"),
        ([("cat/inner.zip", packed([("a", b"b")]))], "bad_archive"),
        ([("cat/inner.png", packed([("a", b"b")]))], "bad_archive"),
        ([("/".join("a" * 400) + "/x.png", b"x")], "bad_archive"),
        ([("cat/" + "n" * 2000, b"x")], "bad_archive"),
        ([("cat/zeros.png", bytes(20 * 2**20))], "archive_bomb"),
        ([("data.pkl", b"x")], "unknown_format"),
    ],
)
def test_a_faulty_archive_is_refused_with_its_entry(taken, extra, code):
    reasons = taken(packed([*folders(4), *extra]))
    assert codes(reasons) == [code]
    assert reasons[0]["entry"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_overlapping_and_encrypted_entries_are_refused(taken):
    assert codes(taken(packed([*folders(4), ("cat/1.png", b"x")]))) == ["bad_archive"]
    good = bytearray(packed(folders(4)))
    second = good.index(b"PK\x01\x02", good.index(b"PK\x01\x02") + 1)
    overlapping = good.copy()
    overlapping[second + 42 : second + 46] = bytes(4)  # where the second entry begins: at the first
    assert codes(taken(bytes(overlapping))) == ["bad_archive"]
    encrypted = good.copy()
    encrypted[second + 8] |= 1
    assert codes(taken(bytes(encrypted))) == ["bad_archive"]


def test_a_lying_size_is_found_while_unpacking(taken):
    content = bytearray(packed([*folders(10), ("cat/lie.png", picture(5))]))
    place = content.rindex(b"PK\x01\x02")
    content[place + 24 : place + 28] = struct.pack("<L", 50)  # the unpacked size
    report = taken(bytes(content))
    assert [(row.entry, row.code) for row in report.refused.rows] == [("cat/lie.png", "bad_image")]


def test_too_many_entries_and_too_much_in_all_are_refused(spawned, taken):
    content = packed(folders(12))
    assert codes(spawned(content, options.Limits(entries=10))) == ["archive_bomb"]
    assert codes(taken(content, options.Limits(bytes=1000))) == ["archive_bomb"]
    lying = bytearray(content)
    lying[-12:-10] = b"\x01\x00"  # the number of entries
    assert codes(taken(bytes(lying), options.Limits(entries=10))) == ["archive_bomb"]


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        ([], "empty"),
        ([("archive/data.pkl", b"\x80\x02."), ("archive/version", b"3")], "unknown_format"),
        ([("[Content_Types].xml", b"<x/>"), ("word/document.xml", b"<x/>")], "unknown_format"),
        ([("config.json", b"{}"), ("model.weights.h5", b"\x89HDF")], "unknown_format"),
        ([("a.png", picture(0)), ("b.png", picture(1))], "too_many_refused"),
        (folders(1), "too_few_classes"),
        (folders(2), "too_few_rows"),
        ([("labels.csv", "a,label\n1,2\n"), *folders(4)], "bad_header"),
        ([("labels.csv", "file,b\n1,2\n"), *folders(4)], "no_label_column"),
    ],
)
def test_archives_of_something_else_are_refused(taken, entries, code):
    assert codes(taken(packed(entries)))[0] == code
