"""A real server behind a faulty line: asked again a few times, then a clear error; never a wrong or half object."""

import hashlib
import secrets
import time

import pytest
from faulty_line import bucket_of

from app.core import bucket, errors

PART = 5 * 2**20
BIG = 2 * PART + 7
TRANSIENT = [500, 503, "reset", "cut", "hang"]


@pytest.fixture
def made(line):
    line.heal()
    made = bucket_of(line.url, f"bucket-{secrets.token_hex(4)}", part_bytes=PART)
    yield made
    line.heal()
    made.close()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def put(made, key, data):
    made.put(key, data, sha256(data))


@pytest.fixture
def big(tmp_path):
    path = tmp_path / "big"
    path.write_bytes(secrets.token_bytes(BIG))
    return path


@pytest.mark.parametrize("rule", [*TRANSIENT, "change what is sent", "lose the answer"])
def test_a_write_that_fails_twice_succeeds_and_happens_once(made, line, rule):
    line.break_(rule, 2, method="PUT")
    put(made, "a", b"the bytes")
    assert made.read("a") == b"the bytes"
    assert [entry.key for entry in made.list("")] == ["a"]


@pytest.mark.parametrize("rule", [500, "hang", "change what is sent"])
def test_a_write_that_always_fails_ends_with_a_clear_error_and_leaves_nothing(made, line, rule):
    line.break_(rule, method="PUT", path="/a")
    began = time.monotonic()
    with pytest.raises(errors.Unavailable, match="does not answer"):
        put(made, "a", b"the bytes")
    assert time.monotonic() - began < 15
    line.heal()
    time.sleep(2.0 if rule == "hang" else 0)  # what hangs arrives after all
    assert rule == "hang" or list(made.list("")) == []


@pytest.mark.parametrize("rule", [*TRANSIENT, "change what comes"])
def test_a_read_that_fails_twice_succeeds(made, line, tmp_path, rule):
    put(made, "a", b"the bytes")
    for read in (
        lambda: made.get("a", tmp_path / "got", sha256=sha256(b"the bytes")),
        lambda: made.read("a"),
    ):
        line.break_(rule, 2, method="GET")
        read()
    assert (tmp_path / "got").read_bytes() == b"the bytes"


@pytest.mark.parametrize("rule", [500, "cut", "hang"])
def test_a_read_that_always_fails_leaves_no_file(made, line, tmp_path, rule):
    put(made, "a", b"the bytes")
    line.break_(rule, method="GET")
    with pytest.raises(errors.Unavailable, match="does not answer"):
        made.get("a", tmp_path / "got", sha256=sha256(b"the bytes"))
    assert not (tmp_path / "got").exists()


def test_changed_bytes_are_refused_however_often_they_come(made, line, tmp_path):
    put(made, "a", b"the bytes")
    line.break_("change what comes", method="GET")
    for read in (
        lambda: made.get("a", tmp_path / "got", sha256=sha256(b"the bytes")),
        lambda: made.read("a"),
    ):
        with pytest.raises(errors.Damaged):
            read()
    assert not (tmp_path / "got").exists()


def test_an_answer_that_trickles_is_given_up(made, line, tmp_path):
    data = secrets.token_bytes(100_000)  # at this pace, 2 kB a second, the whole would take 50 seconds
    put(made, "a", data)
    line.break_("trickle", method="GET")
    began = time.monotonic()
    with pytest.raises(errors.Unavailable):
        made.get("a", tmp_path / "got", sha256=sha256(data))
    assert time.monotonic() - began < 20


def test_an_object_is_written_once(made):
    put(made, "a", b"first")
    put(made, "a", b"first")  # again, as after an answer that was lost
    with pytest.raises(errors.Conflict, match="other bytes"):
        put(made, "a", b"other")
    assert made.read("a") == b"first"


def test_a_large_file_travels_in_parts_and_appears_whole(made, big, tmp_path):
    made.put("big", big, sha256(big.read_bytes()))
    made.get("big", tmp_path / "got", sha256=sha256(big.read_bytes()))
    assert (tmp_path / "got").read_bytes() == big.read_bytes()
    made.put("big", big, sha256(big.read_bytes()))
    other = tmp_path / "other"
    other.write_bytes(bytes(BIG))
    with pytest.raises(errors.Conflict):
        made.put("big", other, sha256(bytes(BIG)))
    assert list(made.unfinished()) == []


@pytest.mark.parametrize("rule", [500, "change what is sent", "lose the answer"])
def test_parts_that_fail_are_sent_again(made, line, big, rule):
    line.break_(rule, 2, path="uploadId")
    made.put("big", big, sha256(big.read_bytes()))
    assert made.sha256("big") == sha256(big.read_bytes())
    assert list(made.unfinished()) == []


def test_an_upload_in_parts_that_breaks_off_leaves_nothing_visible(made, line, big):
    line.break_(500, method="PUT", path="partNumber=2")
    with pytest.raises(errors.Unavailable):
        made.put("big", big, sha256(big.read_bytes()))
    line.heal()
    assert list(made.list("")) == []
    assert list(made.unfinished()) == []


def test_uploads_whose_process_died_are_listed_and_aborted(made):
    made._line.ask("POST", made._path("left"), {"uploads": ""})
    ((key, upload, began),) = made.unfinished()
    assert (key, abs(time.time() - began) < 60) == ("left", True)
    made.abort(key, upload)
    assert list(made.unfinished()) == []


def test_listings_go_on_over_pages_and_deleting_takes_many(made, monkeypatch):
    monkeypatch.setattr(bucket, "MOST_DELETED", 4)
    page = made._page
    monkeypatch.setattr(made, "_page", lambda query: page({**query, "max-keys": "3"}))
    names = [f"many/{number:02d}" for number in range(10)]
    for name in names:
        put(made, name, b"x")
    put(made, "other", b"x")
    assert [entry.key for entry in made.list("many/")] == names
    made.delete([*names, "never there"])
    assert [entry.key for entry in made.list("")] == ["other"]


def test_what_is_not_there_is_missing_and_a_wrong_key_is_an_answer(made, line, s3_server, tmp_path):
    with pytest.raises(bucket.Missing):
        made.read("nothing")
    with pytest.raises(bucket.Missing):
        made.get("nothing", tmp_path / "got", sha256="0" * 64)
    assert made.sha256("nothing") is None
    assert not made.exists("nothing")
    nowhere = bucket_of(line.url, "x")
    nowhere._place = bucket.Place(line.url, "no-such-bucket")
    with pytest.raises(errors.Unavailable, match="NoSuchBucket"):
        nowhere.read("a")
    with pytest.raises(errors.Unavailable, match="no such bucket"):
        nowhere.answers()
    nowhere.close()


def test_a_full_server_is_storage_full(made, line):
    line.break_(507, method="PUT")
    with pytest.raises(errors.StoreFull):
        put(made, "a", b"the bytes")


def test_a_server_without_create_only_writes_is_asked_without_them(made, line):
    line.break_(501, 1, method="PUT")
    put(made, "a", b"the bytes")
    assert made.read("a") == b"the bytes"
