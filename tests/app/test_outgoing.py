"""Answers leave in one piece where they can, and are uvicorn's where anything is out of the ordinary."""

import asyncio
import logging

import pytest
from uvicorn.protocols.http import httptools_impl

from app import outgoing

PLAIN = [(b"content-type", b"text/plain"), (b"content-length", b"4")]


class Line:
    """A transport that remembers what was written."""

    def __init__(self):
        self.written, self.closed = [], False

    def write(self, data):
        self.written.append(bytes(data))

    def close(self):
        self.closed = True


class Flow:
    write_paused = False


def said(headers, *bodies, status=200, **more):
    """What goes over the line for a start and these bodies, write by write; and the cycle afterwards."""
    line, done = Line(), []

    async def run():
        cycle = httptools_impl.RequestResponseCycle(
            scope={"type": "http", "method": more.get("method", "GET")},
            transport=line,
            flow=Flow(),
            logger=logging.getLogger("test"),
            access_logger=logging.getLogger("test"),
            access_log=False,
            default_headers=[(b"date", b"today")],
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=more.get("keep_alive", True),
            on_response=lambda: done.append(1),
        )
        cycle.disconnected = more.get("left", False)
        send = outgoing.Outgoing(cycle).send
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for number, body in enumerate(bodies, 1):
            await send({"type": "http.response.body", "body": body, "more_body": number < len(bodies)})
        return cycle

    return line, asyncio.run(run()), len(done)


def test_head_and_body_leave_together():
    line, cycle, done = said(PLAIN, b"four")
    (whole,) = line.written
    head = b"HTTP/1.1 200 OK\r\ndate: today\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\n"
    assert whole == head + b"four"
    assert (cycle.response_started, cycle.response_complete, done, line.closed) == (True, True, 1, False)


@pytest.mark.parametrize(
    ("headers", "bodies"), [(PLAIN, (b"fo", b"ur")), ([(b"content-type", b"text/plain")], (b"four",))]
)
def test_a_stream_s_head_does_not_wait_for_its_body(headers, bodies):
    line, cycle, done = said(headers, *bodies)
    assert line.written[0].endswith(b"\r\n\r\n")
    assert b"".join(line.written).count(b"HTTP/1.1") == 1
    assert (cycle.response_complete, done) == (True, 1)


def test_the_head_of_a_stream_is_out_before_anything_of_it_is_there():
    line, cycle, _ = said([(b"content-type", b"text/event-stream")])
    assert line.written
    assert cycle.response_started


@pytest.mark.parametrize("options", [{"keep_alive": False}, {"close": True}])
def test_a_connection_that_is_to_end_ends(options):
    extra = [(b"connection", b"close")] if options.pop("close", False) else []
    line, _, done = said(PLAIN + extra, b"four", **options)
    assert b"connection: close" in b"".join(line.written)
    assert (line.closed, done) == (True, 1)


def test_an_answer_to_head_has_no_body():
    line, _, done = said(PLAIN, b"four", method="HEAD")
    assert (b"".join(line.written).endswith(b"\r\n\r\n"), done) == (True, 1)


def test_nothing_is_written_to_one_who_left():
    line, _, _ = said(PLAIN, b"four", left=True)
    assert line.written == []


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (PLAIN, b"fives"),
        (PLAIN, b"two"),
        ([*PLAIN, (b"x-split", b"a\r\nset-cookie: b")], b"four"),
        ([*PLAIN, (b"x split", b"a")], b"four"),
    ],
)
def test_what_uvicorn_refuses_is_refused(headers, body):
    for _ in range(2):  # a header that was refused is not remembered as checked
        with pytest.raises(RuntimeError):
            said(headers, body)
