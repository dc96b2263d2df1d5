"""What watching a request costs: the same application with and without its outermost layer, turn by turn.

`python tests/bench/watching.py`: in one process, without a network, log lines written to a file that nobody keeps.
"""

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from app import main
from app.core import logs, metrics, schema, settings

TOKEN = "t" * 32
ROUNDS, REQUESTS = 30, 50


def scope(app, path):
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {TOKEN}".encode())]
    return {
        "type": "http",
        "app": app,
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }


async def receive():
    return {"type": "http.request", "body": b"", "more_body": False}


async def send(message):
    assert message.get("status", 200) == 200, message


async def seconds(app, stack, path):
    began = time.process_time()  # of this process alone: other work on the machine does not count
    for _ in range(REQUESTS):
        await stack(scope(app, path), receive, send)
    return (time.process_time() - began) / REQUESTS


async def measure(app, path):
    """Microseconds without the layer, and the median over rounds of what it adds."""
    whole = app.build_middleware_stack()
    bare = app.build_middleware_stack()._app  # past the watching layer
    for stack in (whole, bare):
        await seconds(app, stack, path)
    pairs = [(await seconds(app, whole, path), await seconds(app, bare, path)) for _ in range(ROUNDS)]
    added = statistics.median(a - b for a, b in pairs)
    ratio = statistics.median(a / b for a, b in pairs)
    return 1e6 * statistics.median(b for _, b in pairs), 1e6 * added, ratio


async def run(home):
    chosen = settings.Settings(home=home, token=TOKEN, min_free_bytes=0)
    schema.upgrade(chosen.database)
    app = main.create_app(chosen)
    async with app.router.lifespan_context(app):
        for path in ("/version", "/jobs"):
            base, added, ratio = await measure(app, path)
            shared = " (shared)" if metrics.SHARED in os.environ else ""
            print(f"GET {path:<9}{base:8.1f} us, watched + {added:5.1f} us, {ratio:.3f}x{shared}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w") as file:
        logs.configure("info", "json", stream=file)
        asyncio.run(run(Path(folder)))
