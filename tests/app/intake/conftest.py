"""Two ways to read a file: through the limited process, and inside this one where many cases must be cheap."""

import shutil

import pytest

from app.intake import child, options, reading, refusal


def _taken(read, tmp_path, content, limits, chosen):
    source = tmp_path / "source"
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    if content is not None:
        source.write_bytes(content.encode() if isinstance(content, str) else content)
    target = tmp_path / "out" / "data"
    try:
        report = read(source, target, options.Options(**chosen), limits or options.Limits())
    except refusal.Refused as exc:
        reasons = exc.reasons
    else:
        assert [file.name for file in target.parent.iterdir()] == ["data"]
        return report
    assert reasons
    assert {reason["code"] for reason in reasons} <= refusal.CODES
    assert not list(tmp_path.glob("out/*"))  # neither the dataset nor a temporary folder
    return reasons


@pytest.fixture
def spawned(tmp_path):
    def take(content=None, limits=None, **chosen):
        return _taken(reading.read, tmp_path, content, limits, chosen)

    return take


@pytest.fixture
def taken(tmp_path):
    def take(content=None, limits=None, **chosen):
        return _taken(child.ingest, tmp_path, content, limits, chosen)

    return take
