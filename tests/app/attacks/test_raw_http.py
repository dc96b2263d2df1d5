"""A13, A14 and Z5, the wire itself: a bounded fuzz of chunks, lengths, heads and slow sends over raw sockets."""

import contextlib
import random
import socket
import time

import httpx
import pytest

from app import protocol

SECONDS = 12.0
SEED = 20_261_116
VERBS = [
    b"GET",
    b"POST",
    b"DELETE",
    b"PUT",
    b"OPTIONS",
    b"HEAD",
    b"TRACE",
    b"CONNECT",
    b"G\x00T",
    b"x" * 40,
    b"",
]
PATHS = [
    b"/",
    b"/jobs",
    b"/datasets",
    b"/predict",
    b"/livez",
    b"*",
    b"http://h/jobs",
    b"/\xff",
    b"//",
    b"/%",
    b"",
]
VERSIONS = [b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/1.1 ", b"http/1.1", b"HTTP/1.", b""]
FIELDS = [
    *(b"host: h", b"Host: 127.0.0.1", b"host: a\r\nhost: b", b"connection: close", b"connection: keep-alive"),
    *(b"content-length: 5", b"content-length: 0", b"content-length: 5, 6", b"content-length: -1"),
    *(
        b"content-length: 99999999999999999999",
        b"content-length: 0x5",
        b"content-length:",
        b"content-length: 5 ",
    ),
    *(b"transfer-encoding: chunked", b"transfer-encoding: identity", b"transfer-encoding: gzip, chunked"),
    *(b"Transfer-Encoding: xchunked", b"transfer-encoding:\x0bchunked", b"transfer-encoding : chunked"),
    *(
        b"expect: 100-continue",
        b"upgrade: h2c",
        b"upgrade: websocket\r\nconnection: upgrade",
        b"x: " + b"a" * 9000,
    ),
    *(
        b"x: " + b"a" * 40_000,
        b"x\x00y: z",
        b": empty",
        b" folded: x",
        b"no colon",
        b"x: \xff\xfe",
        b"te: trailers",
    ),
    *(
        b"content-type: application/json",
        b"content-type: multipart/form-data; boundary=x",
        b"range: bytes=0-",
    ),
]
CHUNKS = [
    *(
        b"5\r\nabcde\r\n0\r\n\r\n",
        b"5;x=y\r\nabcde\r\n0\r\n\r\n",
        b"5\nabcde\n0\n\n",
        b"FFFFFFFFFFFFFFFF\r\nab",
    ),
    *(
        b"-5\r\nabcde\r\n0\r\n\r\n",
        b"5\r\nabcdeXX0\r\n\r\n",
        b"0\r\nx: y\r\n\r\n",
        b"0\r\n" + b"t: u\r\n" * 9000,
    ),
    *(
        b"5;" + b"e" * 50_000 + b"\r\nabcde\r\n0\r\n\r\n",
        b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: h\r\n\r\n",
        b"5\r\nab",
    ),
    *(b"{}", b"abcde", b"", b"\x00" * 5, b"[" * 5000),
]


def request(chance):
    head = b" ".join(
        (
            chance.choice(VERBS[:4] * 4 + VERBS),
            chance.choice(PATHS),
            chance.choice(VERSIONS[:1] * 6 + VERSIONS),
        )
    )
    fields = chance.sample(FIELDS, chance.randint(0, 5))
    end = chance.choice([b"\r\n"] * 6 + [b"\n", b"\r", b"\r\n\r\n"])
    whole = end.join([head, *fields, b"", b""]) + chance.choice(CHUNKS)
    if chance.random() < 0.3:
        place = chance.randrange(len(whole) + 1)
        whole = whole[:place] + bytes([chance.randrange(256)]) + whole[place + chance.randint(0, 3) :]
    return whole * chance.choice([1, 1, 1, 2])


def exchanged(port, whole, chance):
    """Send in pieces, some slowly, some cut off; what comes back."""
    said = b""
    with socket.create_connection(("127.0.0.1", port), 20) as line, contextlib.suppress(OSError):
        cut = sorted(chance.randrange(len(whole) + 1) for _ in range(chance.randint(0, 3)))
        for begin, end in zip([0, *cut], [*cut, len(whole)], strict=True):
            line.sendall(whole[begin:end])
            time.sleep(chance.choice([0, 0, 0, 0.01]))
        line.shutdown(socket.SHUT_WR)
        while part := line.recv(65536):
            said += part
    return said


def statuses(said):
    """The status of the answers, as far as they can be told apart from bodies."""
    return [int(piece[:3]) for piece in said.split(b"HTTP/1.1 ")[1:] if piece[:3].isdigit()]


@pytest.fixture(scope="module")
def hasty():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol.Guarded, "head_seconds", 1.0)
        patch.setattr(protocol.Guarded, "body_seconds", 1.0)
        patch.setattr(protocol.Guarded, "linger_seconds", 0.5)
        yield


def test_whatever_comes_over_the_wire_the_service_answers_afterwards(
    hasty, tmp_path, run_service, csv_file, caplog
):
    chance = random.Random(SEED)  # noqa: S311
    with run_service(tmp_path) as service:
        port = httpx.URL(service.address).port
        end, count, seen = time.monotonic() + SECONDS, 0, set()
        while time.monotonic() < end or count < 100:
            whole = request(chance)
            count += 1
            found = statuses(exchanged(port, whole, chance))
            assert not [status for status in found if status >= 500 and status not in (503, 501)], whole[:300]
            seen.update(found)
        assert {400, 401} <= seen or {400, 421} <= seen
        with contextlib.ExitStack() as held:  # many that never finish, and still a place for others
            for part in (b"", b"GET", b"POST /jobs HTTP/1.1\r\ncontent-length: 9\r\n\r\n", b"\r\n") * 25:
                half = held.enter_context(socket.create_connection(("127.0.0.1", port), 20))
                half.sendall(part)
            dataset = service.upload(csv_file)["id"]
            assert service.job(dataset)["state"] == "queued"
        for _ in range(20):
            assert service.http.get("/jobs").status_code == 200
    assert not [record for record in caplog.records if record.exc_info]
