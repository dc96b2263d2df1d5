"""The border against slow, huge and ambiguous requests, probed over raw sockets."""

import asyncio
import contextlib
import gc
import json
import socket
import threading
import time

import pytest
import uvicorn

from app import limits, protocol

HEAD, BODY, PATIENCE = 1.0, 1.5, 60.0


class Hasty(protocol.Guarded):
    head_seconds = HEAD
    body_seconds = BODY
    linger_seconds = 2.0


async def answer(send, text):
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(text))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": text})


async def size(receive):
    total, message = 0, {"more_body": True}
    while message.get("more_body"):
        message = await receive()
        total += len(message.get("body", b""))
    return total, message["type"]


class Echo:
    """Tells how many bytes came; waits first, or answers without reading, where the path says so."""

    left = 0
    unheard = 0  # who waits for its turn found that nobody waits for it

    async def __call__(self, scope, receive, send):
        if scope["path"] == "/turn":
            async with asyncio.timeout(PATIENCE):
                while not scope["c2s.gone"]():
                    await asyncio.sleep(0.02)
            self.unheard += 1
            return None
        if scope["path"] == "/early":
            return await answer(send, b"early")
        if scope["path"] == "/busy":
            await asyncio.sleep(2 * BODY)
        total, last = await size(receive)
        self.left += last == "http.disconnect"
        return await answer(send, b"%d bytes to %s" % (total, scope["path"].encode()))


