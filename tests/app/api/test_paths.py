"""Names that try to be paths: no parameter leads out of the store, and nobody else's file is opened."""

import http.client
import sys
import urllib.parse

import pytest

TARGET = "etc/passwd"
ESCAPES = [
    f"{up}{TARGET}"
    for up in (
        "../" * 8,
        "..%2f" * 8,
        "%2e%2e%2f" * 8,
        "%252e%252e%252f" * 8,
        "..;/" * 8,
        "..%5c" * 8,
        "..%c0%af" * 8,
        "%uff0e%uff0e/" * 8,
        "%ef%bc%8e%ef%bc%8e/" * 8,
        "/",
        "//",
        "%2f",
        "file:///",
        "file:%2f%2f%2f",
        "C:%5c",
        "%5c%5chost%5c",
        "~/",
        "%00/",
        "./",
        "....//" * 8,
    )
]
PREFIXED = [
    f"{prefix}_{'0' * 26}{tail}"
    for prefix in ("ds", "job", "mdl")
    for tail in ("/..", "%2f..", "%00", "%0a", ".", ";x")
]


@pytest.fixture(scope="module")
def opened():
    """Every file that this process opens while a test looks."""
    seen, looking = [], [True]

    def note(event, arguments):
        if looking[0] and event in ("open", "os.listdir", "os.remove", "shutil.rmtree", "os.rename"):
            seen.append(str(arguments[0]))

    sys.addaudithook(note)
    yield seen
    looking[0] = False


def status(shared, verb, path):
    """Ask for a path as it is; most clients would tidy it up first."""
    connection = http.client.HTTPConnection(shared.address.removeprefix("http://"), timeout=60)
    try:
        connection.request(verb, path, headers={"Authorization": shared.http.headers["Authorization"]})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("name", ESCAPES + PREFIXED)
def test_no_parameter_is_a_path(shared, opened, name):
    plain = urllib.parse.unquote(name)
    opened.clear()
    found = [
        status(shared, verb, f"/{kind}/{name}{part}")
        for verb, kind, part in [
            ("GET", "datasets", ""),
            ("DELETE", "datasets", ""),
            ("GET", "datasets", "/report"),
            ("GET", "jobs", ""),
            ("POST", "jobs", "/cancel"),
            ("GET", "jobs", "/transition"),
            ("GET", "jobs", "/events"),
            ("GET", "models", ""),
        ]
    ]
    answers = [
        shared.http.get("/jobs", params={"dataset_id": plain}),
        shared.http.post("/jobs", json={"dataset_id": plain}),
        shared.http.post("/predict", json={"model": plain, "inputs": [1]}),
        shared.http.post(
            "/predict", params={"model": plain}, content=b"", headers={"Content-Type": "image/png"}
        ),
    ]
    assert {*found, *(answer.status_code for answer in answers)} <= {404, 405, 422}
    assert not [path for path in opened if TARGET in path or ".." in path]


def test_a_name_that_looks_like_a_path_is_only_a_name(shared, csv_file, opened):
    opened.clear()
    name = f"../../{TARGET}"
    dataset = shared.upload(csv_file, name=name)
    assert dataset["name"] == name
    assert not [path for path in opened if TARGET in path]
