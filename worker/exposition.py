"""A worker's figures for Prometheus, on a port of their own; one scraper at a time, with the token."""

import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import structlog
from celery import signals

from app.core import access, metrics, settings

log = structlog.get_logger("c2s.worker")


class Page(BaseHTTPRequestHandler):
    """GET /metrics, and nothing else."""

    timeout = 5  # a scraper that says nothing keeps the others waiting no longer
    token = ""  # nosec B105 # given by whoever serves it

    def do_GET(self) -> None:
        """Answer a scraper."""
        if self.path != "/metrics":
            self._answer(404, b"")
        elif not access.matches(self.headers.get("Authorization", ""), f"Bearer {self.token}"):
            self._answer(401, b"")
        else:
            self._answer(200, metrics.exposition())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", metrics.CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        if status == 401:
            self.send_header("WWW-Authenticate", 'Bearer realm="c2s"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Scrapes are not worth a line."""


def serve(chosen: settings.Settings) -> HTTPServer:
    """Answer scrapers from a thread, for as long as the process lives."""
    page = type("Page", (Page,), {"token": access.token(chosen)})
    server = HTTPServer((chosen.host, chosen.metrics_port), page)
    os.register_at_fork(after_in_child=server.socket.close)  # a pool process must not keep the port
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


@signals.worker_ready.connect
def _start(**_: object) -> None:
    chosen = settings.load()
    if chosen.metrics_port:
        try:
            serve(chosen)
        except OSError as exc:  # a worker works without being watched
            log.error("metrics_port_taken", port=chosen.metrics_port, error=type(exc).__name__)
