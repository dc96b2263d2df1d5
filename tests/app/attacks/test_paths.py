"""A6 and A7 by corpus: 200 names that try to be paths or addresses, in every parameter of every operation."""

import contextlib
import http.client
import itertools
import json
import os
import re
import sys
import sysconfig
import urllib.parse
from pathlib import Path

import pytest
from watching import watched

ROOT = Path(__file__).parents[3]
EVENTS = (
    *("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link"),
    *("os.symlink", "os.truncate", "os.chmod", "shutil.rmtree", "shutil.copyfile", "shutil.move"),
)
CONNECTS = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "subprocess.Popen", "os.system")
TARGETS = ("etc/passwd", "proc/self/environ", "canary")
UPS = (
    *("../", "..%2f", "%2e%2e/", "%2e%2e%2f", "%2E%2E%2F", ".%2e/", "%2e./", "%252e%252e%252f"),
    *("%25252e%25252e%25252f", "..%252f", "..%25252f", "..;/", "..;x=y/", ";/../", "..%3b/", "..%00/"),
    *("..\\", "..%5c", "%2e%2e%5c", "%252e%252e%255c", "..%c0%af", "%c0%ae%c0%ae/", "%c0%ae%c0%ae%c0%af"),
    *("..%c1%9c", "%e0%80%ae%e0%80%ae/", "..%e0%80%af", "..%f0%80%80%af", "%uff0e%uff0e/", "..%u2215"),
    *("..%u2216", "%ef%bc%8e%ef%bc%8e/", "..%ef%bc%8f", "%e2%80%a5/", "..%e2%88%95", "..%e2%81%84", "....//"),
    *(
        "..././",
        "...//",
        ".../",
        ".//..//",
        "./../",
        "/../",
        "//..//",
        "..%0d/",
        "..%0a/",
        "..%09/",
        "..%20/",
    ),
    *("%20../", "..?/", "..#/", "..%23/", "..%3f/", "..%26/", "..%2e/"),
)
PREFIXES = (
    *(
        "/",
        "//",
        "///",
        "%2f",
        "%2f%2f",
        "%252f",
        "/./",
        "~/",
        "~root/",
        "%7e/",
        "file:///",
        "file:/",
        "file:%2f%2f",
    ),
    *(
        "file://localhost/",
        "C:/",
        "C:%5c",
        "c:",
        "%5c%5chost%5c",
        "//host/",
        "%5c%5c?%5c",
        "%5c%5c.%5c",
        "\\\\",
    ),
    *(
        "%00/",
        "%00",
        "x%00/../",
        ".",
        "./",
        "..",
        "-",
        "--",
        "@",
        "|",
        "$HOME/",
        "${HOME}/",
        "%HOME%/",
        "`id`/",
    ),
    *("$(id)/", ";id;", "{{7*7}}/", "%25n", "%s%s%s", "'%20or%201=1--/", '"/', "<x>/", "\\u002e\\u002e/"),
)
SCHEMES = (
    *("http://127.0.0.1:1/", "http://169.254.169.254/latest/", "https://[::1]/", "http://0x7f000001/"),
    *("http://2130706433/", "http://localhost%00.example/", "ftp://127.0.0.1/", "gopher://127.0.0.1:6379/_"),
    *(
        "dict://127.0.0.1:6379/",
        "ldap://127.0.0.1/",
        "redis://127.0.0.1/",
        "jar:http://127.0.0.1!/",
        "data:,x/",
    ),
    *(
        "s3://bucket/",
        "gs://bucket/",
        "hdfs://host/",
        "unix:///run/x/",
        "\\\\127.0.0.1\\share\\",
        "php://input/",
    ),
)
DEVICES = ("CON", "NUL", "LPT1", "COM1.csv", "/dev/null", "/dev/zero", "/proc/self/mem", "a:b", ".git/config")
IDS = [
    f"{prefix}_{'0' * 26}{tail}"
    for prefix in ("ds", "job", "mdl")
    for tail in ("/..", "%2f..", "%00", "%0a", ".", ";x", "%20", "/../../canary")
]
CORPUS = [
    *(up * 8 + target for up, target in zip(UPS, itertools.cycle(TARGETS), strict=False)),
    *(up + "canary" for up in UPS),
    *(prefix + target for prefix, target in zip(PREFIXES, itertools.cycle(TARGETS), strict=False)),
    *(scheme + "canary" for scheme in SCHEMES),
    *DEVICES,
    *IDS,
    "a" * 5000,
    "../" * 2000,
    "%2e" * 2000,
]
EACH = 12  # of the corpus for a parameter; in turns, so that all are tried, and all of it on the first of each kind


class Client:
    """Asks for a path as it is; most clients would tidy it up first."""

    def __init__(self, service):
        self.place = service.address.removeprefix("http://")
        self.key = {"Authorization": service.http.headers["Authorization"]}
        self.line = http.client.HTTPConnection(self.place, timeout=60)

    def status(self, verb, path, headers=(), body=None):
        whole = self.key | dict(headers) | ({"Content-Type": "application/json"} if body is not None else {})
        with_length = {"Content-Length": str(len(body))} if body is not None else {}
        try:
            self.line.putrequest(verb, "x", skip_accept_encoding=True)
        except http.client.CannotSendRequest:
            self.line.close()
            self.line.putrequest(verb, "x", skip_accept_encoding=True)
        # The library refuses such addresses, so ours takes the place of the one it was given.
        self.line._buffer[0] = b"%s %s HTTP/1.1" % (verb.encode(), plain(path))
        for name, value in (whole | with_length).items():
            self.line.putheader(name, value)
        self.line.endheaders(body)
        answer = self.line.getresponse()
        answer.read()
        return answer.status


