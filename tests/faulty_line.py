"""Does to HTTP what networks and servers do: fails, waits, breaks off, changes bytes; one thing at a time."""

import contextlib
import http.client
import socketserver
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler
from socket import SO_LINGER, SOL_SOCKET

import servers

from app.core import bucket, calls, signing


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_one_request(self):
        with contextlib.suppress(ConnectionError):
            super().handle_one_request()

    def pass_on(self):
        size = int(self.headers.get("content-length", 0))
        body = self.rfile.read(size)
        rule = self.server.rule_for(self.command, self.path)
        if rule == "reset":
            self.connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return
        if isinstance(rule, int):
            code = "SlowDown" if rule == 503 else "InternalError"
            self.reply(rule, {}, f"<Error><Code>{code}</Code></Error>".encode())
            return
        if rule == "hang":
            time.sleep(self.server.hang)
        if rule == "change what is sent" and body:
            body = bytes([body[0] ^ 1]) + body[1:]
        status, headers, answer = self.ask(body)
        if rule == "lose the answer":  # done, and nobody will hear of it
            self.reply(500, {}, b"")
        elif rule == "cut" and answer:
            self.reply(status, headers, answer[: len(answer) // 2], size=len(answer))
            self.close_connection = True
        elif rule == "change what comes" and answer and status == 200:
            self.reply(status, headers, answer[:-1] + bytes([answer[-1] ^ 1]))
        elif rule == "trickle" and answer:
            self.reply(status, headers, answer, pause=0.05)
        else:
            self.reply(status, headers, answer)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = pass_on  # noqa: N815 - the library's names

    def ask(self, body):
        line = http.client.HTTPConnection(*self.server.target, timeout=30)
        with contextlib.closing(line):
            line.request(self.command, self.path, body or None, dict(self.headers))
            answer = line.getresponse()
            kept = {
                k: v for k, v in answer.getheaders() if k.lower() not in ("connection", "transfer-encoding")
            }
            return answer.status, kept, answer.read()

    def reply(self, status, headers, answer, *, size=None, pause=0.0):
        self.send_response_only(status)
        length = headers.get("Content-Length", 0) if self.command == "HEAD" else size or len(answer)
        for name, value in {**headers, "Content-Length": str(length)}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        with contextlib.suppress(ConnectionError):
            for start in range(0, len(answer), 100 if pause else max(1, len(answer))):
                self.wfile.write(answer[start : start + 100] if pause else answer)
                time.sleep(pause)

    def log_message(self, *_):
        pass


class Faulty(socketserver.ThreadingTCPServer):
    """Stands before a server; `break_(rule, ...)` says what happens to the next requests."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port, hang=2.0):
        super().__init__(("127.0.0.1", 0), Handler)
        self.target, self.hang = ("127.0.0.1", port), hang
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.lock = threading.Lock()
        self.rule, self.left, self.where, self.seen = None, 0, ("", ""), []
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def break_(self, rule, times=10**9, *, method="", path=""):
        """Do this to the next requests of a method whose path has this in it."""
        with self.lock:
            self.rule, self.left, self.where = rule, times, (method, path)

    def heal(self):
        self.break_(None, 0)

    def rule_for(self, method, path):
        with self.lock:
            self.seen.append((method, path))
            wanted, part = self.where
            if self.left <= 0 or (wanted and method != wanted) or part not in path:
                return None
            self.left -= 1
            return self.rule

    def handle_error(self, request, client_address):
        pass

    def close(self):
        self.shutdown()
        self.server_close()


def bucket_of(url, name, **more):
    """A corner of the test server's bucket, by way of `url`, with the patience of a test."""
    who = signing.Credentials(servers.S3.KEY, servers.S3.SECRET, "us-east-1")
    patience = calls.Patience(tries=3, pause=0.02, connect=2, silence=1.5, slowest=10_000)
    return bucket.Bucket(bucket.Place(url, servers.S3.BUCKET, f"{name}/"), who, patience=patience, **more)