@contextlib.contextmanager
def serving(app, **options):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(
            app, lifespan="off", log_config=None, ws="none", timeout_keep_alive=2, **options
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


@pytest.fixture(scope="module")
def echo():
    return Echo()


@pytest.fixture(scope="module", params=["uvloop", "asyncio"])
def port(request, echo):
    app = limits.Limits(echo, upload_bytes=64 * limits.MEBI)
    with serving(app, http=Hasty, loop=request.param) as number:
        yield number


@pytest.fixture
def line(port):
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connected:
        yield connected


def read_all(line):
    parts = []
    while part := line.recv(65536):
        parts.append(part)
    return b"".join(parts)


def read_answer(line):
    """Reads exactly one answer with a content-length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(line, 1)
    head = data.decode().lower()
    length = int(head.split("content-length: ")[1].split("\r\n")[0])
    body = b""
    while len(body) < length:
        body += _some(line, length - len(body))
    return int(head.split()[1]), body


def _some(line, most):
    part = line.recv(most)
    assert part, "the server has hung up"
    return part


def refused(data, status, code):
    head, body = data.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    problem = json.loads(body)
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["type"] == f"/problems/{code}"
    assert b"x-request-id: " + problem["request_id"].encode() in head


def test_a_silent_connection_is_closed(line):
    assert read_all(line) == b""


def test_half_a_head_is_told_and_closed(line):
    line.sendall(b"GET / HTTP/1.1\r\nhost: h\r\nx-half:")
    refused(read_all(line), 408, "request_timeout")


def test_a_head_that_drips_is_closed_all_the_same(line):
    start = time.monotonic()
    line.settimeout(HEAD / 10)
    line.sendall(b"GET / HTTP/1.1\r\nhost: h\r\n")
    data = b""
    while not data and time.monotonic() < start + PATIENCE:
        line.sendall(b"a")
        with contextlib.suppress(TimeoutError):
            data = line.recv(65536)
    refused(data, 408, "request_timeout")


def test_blank_lines_do_not_keep_a_connection(line):
    line.sendall(b"GET /a HTTP/1.1\r\nhost: h\r\n\r\n")
    assert read_answer(line)[0] == 200
    line.sendall(b"\r\n\r\n")
    assert read_all(line) == b""


def test_an_answered_connection_is_kept_and_closed_when_idle(line):
    for path in (b"/a", b"/b", b"/c"):
        line.sendall(b"POST " + path + b" HTTP/1.1\r\nhost: h\r\ncontent-length: 3\r\n\r\nabc")
        assert read_answer(line) == (200, b"3 bytes to " + path)
        time.sleep(0.1)
    assert read_all(line) == b""


@pytest.mark.parametrize(
    "filler",
    [b"x-%d: " + b"a" * 1000 + b"\r\n", b"a" * 1000],
    ids=["many_headers", "one_endless_header"],
)
def test_three_megabytes_of_headers_are_431(line, filler):
    line.sendall(b"GET / HTTP/1.1\r\nhost: h\r\nx-first: ")
    for _ in range(3000):
        line.sendall(filler)
    refused(read_all(line), 431, "headers_too_large")


def test_a_whole_head_of_33_kilobytes_is_431_and_one_of_31_is_not(line, port):
    request = b"GET /x HTTP/1.1\r\nhost: h\r\nconnection: close\r\nx-large: %s\r\n\r\n"
    line.sendall(request % (b"a" * 31 * 1024))
    assert read_all(line).startswith(b"HTTP/1.1 200 ")
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as other:
        other.sendall(request % (b"a" * 33 * 1024))
        refused(read_all(other), 431, "headers_too_large")


def test_a_long_address_is_431(line):
    line.sendall(b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nhost: h\r\n\r\n")
    refused(read_all(line), 431, "headers_too_large")


def test_a_large_body_does_not_count_as_head(line):
    body = b"a" * 500_000
    request = b"POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: %d\r\n\r\n" % len(body)
    line.sendall((request + body) * 3)
    for _ in range(3):
        assert read_answer(line) == (200, b"500000 bytes to /x")


def test_half_a_body_is_told_and_closed_and_the_application_hears_of_it(line, echo):
    before = echo.left
    line.sendall(b"POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: 10\r\n\r\nhalf")
    data = read_all(line)
    refused(data, 408, "request_timeout")
    assert "no byte of the body" in json.loads(data.split(b"\r\n\r\n")[1])["detail"]
    deadline = time.monotonic() + 10  # the line is closed first, the application hears of it next
    while echo.left == before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert echo.left == before + 1


def test_half_a_chunk_is_told_and_closed(line):
    line.sendall(b"POST /x HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\nff\r\nhalf")
    refused(read_all(line), 408, "request_timeout")


def test_a_slow_body_with_progress_survives(line):
    line.sendall(b"POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: 10\r\n\r\n")
    for _ in range(10):
        time.sleep(BODY / 5)
        line.sendall(b"a")
    assert read_answer(line) == (200, b"10 bytes to /x")


def test_time_in_which_the_application_does_not_read_is_not_the_client_s(line):
    body = b"a" * 900_000
    line.sendall(b"POST /busy HTTP/1.1\r\nhost: h\r\ncontent-length: %d\r\n\r\n" % len(body))
    line.sendall(body)
    assert read_answer(line) == (200, b"900000 bytes to /busy")


def test_a_client_may_wait_for_a_late_continue(line):
    line.sendall(b"POST /busy HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n")
    assert line.recv(25, socket.MSG_WAITALL) == b"HTTP/1.1 100 Continue\r\n\r\n"
    line.sendall(b"abc")
    assert read_answer(line) == (200, b"3 bytes to /busy")


AMBIGUOUS = {
    "length_then_chunked": b"content-length: 3\r\ntransfer-encoding: chunked",
    "chunked_then_length": b"transfer-encoding: chunked\r\ncontent-length: 3",
    "capitals": b"Content-Length: 3\r\nTransfer-Encoding: Chunked",
    "two_lengths": b"content-length: 3\r\ncontent-length: 4",
    "listed_lengths": b"content-length: 3, 4",
    "signed_length": b"content-length: +3",
    "unknown_coding": b"transfer-encoding: cow",
    "chunked_not_last": b"transfer-encoding: chunked, gzip",
    "space_before_colon": b"transfer-encoding : chunked",
    "length_and_odd_coding": b"content-length: 3\r\ntransfer-encoding: xchunked",
    "length_and_no_coding": b"content-length: 3\r\ntransfer-encoding:",
    "tab_before_coding": b"content-length: 3\r\ntransfer-encoding:\tchunked",
    "folded": b"content-length: 3\r\nx: y\r\n transfer-encoding: chunked",
}


@pytest.mark.parametrize("fields", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_a_request_with_two_possible_ends_is_400(line, fields):
    smuggled = b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: h\r\n\r\n"
    line.sendall(b"POST /x HTTP/1.1\r\nhost: h\r\n" + fields + b"\r\n\r\n" + smuggled)
    refused(read_all(line), 400, "bad_request")


@pytest.mark.parametrize("size", [b"3;\nxx", b"0x3", b"-1", b"fffffffffffffffff", b" 3", b"3 \n"])
def test_a_chunk_size_with_two_readings_is_400(line, size):
    head = b"POST /x HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n"
    line.sendall(head + size + b"\r\nabc\r\n0\r\n\r\n")
    refused(read_all(line), 400, "bad_request")


def test_chunks_are_refused_from_http_1_0(line):
    line.sendall(b"POST /x HTTP/1.0\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n")
    refused(read_all(line), 400, "bad_request")


def test_pipelined_requests_are_answered_in_order(line):
    line.sendall(b"".join(b"GET /%d HTTP/1.1\r\nhost: h\r\n\r\n" % number for number in range(50)))
    for number in range(50):
        assert read_answer(line) == (200, b"0 bytes to /%d" % number)


def test_requests_before_a_bad_one_are_answered_and_nothing_after_it(line):
    good = b"POST /good HTTP/1.1\r\nhost: h\r\ncontent-length: 1\r\n\r\na"
    line.sendall(good + good + b"NONSENSE\r\n\r\n" + good)
    assert read_answer(line) == (200, b"1 bytes to /good")
    assert read_answer(line) == (200, b"1 bytes to /good")
    assert read_all(line) == b""


def test_half_a_head_behind_a_busy_request_waits_for_its_turn(line):
    line.sendall(b"GET /busy HTTP/1.1\r\nhost: h\r\n\r\nGET /next HTTP/1.1\r\n")
    assert read_answer(line) == (200, b"0 bytes to /busy")
    line.sendall(b"host: h\r\n\r\n")
    assert read_answer(line) == (200, b"0 bytes to /next")


def test_a_client_that_sends_everything_before_it_reads_still_gets_its_413(line):
    body = b"a" * limits.MEBI
    line.sendall(b"POST /x HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n")
    for _ in range(64):
        line.sendall(b"%x\r\n%s\r\n" % (len(body), body))
    line.sendall(b"0\r\n\r\n")
    status, answered = read_answer(line)
    assert (status, json.loads(answered)["code"]) == (413, "body_too_large")
    line.sendall(b"GET /again HTTP/1.1\r\nhost: h\r\n\r\n")
    assert read_answer(line) == (200, b"0 bytes to /again")


def test_an_early_answer_does_not_buy_an_endless_body(line):
    line.sendall(b"POST /early HTTP/1.1\r\nhost: h\r\ncontent-length: 99999999999\r\n\r\n")
    assert read_answer(line)[0] == 413
    line.sendall(b"POST /early HTTP/1.1\r\n")
    with contextlib.suppress(ConnectionError):
        for _ in range(int(PATIENCE * 100)):
            line.sendall(b"a" * 1000)
            time.sleep(0.01)
        raise AssertionError("still open")


def test_an_upgrade_is_ignored_and_the_connection_ends(line):
    upgrade = b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\r\n"
    line.sendall(b"GET /up HTTP/1.1\r\nhost: h\r\n" + upgrade + b"GET /smuggled HTTP/1.1\r\n\r\n")
    data = read_all(line)
    assert data.startswith(b"HTTP/1.1 200 ")
    assert b"smuggled" not in data


@pytest.mark.parametrize(
    "junk", [b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00" * 9]
)
def test_what_is_not_http_is_400(line, junk):
    line.sendall(junk)
    refused(read_all(line), 400, "bad_request")


def test_many_half_open_connections_do_not_stop_others(port):
    with contextlib.ExitStack() as held:
        for _ in range(200):
            half = held.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
            half.sendall(b"GET / HT")
        line = held.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
        line.sendall(b"GET /free HTTP/1.1\r\nhost: h\r\n\r\n")
        assert read_answer(line) == (200, b"0 bytes to /free")
        refused(read_all(half), 408, "request_timeout")


def test_a_full_server_answers_503_as_a_problem(echo):
    with contextlib.ExitStack() as held:
        port = held.enter_context(serving(echo, http=Hasty, limit_concurrency=1))
        line = held.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
        line.sendall(b"GET /full HTTP/1.1\r\nhost: h\r\n\r\n")
        data = read_all(line)
    refused(data, 503, "unavailable")
    assert b"\r\nretry-after: " in data


def test_the_defaults_are_the_figures_we_promise():
    ours = protocol.Guarded
    assert (ours.head_seconds, ours.body_seconds, ours.head_bytes) == (15.0, 30.0, 32 * 1024)


def test_one_who_waits_for_its_turn_can_ask_whether_the_client_has_left(echo, port):
    before, start = echo.unheard, time.monotonic()
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as line:
        line.sendall(b"GET /turn HTTP/1.1\r\nhost: h\r\n\r\n")
        time.sleep(0.2)
        assert echo.unheard == before
    while echo.unheard == before and time.monotonic() < start + PATIENCE:
        time.sleep(0.02)
    assert echo.unheard == before + 1


def test_an_answered_request_leaves_nothing_to_the_collector_of_cycles(port):
    def alive():
        return sum(type(one) is limits.Exchange for one in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = alive()  # takes a second among many objects: a line that is open meanwhile would be hung up
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as line:
            for _ in range(50):
                line.sendall(b"GET /a HTTP/1.1\r\nhost: h\r\n\r\n")
                assert read_answer(line)[0] == 200
        assert alive() <= before + 2  # the last one may still be ending
    finally:
        gc.enable()