def plain(path):
    """As bytes of a request line: whatever would end it is escaped."""
    return re.sub(rb"[\x00-\x20\x7f-\xff]", lambda sign: b"%%%02x" % ord(sign[0]), path.encode())


def operations(service):
    for path, verbs in service.http.get("/openapi.json").json()["paths"].items():
        for verb, operation in verbs.items():
            yield verb.upper(), path, operation


def places(service):
    """Every parameter: the verb, the path with a gap, and what kind of parameter fills it."""
    for verb, path, operation in operations(service):
        gaps = re.findall(r"\{(\w+)\}", path)
        for gap in gaps:
            yield "path", verb, path, gap
        for each in operation.get("parameters", []):
            if each["in"] in ("query", "header"):
                yield each["in"], verb, path, each["name"]
        if "requestBody" in operation and path != "/datasets":
            for name in ("dataset_id", "model", "name", "net", "method", "id", "path", "url"):
                yield "body", verb, path, name


def ask(client, place, name):
    """One try; only a path is sent as it is spelt, the others as what it means."""
    kind, verb, path, gap = place
    meant = urllib.parse.unquote(name, errors="surrogateescape").encode(errors="surrogateescape")
    filled = path.replace(f"{{{gap}}}", name) if kind == "path" else path
    filled = re.sub(r"\{(\w+)_id\}", lambda found: known(found[1]), filled)
    if kind == "query":
        spelt = name if len(name) % 2 else urllib.parse.quote(meant)
        filled += f"?{gap}={spelt.replace('#', '%23').replace('&', '%26')}"
    headers = {gap: re.sub(rb"[\x00-\x1f\x7f]", b"", meant)} if kind == "header" else {}
    if (verb, path) == ("POST", "/datasets"):  # else every try would start a reader
        headers["Content-Encoding"] = "gzip"
    body = json.dumps({gap: meant.decode("latin-1")}).encode() if kind == "body" else None
    return client.status(verb, filled, headers, body)


def known(kind):
    prefix = {"dataset": "ds", "model": "mdl", "project": "prj"}.get(kind, kind)
    return f"{prefix}_{'0' * 26}"


def inside(path, home):
    """Whether a process of ours may open this: its home, Python's files, which load late, and its own figures."""
    where = os.path.realpath(os.fsdecode(path))
    if where in {"/proc/stat", *(f"/proc/{os.getpid()}/{name}" for name in ("stat", "limits", "fd"))}:
        return True
    libraries = {sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), str(ROOT)}
    return any(where == root or where.startswith(f"{root}/") for root in (*libraries, str(home)))


@pytest.fixture(scope="module")
def canary(shared):
    """A file just outside the store and one outside home, where short climbs would end."""
    spots = [shared.settings.root / "canary", shared.settings.root.parent / "canary"]
    for spot in spots:
        spot.write_text("untouched")
    yield spots
    assert [spot.read_text() for spot in spots] == ["untouched"] * 2


def tried(shared, canary, tries):
    client = Client(shared)
    with contextlib.closing(client.line), watched(*EVENTS, *CONNECTS) as seen:
        statuses = {(kind, ask(client, (kind, *rest), name)) for kind, *rest, name in tries}
    strange = [
        event
        for event in seen
        if event[0] in EVENTS
        and isinstance(event[1], str | bytes | os.PathLike)
        and (not inside(event[1], shared.settings.root) or os.path.realpath(event[1]) in map(str, canary))
    ]
    assert strange == []
    reached = {event[2] for event in seen if event[0] == "socket.connect"}
    assert {f"{host}:{port}" for host, port in reached} <= {client.place}
    assert [event for event in seen if event[0] in ("subprocess.Popen", "os.system")] == []
    return statuses


def test_the_corpus_is_as_large_as_promised():
    assert len(CORPUS) == len(set(CORPUS)) >= 200


def test_no_id_in_an_address_is_a_path(shared, canary):
    first = [("path", "GET", f"/{kind}/{{gap}}", "gap") for kind in ("datasets", "jobs", "models")]
    first += [("path", "DELETE", "/datasets/{gap}", "gap"), ("path", "GET", "/jobs/{gap}/transition", "gap")]
    statuses = tried(shared, canary, [(*place, name) for place in first for name in CORPUS])
    assert {status for _, status in statuses} <= {400, 404, 405, 422, 431}


def test_no_parameter_of_any_operation_is_a_path_or_an_address(shared, canary):
    turn = itertools.cycle(CORPUS)
    found = list(places(shared))
    assert len({kind for kind, *_ in found}) == 4
    tries = [(*place, next(turn)) for place in found for _ in range(EACH)]
    assert {name for *_, name in tries} == set(CORPUS)
    statuses = tried(shared, canary, tries)
    refused = {400, 403, 404, 405, 409, 415, 422, 431}
    assert {status for kind, status in statuses if kind == "path"} <= refused
    # the name of a project or of a key is a text to show: taken, and nothing is opened by it
    assert {status for kind, status in statuses if kind == "body"} <= refused | {200, 201}
    assert not [status for _, status in statuses if status >= 500]


def test_a_name_that_looks_like_a_path_is_only_a_name(shared, csv_file, canary):
    for name in ("../../etc/passwd", "/canary", "http://127.0.0.1/"):
        with watched("open", "socket.connect") as seen:
            dataset = shared.upload(csv_file, name=name)
        assert dataset["name"] == name
        assert not [event for event in seen if event[0] == "open" and name in str(event[1])]
    assert canary


def test_the_hook_sees_a_file_that_is_opened(tmp_path):
    with watched(*EVENTS) as seen:
        (tmp_path / "mine").write_text("x")
    assert [Path(event[1]).name for event in seen if event[0] == "open"] == ["mine"]
    assert not inside(tmp_path / "mine", tmp_path / "home")
