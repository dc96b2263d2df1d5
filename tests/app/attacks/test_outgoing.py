"""A7, a service that fetches for others: there is no such feature, and no connection leaves but to what we lean on."""

import ast
import urllib.parse
from pathlib import Path

from watching import watched

ROOT = Path(__file__).parents[3]
SOURCES = sorted(path for folder in ("c2s", "app", "worker") for path in (ROOT / folder).rglob("*.py"))
CLIENTS = {"httpx", "requests", "urllib3", "aiohttp", "ftplib", "smtplib", "telnetlib", "boto3", "fsspec"}
CLIENTS |= {"urllib.request", "http.client", "xmlrpc.client"}
OWN = {
    "app/embedded.py",  # these ask the service that they have started themselves
    "app/commands/demo.py",
    "app/health.py",  # the probe of a container asks its own port
    "app/core/calls.py",  # the bucket of the store, whose address is a setting
    "c2s/client/wires.py",  # the client, for users: no part that serves imports it
}
URLS = ["http://169.254.169.254/latest/meta-data", "file:///etc/passwd", "http://127.0.0.1:6379/"]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_no_part_that_serves_can_fetch():
    fetching = {
        path.relative_to(ROOT).as_posix()
        for path in SOURCES
        if any(name in CLIENTS or name.split(".")[0] in CLIENTS for name in imported(path))
    }
    assert fetching <= OWN


def test_no_part_that_serves_uses_the_client():
    users = {
        path.relative_to(ROOT).as_posix()
        for path in SOURCES
        if any(
            name.startswith("c2s.client") or name in ("c2s.Client", "c2s.AsyncClient")
            for name in imported(path)
        )
    }
    assert (
        not {path for path in users if not path.startswith(("c2s/client/", "c2s/commands/", "c2s/__init__"))}
        - OWN
    )


def told(service):
    """A whole use of the service in which every text is an address."""
    table = "link,note,y\n" + "".join(f"{URLS[i % 3]},{i},{'ab'[i % 2]}\n" for i in range(60))
    dataset = service.upload(table, name=URLS[0])["id"]
    job = service.job(dataset, name=URLS[2])["id"]
    for extra in ("webhook", "callback_url", "url", "notify"):
        refused = service.http.post("/jobs", json={"dataset_id": dataset, extra: URLS[0]})
        assert refused.status_code == 422
        assert service.http.post("/datasets", params={extra: URLS[0]}, content=table).status_code == 422
    for url in URLS:
        assert service.http.post("/jobs", json={"dataset_id": url}).status_code == 422
        assert (
            service.http.post("/predict", json={"model": url, "inputs": [url]}).status_code == 404
        )  # a name
    service.http.get(f"/jobs/{job}", headers={"Referer": URLS[0], "X-Forwarded-Host": "169.254.169.254"})
    service.http.post(f"/jobs/{job}/cancel")


def connected(seen):
    return {event[2] for event in seen if event[0] == "socket.connect"}


def test_an_embedded_service_connects_to_nothing(tmp_path, run_service):
    with watched("socket.connect") as seen, run_service(tmp_path) as service:
        told(service)
        here = urllib.parse.urlsplit(service.address)
    assert connected(seen) == {(here.hostname, here.port)}  # our own client's


def test_a_service_on_servers_connects_to_them_alone(tmp_path, run_service, redis_server, postgres_server):
    """The database's driver connects below Python's hooks; every other connection is seen."""
    place = {"broker_url": redis_server.url, "database_url": postgres_server.database(), "relay_seconds": 0.1}
    with watched("socket.connect") as seen, run_service(tmp_path, **place) as service:
        told(service)
        here = urllib.parse.urlsplit(service.address)
    allowed = {
        here.port,
        *(urllib.parse.urlsplit(place[name]).port for name in ("broker_url", "database_url")),
    }
    assert {host for host, _ in connected(seen)} <= {"127.0.0.1", "localhost"}
    assert here.port in {port for _, port in connected(seen)} <= allowed
