"""Logs: the form that settings choose, other libraries' lines in the same form, and no secrets."""

import asyncio
import io
import json
import logging
import warnings

import pytest
import structlog

from app.core import logs, settings

PASSWORD = "correct-horse-battery"  # noqa: S105 - made up


@pytest.fixture
def told():
    """Configure logging on a stream of the test's own; all is as before afterwards."""
    root, before = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers[:], root.level

    def configure(level="info", form="json", **more):
        stream = Terminal() if more.pop("terminal", False) else io.StringIO()
        logs.configure(level, form, stream=stream, **more)
        return stream

    yield configure
    logging.captureWarnings(capture=False)
    structlog.contextvars.clear_contextvars()
    structlog.configure(**before)
    root.handlers[:], root.level = handlers, level


class Terminal(io.StringIO):
    def isatty(self):
        return True


def lines(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_one_json_object_with_the_ids_of_its_context(told):
    stream = told()
    with structlog.contextvars.bound_contextvars(request_id="r1", job_id="j1"):
        structlog.get_logger().info("claimed", text="two\nlines {braces} %s", odd={1: object})
    (line,) = lines(stream)
    assert (line["event"], line["level"], line["request_id"], line["job_id"]) == (
        "claimed",
        "info",
        "r1",
        "j1",
    )
    assert line["text"] == "two\nlines {braces} %s"
    assert line["timestamp"].endswith("Z")


@pytest.mark.parametrize("name", ["uvicorn.error", "celery.worker", "py.warnings"])
def test_other_libraries_speak_the_same_form(told, name):
    stream = told()
    with structlog.contextvars.bound_contextvars(request_id="r1"):
        if name == "py.warnings":
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.warn("careful", UserWarning, stacklevel=1)
        else:
            logging.getLogger(name).warning("careful: %s", "{of} %s this")
    (line,) = lines(stream)
    assert (line["level"], line["logger"], line["request_id"]) == ("warning", name, "r1")
    assert "careful" in line["event"]


@pytest.mark.parametrize(("level", "shown"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_the_level_decides_what_is_told(told, level, shown):
    stream = told(level)
    log = structlog.get_logger()
    for name in ("debug", "info", "warning", "error"):
        getattr(log, name)("said")
    assert len(lines(stream)) == shown


@pytest.mark.parametrize(
    ("form", "terminal", "is_json"),
    [("auto", False, True), ("auto", True, False), ("json", True, True), ("console", False, False)],
)
def test_the_form_follows_the_setting_and_auto_the_terminal(told, form, terminal, is_json):
    stream = told(form=form, terminal=terminal)
    structlog.get_logger().info("said", number=1)
    assert stream.getvalue().startswith("{") == is_json


def test_a_person_s_form_shows_what_would_command_the_terminal(told):
    stream = told(form="console")
    structlog.get_logger().info("said", name="\x1b[2Jgone\rover\nnext")
    assert "\x1b[2J" not in stream.getvalue()
    assert stream.getvalue().count("\n") == 1


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_line_holds_a_secret_of_the_process(told, form):
    chosen = settings.Settings(
        token=PASSWORD + "-token-0123456789",
        database_url=f"postgresql+psycopg://c2s:{PASSWORD}-db@db/c2s",
        broker_url=f"redis://:{PASSWORD}%2Fbroker@redis:6379/0",
    )
    stream = told(form=form, hidden=chosen.secrets)
    token, url = chosen.token.get_secret_value(), chosen.database_url
    log = structlog.get_logger()
    log.info("said", text=f"using {token}", url=url, password="anything", settings=chosen)  # noqa: S106
    logging.getLogger("kombu").error("cannot connect to %s", chosen.broker_url)
    try:
        local = token
        raise ConnectionError(f"{url} refused {local} and {PASSWORD}/broker")
    except ConnectionError:
        log.exception("failed")
    assert PASSWORD not in stream.getvalue()
    assert "anything" not in stream.getvalue()
    assert stream.getvalue().count(logs.HIDDEN) >= 5
    assert "ConnectionError" in stream.getvalue()


FACTS = {"method": "GET", "route": "/jobs", "status": 200, "seconds": 0.1, "request_id": "r1"}


def told_often(*facts, **options):
    """What the short way writes."""
    stream = io.StringIO()

    async def turn():
        tell = logs.often("request", "info", "json", stream=stream, **options)
        for one in facts:
            tell(one)
        assert stream.getvalue() == ""  # together, when all who are ready have run
        await asyncio.sleep(0)

    asyncio.run(turn())
    return stream


def test_a_line_that_is_told_often_is_the_same_line(told):
    common = told()
    structlog.get_logger().info("request", **FACTS)
    (usual,), (quick, again) = lines(common), lines(told_often(FACTS, FACTS))
    assert list(quick) == list(usual)
    assert {**quick, "timestamp": ""} == {**usual, "timestamp": ""} == {**again, "timestamp": ""}
    assert len(quick["timestamp"]) == len(usual["timestamp"])
    assert quick["timestamp"][:15] == usual["timestamp"][:15] or quick["timestamp"] > usual["timestamp"]


def test_a_line_that_is_told_often_holds_no_secret_either():
    said = told_often({**FACTS, "request_id": PASSWORD}, hidden=(PASSWORD,)).getvalue()
    assert PASSWORD not in said
    assert logs.HIDDEN in said


@pytest.mark.parametrize(("level", "form"), [("warning", "json"), ("info", "console")])
def test_there_is_no_short_way_to_a_line_that_looks_otherwise_or_is_not_shown(level, form):
    assert logs.often("request", level, form, stream=io.StringIO()) is None
