"""Suspicious rows are collected page by page, whatever fields they have.

A stand-in speaks the agreed form of `GET /jobs/{id}/issues`; the real one is tested where it is built.
"""

import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import c2s
from c2s.client import service

ROWS = [{"row": n, "row_id": f"r{n}", "given": "cat", "suggested": "dog", "more": n / 10} for n in range(7)]


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        start, size = int(query.get("after", 0)), int(query["limit"])
        found = {"id": "job_1"}
        if url.path.endswith("/issues"):
            more = start + size < len(ROWS)
            found = {"data": ROWS[start : start + size], "has_more": more}
            found["next_cursor"] = str(start + size) if more else None
        body = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def job():
    from c2s.client.jobs import Job

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    with c2s.Client(f"http://127.0.0.1:{server.server_port}", "t") as client:
        yield Job(client._service, {"id": "job_1"})
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_all_pages_are_one_list(job, monkeypatch, size):
    monkeypatch.setattr(service, "PAGE", size)
    assert list(job.issues()) == ROWS
    assert list(job.issues(limit=5)) == ROWS[:5]
    assert job.issues().to_arrow().column_names == list(ROWS[0])
