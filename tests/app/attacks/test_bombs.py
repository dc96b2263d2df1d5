"""A8, A9, A10 and A12, small things that become large: what tests of intake do not already mount."""

import io
import struct
import time
import zipfile
import zlib

import pytest

from app.intake import child, options, refusal

LIMITS = options.Limits()


def codes(tmp_path, content, limits=LIMITS):
    (tmp_path / "source").write_bytes(content)
    with pytest.raises(refusal.Refused) as caught:
        child.ingest(tmp_path / "source", tmp_path / "data", options.Options(), limits)
    return [reason["code"] for reason in caught.value.reasons]


def quoted(count=20, gap=300):
    """Entries whose headers lie in each other's extra fields, so that all unpack the same bytes at the end."""
    kernel = zlib.compress(bytes(100_000), 9)[2:-4]
    crc, names = zlib.crc32(bytes(100_000)), [f"{'ab'[i % 2]}/{i:02}.png".encode() for i in range(count)]
    end = count * gap
    body, directory = bytearray(end), bytearray()
    for i, name in enumerate(names):
        extra = end - i * gap - 30 - len(name)
        common = struct.pack("<HHHHHLLL", 20, 0, 8, 0, 33, crc, len(kernel), 100_000)
        header = b"PK\x03\x04" + common + struct.pack("<HH", len(name), extra) + name
        body[i * gap : i * gap + len(header)] = header
        directory += (
            b"PK\x01\x02\x14\x00" + common + struct.pack("<HHHHHLL", len(name), 0, 0, 0, 0, 0, i * gap)
        )
        directory += name
    tail = struct.pack("<HHHHLLH", 0, 0, count, count, len(directory), end + len(kernel), 0)
    return bytes(body) + kernel + bytes(directory) + b"PK\x05\x06" + tail


def test_entries_that_share_bytes_by_quoting_headers_are_refused(tmp_path):
    body = quoted()
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        assert len(archive.infolist()) == 20  # the directory looks well
    assert codes(tmp_path, body) == ["bad_archive"]


def test_a_million_empty_entries_are_refused_before_they_are_listed(tmp_path):
    count = 1_000_000
    entry = b"PK\x01\x02" + bytes(24) + struct.pack("<H", 8) + bytes(16)
    directory = b"".join(entry + b"%08d" % i for i in range(count))
    wide = b"PK\x06\x06" + struct.pack("<QHHLLQQQQ", 44, 45, 45, 0, 0, count, count, len(directory), 30)
    locator = b"PK\x06\x07" + struct.pack("<LQL", 0, 30 + len(directory), 1)
    end = b"PK\x05\x06" + b"\xff" * 8 + b"\xff" * 8 + b"\0\0"
    body = b"PK\x03\x04" + bytes(26) + directory + wide + locator + end[:22]
    started = time.process_time()
    assert codes(tmp_path, body) == ["archive_bomb"]
    assert time.process_time() - started < 1


def test_a_name_of_thirty_thousand_folders_is_refused(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/" * 30_000 + "x.png", b"x")
    assert codes(tmp_path, file.getvalue()) == ["bad_archive"]


def test_a_quoted_field_without_an_end_is_refused(tmp_path):
    body = b'a,y\n1,0\n2,1\n"' + b"x\n" * (25 * 2**20)
    assert codes(tmp_path, body)


def bomb(side=13_000):
    """A PNG of half a megabyte and 169 million pixels."""

    def chunk(name, content):
        body = name + content
        return struct.pack(">L", len(content)) + body + struct.pack(">L", zlib.crc32(body))

    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(1 + 3 * side)) for _ in range(side)) + packer.flush()
    header = struct.pack(">LLBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def test_a_picture_of_too_many_pixels_is_not_unpacked_for_a_prediction(shared, published):
    model, _ = published("image")
    answer = shared.http.post(
        "/predict", params={"model": model}, content=bomb(), headers={"Content-Type": "image/png"}
    )
    assert answer.status_code == 422
    gif = b"GIF89a" + bytes(100)
    for body in (gif, b"SIMPLE  =" + bytes(3000), b"gd2\x00" + bytes(100)):
        answer = shared.http.post(
            "/predict", params={"model": model}, content=body, headers={"Content-Type": "image/png"}
        )
        assert answer.status_code == 422


def test_ten_thousand_ranges_cost_nothing(shared):
    ranges = {"Range": "bytes=" + ",".join(["0-"] * 10_000)}
    for path in ("/", "/openapi.json", "/jobs", "/reference"):
        took = {"plain": [], "ranges": []}
        for kind, headers in [("plain", {}), ("ranges", ranges)] * 8:  # in turns: both meet the same machine
            started = time.perf_counter()
            answer = shared.http.get(path, headers=headers)
            took[kind].append(time.perf_counter() - started)
            assert answer.status_code == 200
            assert "content-range" not in answer.headers
        assert min(took["ranges"]) < 0.05 + 3 * min(took["plain"])
