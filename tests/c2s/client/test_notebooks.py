"""What a notebook shows: heat maps, tables and bars, in which no user's text is markup."""

import re
import sys
import traceback
import types
from html.parser import HTMLParser

import numpy as np
import pytest

from c2s.client import (
    calls,
    datasets,
    frames,
    markup,
    problems,
    progress,
    records,
    service,
    transitions,
    workers,
)

NASTY = '<script>alert("x")</script>&\'"'


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.attributes = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text.append(data)


def transition(classes):
    count = len(classes)
    matrix = (np.full((count, count), 0.2 / count) + 0.8 * np.eye(count)).tolist()
    return transitions.Transition(
        {
            "classes": classes,
            "matrix": matrix,
            "final": True,
            "estimator": "anchors",
            "noise_rate": {"class": 0.2, "similarity": 0.1},
            "similarity": {"t00": 0.9, "t01": 0.1, "t10": 0.3, "t11": 0.7},
            "learnability": {"warnings": [f"beware of {NASTY}"]},
        }
    )


def test_a_matrix_is_a_heat_map_with_every_class_named():
    found = transition(["cat", "dog", NASTY])
    shown = Tags(found._repr_html_())
    assert shown.tags.count("td") == 9
    assert NASTY in shown.text
    assert "script" not in shown.tags
    assert any(name == "title" and NASTY in value for name, value in shown.attributes)
    assert "20.0% of the labels wrong" in "".join(shown.text)
    assert "3 classes" in repr(found)


def test_a_hundred_classes_are_a_grid_of_colours():
    page = transition([str(number) for number in range(100)])._repr_html_()
    assert len(Tags(page).tags) > 10_000
    assert not re.search(r">0\.\d\d</td>", page)


def test_rows_are_a_table_of_the_first_of_them():
    found = frames.Rows([{"row": number, "given": NASTY, "suggested": None} for number in range(50)])
    shown = Tags(found._repr_html_())
    assert "script" not in shown.tags
    assert "30 more rows" in shown.text
    assert (len(found), found[3]["row"], len(found[:5])) == (50, 3, 5)
    assert found.to_arrow().num_rows == 50


def test_cells_stay_small_whatever_they_hold():
    long = frames.Rows([{"probabilities": [1 / 3] * 100, "said": "x" * 5000, "none": []}])._repr_html_()
    assert len(long) < 1000
    assert "0.3333, 0.3333" in long
    assert "... 90 more" in long
    assert Tags(markup.facts("t", {"classes": [NASTY, "b"]})).text[-1] == f"{NASTY}, b"


def test_datasets_and_workers_show_themselves():
    raw = {"id": "ds_1", "name": NASTY, "state": "ready", "rows": 60, "classes": ["a", NASTY]}
    shown = Tags(datasets.Dataset(None, raw)._repr_html_())
    assert "script" not in shown.tags
    assert {"ds_1", NASTY, "60", f"a, {NASTY}"} <= set(shown.text)
    worker = Tags(workers.Worker(None, {"id": "wrk_1", "host": NASTY, "jobs": []})._repr_html_())
    assert NASTY in worker.text


def test_an_error_of_a_cell_ends_with_what_to_do():
    answer = calls.Answer(401, {}, b'{"code": "unauthorized", "detail": "send a key"}')
    problem = service.Service(None, True, advice="look there")._refusal(answer)
    assert traceback.format_exception(problem)[-2:] == [
        "c2s.client.problems.Unauthorized: unauthorized: send a key\n",
        "look there\n",
    ]


def test_frames_need_pandas_and_say_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(problems.Unusable, match="pip install pandas"):
        frames.Rows([{"a": 1}]).to_pandas()


def test_frames_are_pandas_where_it_is_installed():
    pytest.importorskip("pandas")
    frame = frames.Rows([{"row": 1, "given": "a"}, {"row": 2, "given": "b"}]).to_pandas()
    assert list(frame["given"]) == ["a", "b"]
    assert transition(["a", "b"]).to_pandas().loc["a", "a"] == pytest.approx(0.9)


def test_a_record_tells_what_it_knows_and_what_it_does_not():
    found = records.Record(None, {"id": "job_1", "state": "queued", "new_field": 7})
    assert (found.id, found.new_field) == ("job_1", 7)
    assert "state='queued'" in repr(found)
    with pytest.raises(AttributeError, match="nosuch"):
        getattr(found, "nosuch")  # noqa: B009 - what is not there
    assert "new_field" in dir(found)


def events():
    yield {"number": 1, "type": "state", "data": {"state": "queued"}}
    yield {"number": 2, "type": "phase", "data": {"phase": "stage1"}}
    told = {"phase": "stage1", "epoch": 1, "epochs": 4, "fraction": 0.25, "eta_seconds": 75.0}
    yield {"number": 3, "type": "progress", "data": told}
    yield {"number": 4, "type": "epoch", "data": {}}
    yield {"number": 5, "type": "end", "data": {"state": "succeeded"}}


def test_a_bar_in_a_notebook_is_replaced_by_each_event(monkeypatch):
    shown = []
    handle = types.SimpleNamespace(update=shown.append)
    display = types.ModuleType("IPython.display")
    display.HTML, display.display = str, lambda *_, **__: handle
    shell = types.ModuleType("IPython")
    shell.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with progress.reporting(True, NASTY) as report:
        for event in events():
            report(event)
    assert 'value="0.2500"' in shown[3]
    assert "stage1 1/4, 1 min 15 s left" in shown[3]
    assert 'value="1.0000"' in shown[-1]
    assert all(Tags(one).tags == ["progress"] for one in shown)


def test_a_log_gets_a_line_for_each_state_and_phase(capsys):
    with progress.reporting(True, "job [bold]") as report:
        for event in events():
            report(event)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "job [bold]: queued\njob [bold]: stage1\njob [bold]: succeeded\n"


def test_a_bar_in_a_terminal_ends_with_the_job_s_state(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress.reporting(True, "job [bold]") as report:
        for event in events():
            report(event)
    said = capsys.readouterr().err
    assert "job [bold]" in said
    assert "succeeded" in said


@pytest.mark.parametrize(("seconds", "said"), [(4.2, "4 s"), (61, "1 min 01 s"), (7325, "2 h 02 min")])
def test_durations_are_said_as_people_do(seconds, said):
    assert progress.duration(seconds) == said


def test_text_is_escaped_wherever_it_stands():
    assert Tags(markup.facts(NASTY, {NASTY: NASTY, "none": None})).tags == [
        "table",
        "caption",
        "tr",
        "td",
        "td",
    ]
