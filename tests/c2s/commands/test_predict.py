"""Predictions by the command, of a service that is a stand-in."""

import contextlib
from types import SimpleNamespace

import pytest

from c2s.client import problems
from c2s.commands import entry, exits, remote


@pytest.fixture
def ends(monkeypatch):
    """Lets the job of every prediction fail with this error."""

    def with_error(code, message):
        def wait(**_):
            raise problems.JobFailed("job_1", {"code": code, "message": message})

        predictions = SimpleNamespace(create=lambda *_, **__: SimpleNamespace(wait=wait))
        client = contextlib.nullcontext(SimpleNamespace(predictions=predictions))
        monkeypatch.setattr(remote, "client", lambda chosen: client)

    return with_error


def test_a_file_without_a_column_of_the_model_is_input_that_cannot_be_used(ends, capsys):
    ends("invalid_dataset", "the model needs a column 'b'")
    assert entry.main(["predict", "new.csv", "--model", "m"]) == exits.REFUSED
    assert capsys.readouterr().err == "c2s: new.csv: the model needs a column 'b'\n"


def test_a_prediction_that_fails_by_no_fault_of_its_file_is_a_failed_job(ends, capsys):
    ends("out_of_memory", "too large")
    assert entry.main(["predict", "new.csv", "--model", "m"]) == exits.FAILED
    assert "job_1 failed: out_of_memory" in capsys.readouterr().err
