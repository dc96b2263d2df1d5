"""Suspicious rows are collected page by page, whatever fields they have.

A stand-in speaks the agreed form of `GET /jobs/{id}/issues`; the real one is tested where it is built.
"""

import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pyarrow import parquet

import c2s
from c2s.client import service
from c2s.commands import entry

ROWS = [{"row": n, "row_id": f"r{n}", "given": "=cat", "suggested": "dog", "more": n / 10} for n in range(7)]


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        found = {"id": "job_1"}
        if url.path.endswith("/issues"):
            start, size = int(query.get("after", 0)), int(query["limit"])
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


@pytest.fixture
def command(job, monkeypatch, capsys):
    monkeypatch.setenv("C2S_URL", str(job._service.wire._http.base_url))

    def run(*words):
        assert entry.main(["issues", *map(str, words)]) == 0
        return capsys.readouterr().out

    return run


def test_the_command_lists_and_exports_them(command, tmp_path):
    assert json.loads(command("ls", "job_1", "--limit", 3, "-o", "json")) == ROWS[:3]
    assert "=cat" in command("ls", "job_1")
    told = json.loads(command("export", "job_1", "--out", tmp_path / "rows.jsonl", "-o", "json"))
    assert told["rows"] == len(ROWS)
    assert [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()] == ROWS
    command("export", "job_1", "--out", tmp_path / "rows.parquet")
    assert parquet.read_table(tmp_path / "rows.parquet").to_pylist() == ROWS
    command("export", "job_1", "--out", tmp_path / "rows.csv")
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert lines[:2] == [
        "row,row_id,given,suggested,more",
        "0,r0,'=cat,dog,0.0",
    ]  # which no spreadsheet computes
