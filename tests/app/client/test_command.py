"""The command against the real service: what it prints, its exit codes, and Ctrl-C."""

import io
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import structlog

from c2s import config, errors
from c2s.client import service as asking
from c2s.commands import completion, entry, exits, train

TOKEN = "t" * 32
NOBODY = "job_" + "0" * 26


@pytest.fixture(scope="module", autouse=True)
def quiet():
    """The service of these tests is in the same process: its log would stand between what the command prints."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.fixture
def told(c2s):
    """Runs a command that must succeed, with -o json: what it says."""

    def run(*words):
        code, out, err = c2s(*words, "-o", "json")
        assert code == 0, err
        return json.loads(out)

    return run


@pytest.fixture
def table(tmp_path, csv_file):
    (tmp_path / "rows.csv").write_text(csv_file)
    return tmp_path / "rows.csv"


@pytest.fixture
def dataset(told, table):
    return told("dataset", "add", table, "--label", "y", "--name", "rows")["id"]


def claimed(shared, job_id):
    while (held := shared.claim()).job_id != job_id:
        shared.end(held, "internal")
    return held


def test_datasets_are_added_listed_reported_and_removed(c2s, told, table):
    made = told("dataset", "add", table, "--label", "y", "--drop", "c", "--kind", "tabular")
    assert (made["name"], made["rows"], made["classes"]) == ("rows.csv", 120, ["a", "b"])
    assert made["id"] in [one["id"] for one in told("dataset", "ls")]
    assert told("dataset", "report", made["id"])["columns"]["used"] == ["a", "b"]
    _, out, _ = c2s("dataset", "report", made["id"])
    assert "120" in out
    assert "was asked to be left out  leave out drop=c" in out
    assert made["id"] in c2s("dataset", "ls")[1]
    assert told("dataset", "rm", made["id"]) == {"deleted": [made["id"]]}
    assert c2s("dataset", "report", made["id"])[0] == exits.NOT_FOUND


def test_a_job_is_run_from_options_or_a_file(c2s, told, dataset, tmp_path):
    spec = tmp_path / "job.json"
    spec.write_text(json.dumps({"dataset_id": dataset, "seed": 5, "method": "ce", "stage2": {"epochs": 9}}))
    job = told("job", "run", spec, "--method", "forward", "--epochs", 2, 3, "--name", "mine", "--priority", 3)
    chosen = job["config"]
    assert (chosen["method"]["name"], chosen["seed"], chosen["stage1"]["epochs"]) == ("forward", 5, 2)
    assert (chosen["stage2"]["epochs"], job["name"], job["priority"]) == (3, "mine", 3)
    assert told("job", "get", job["id"]) == job
    assert [one["id"] for one in told("job", "ls", "--dataset", dataset, "--state", "queued")] == [job["id"]]
    assert "forward" in c2s("job", "ls")[1]
    assert told("job", "run", "--dataset", dataset, "--dry-run")["forecast"]["classes"] == 2
    assert len(told("job", "ls", "--dataset", dataset)) == 1
    assert told("job", "cancel", job["id"])["state"] == "cancelled"
    assert c2s("job", "cancel", job["id"])[0] == 0
    again = told("job", "retry", job["id"])
    assert again["retry_of"] == job["id"]
    told("job", "cancel", again["id"])


def test_a_watched_job_decides_the_exit_code(c2s, told, shared, dataset):
    failed = told("job", "run", "--dataset", dataset)["id"]
    shared.end(claimed(shared, failed), "diverged", str(errors.Diverged("stage1", 1)))
    code, out, err = c2s("job", "watch", failed, "-o", "json")
    assert code == exits.FAILED
    assert json.loads(out)["error"]["code"] == "diverged"
    assert "learning_rate" in err
    cancelled = told("job", "run", "--dataset", dataset)["id"]
    c2s("job", "cancel", cancelled)
    assert c2s("job", "watch", cancelled)[0] == exits.CANCELLED
    waiting = told("job", "run", "--dataset", dataset)["id"]
    assert c2s("job", "watch", waiting, "--timeout", "0.2")[0] == exits.AWAY
    assert told("job", "get", waiting)["state"] == "queued"
    c2s("job", "cancel", waiting)


def test_logs_are_lines_and_the_last_words_of_a_failure(c2s, told, shared, dataset):
    job = told("job", "run", "--dataset", dataset)["id"]
    held = claimed(shared, job)
    shared.beat(held, ("epoch", {"phase": "stage1", "epoch": 1, "epochs": 2, "metrics": {"loss": 0.25}}))
    shared.end(held, "diverged")
    _, out, _ = c2s("job", "logs", job, "-o", "json")
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["number"] for event in events] == list(range(1, len(events) + 1))
    assert c2s("job", "logs", job, "--follow", "-o", "json")[1] == out
    lines = c2s("job", "logs", job)[1]
    assert "loss 0.25" in lines
    assert "| diverged: for the test" in lines


def test_matrices_are_shown_exported_and_compared(c2s, told, published, trained, tmp_path):
    model, job = published("vectors")
    shown = told("transition", "show", job)
    assert told("transition", "show", model)["matrix"] == shown["matrix"]
    assert "T_c" in c2s("transition", "show", job)[1]
    assert c2s("transition", "show", job, "-o", "csv")[1].startswith("true \\ given,0,1,2")
    folder = trained("vectors")[0]
    assert told("transition", folder)["matrix"] == shown["matrix"]  # as before there were verbs
    assert json.loads(c2s("transition", "--format", "json", folder)[1])["matrix"] == shown["matrix"]
    for name in ("T.csv", "T.json", "T.npy", "T.npz"):
        assert told("transition", "export", job, "--out", tmp_path / name)["classes"] == ["0", "1", "2"]
    np.testing.assert_allclose(np.load(tmp_path / "T.npy", allow_pickle=False), shown["matrix"])
    assert json.loads((tmp_path / "T.json").read_text()) == shown
    assert c2s("transition", "export", job, "--out", tmp_path / "T.xls")[0] == exits.REFUSED
    same = told("transition", "diff", job, folder)
    assert (same["mean_row_distance"], same["largest"]) == (0, [])
    other = folder.parent.parent / "other"
    other.mkdir(exist_ok=True)
    card = json.loads((folder / "card.json").read_text())
    card["transition"]["matrix"] = np.eye(3).tolist()
    for file in folder.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    (other / "card.json").write_text(json.dumps(card))
    changed = told("transition", "diff", job, other)
    expected = np.eye(3) - np.array(shown["matrix"])
    assert changed["mean_row_distance"] == pytest.approx(np.abs(expected).sum(1).mean())
    assert abs(changed["largest"][0]["change"]) == pytest.approx(np.abs(expected).max())
    assert c2s("transition", "show", NOBODY)[0] == exits.NOT_FOUND


def test_models_are_promoted_rolled_back_and_exported(c2s, told, published, tmp_path):
    first, _ = published("vectors")
    second, _ = published("vectors", fresh=True)
    assert told("model", "ls", "--name", "vectors model")[0]["id"] == second
    assert told("model", "promote", first, "--alias", "champion")["model_id"] == first
    assert told("model", "promote", second, "--alias", "champion")["model_id"] == second
    assert told("model", "rollback", "vectors model", "--alias", "champion")["model_id"] == first
    code, _, err = c2s("model", "promote", second, "--alias", "champion", "--etag", '"1"')
    assert code == exits.REFUSED
    assert "precondition_failed" in err
    assert "decide again" in err
    out = tmp_path / "model.zip"
    assert told("model", "export", "vectors model@champion", "--out", out)["bytes"] == out.stat().st_size
    assert "champion" in c2s("model", "ls")[1]


def test_rows_are_predicted_by_a_folder_or_by_the_service(
    c2s, told, published, trained, tmp_path, monkeypatch
):
    model, _ = published("vectors")
    x = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "x.jsonl").write_text("\n".join(json.dumps(row) for row in x.tolist()))
    here = c2s("predict", trained("vectors")[0], tmp_path / "x.npz", "--all")[1]
    there = c2s("predict", tmp_path / "x.npy", "--model", model, "--all")[1]
    assert here.splitlines()[0] == there.splitlines()[0] == "id,label,probability,p(0),p(1),p(2)"
    numbers = [
        [float(cell) for cell in line.split(",")]
        for line in [*here.splitlines(), *there.splitlines()]
        if line[0].isdigit()
    ]
    np.testing.assert_allclose(numbers[:4], numbers[4:], atol=1e-5)
    lines = told("predict", tmp_path / "x.jsonl", "--model", "vectors model")
    assert [row["label"] for row in lines] == [line.split(",")[1] for line in here.splitlines()[1:]]
    monkeypatch.setattr(sys, "stdin", io.StringIO("[1, 2, 3, 4]\n"))
    assert len(told("predict", "-", "--model", model)) == 1
    assert "probability" in c2s("predict", tmp_path / "x.jsonl", "--model", model, "-o", "table")[1]
    code, _, err = c2s("predict", "nosuch", tmp_path / "x.npz")
    assert code == exits.REFUSED
    assert "--model" in err
    assert c2s("predict", tmp_path / "x.npz")[0] == exits.REFUSED


def test_keys_are_added_listed_and_removed(c2s, told):
    for words in (["read", "predict"], ["read,predict"]):
        assert sorted(told("key", "add", "two", "--scopes", *words)["scopes"]) == ["predict", "read"]
    made = told("key", "add", "ci", "--scopes", "read", "--days", "2")
    assert made["scopes"] == ["read"]
    code, secret, said = c2s("key", "add", "script")
    assert code == 0
    assert secret.startswith("c2s_") or len(secret.strip()) > 20
    assert "shown only now" in said
    assert {"ci", "script"} <= {one["name"] for one in told("key", "ls")}
    assert secret.strip() not in c2s("key", "ls")[1]
    assert told("key", "rm", made["id"])["revoked_at"]
    assert c2s("key", "add", "x", "--scopes", "fly")[0] == exits.REFUSED


def test_suspicious_rows_are_asked_for_by_job(c2s):
    assert c2s("issues", "ls", NOBODY)[0] == exits.NOT_FOUND
    assert c2s("issues", "export", NOBODY, "--out", "rows.xls")[0] == exits.REFUSED


def test_errors_name_the_code_and_what_to_do(c2s, dataset, monkeypatch):
    code, _, err = c2s("job", "run", "--dataset", dataset, "--epochs", 0, 1)
    assert code == exits.REFUSED
    assert err.startswith("c2s: invalid: ")
    assert "/stage1/epochs: " in err
    assert "\n  -> " in err
    assert c2s("job", "run")[0] == exits.REFUSED
    monkeypatch.setenv("C2S_TOKEN", "w" * 32)
    code, _, err = c2s("job", "ls")
    assert code == exits.NOT_ALLOWED
    assert "unauthorized" in err
    assert "C2S_TOKEN" in err
    monkeypatch.setattr(asking, "FIRST_WAIT", 0.0)
    code, _, err = c2s("job", "ls", "--url", "http://127.0.0.1:9")
    assert code == exits.AWAY
    assert "c2s up" in err
    assert c2s("job", "ls", "--url", "nonsense://x")[0] == exits.REFUSED


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [(["job", "ls", "--limit", "1"], exits.DONE, ""), (["up"], exits.REFUSED, "c2s[service]")],
)
def test_an_installation_without_the_service_still_talks_to_one(shared, words, code, said):
    lacking = (
        "torch",
        "sklearn",
        "sqlalchemy",
        "pydantic_settings",
        "fastapi",
        "celery",
        "structlog",
        "orjson",
    )
    run = f"import sys; sys.modules.update(dict.fromkeys({lacking})); from app import cli; sys.exit(cli.main({words}))"
    env = os.environ | {"C2S_URL": shared.address, "C2S_TOKEN": TOKEN}
    done = subprocess.run([sys.executable, "-c", run], env=env, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_lists_are_short_enough_to_be_read(c2s, told, shared, dataset):
    code, out, _ = c2s("dataset", "add", shared.settings.root / "many.csv", "--label", "y")
    assert code == 2  # there is no such file
    many = "a,y\n" + "".join(f"{i},{i % 40}\n" for i in range(400))
    (shared.settings.root / "many.csv").write_text(many)
    code, out, _ = c2s("dataset", "add", shared.settings.root / "many.csv", "--label", "y")
    assert "and 10 more classes" in out
    assert ", … (40)" in c2s("dataset", "ls")[1]
    job = told("job", "run", "--dataset", dataset)["id"]
    shared.end(claimed(shared, job))
    (line,) = [line for line in c2s("job", "ls")[1].splitlines() if job in line]
    assert "took 0 s" in line


def test_a_file_whose_labels_are_not_found_says_which_option_to_give(c2s, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,4\n")
    code, _, said = c2s("dataset", "add", tmp_path / "rows.csv")
    assert (code, said.count("say which column holds the labels")) == (2, 1)
    assert "-> say which: --label COLUMN" in said


def test_text_of_others_cannot_move_the_cursor(c2s, table):
    code, out, _ = c2s("dataset", "add", table, "--label", "y", "--name", "\x1b[2Jgone [red]")
    assert code == 0
    assert "\x1b[2J" not in out
    assert "gone [red]" in out


def test_the_help_names_every_method_and_net():
    assert train.METHODS == config.METHODS
    assert train.NETS == config.NETS


def test_the_guide_tells_every_exit_code():
    page = (Path(__file__).parents[3] / "GUIDE.md").read_text(encoding="utf-8")
    for code, meaning in exits.MEANING.items():
        assert f"| {code} | {meaning} |" in page


def test_ctrl_c_on_a_watch_leaves_the_job_running_and_says_so(told, shared, dataset, tmp_path):
    job = told("job", "run", "--dataset", dataset)["id"]
    held, said = claimed(shared, job), tmp_path / "said"
    shared.beat(held, ("phase", {"phase": "stage1"}))
    env = os.environ | {"C2S_URL": shared.address, "C2S_TOKEN": TOKEN}
    with said.open("wb") as file:
        watching = subprocess.Popen(
            [sys.executable, "-m", "app", "job", "watch", job],
            env=env,
            stderr=file,
            preexec_fn=lambda: signal.signal(
                signal.SIGINT, signal.SIG_DFL
            ),  # tests in the background ignore it
        )
    deadline = time.monotonic() + 60
    while "stage1" not in said.read_text():
        assert watching.poll() is None, said.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    watching.send_signal(signal.SIGINT)
    assert watching.wait(60) == exits.INTERRUPTED
    assert f"{job} goes on" in said.read_text()
    assert f"c2s job cancel {job}" in said.read_text()
    assert "Traceback" not in said.read_text()
    assert told("job", "get", job)["state"] == "running"


def complete(script, *words):
    """What a real bash offers after these words."""
    line = " ".join(f'"{word}"' for word in words)
    code = f'{script}\nCOMP_WORDS=({line})\nCOMP_CWORD={len(words) - 1}\n_c2s\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["/bin/bash", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def complete_zsh(script, *words):
    """What the script gives a real zsh to choose from; it is zsh that keeps what begins as the last word does."""
    line = " ".join(f'"{word}"' for word in words)
    stubs = 'compdef() { }; _files() { }; compadd() { shift; print -l -- "$@" }'
    code = f"{stubs}\n{script}\nwords=({line})\nCURRENT={len(words)}\n_c2s"
    done = subprocess.run([shell("zsh"), "-f", "-c", code], capture_output=True, text=True, check=True)
    return [word for word in done.stdout.split() if word.startswith(words[-1])]


def complete_fish(script, *words):
    """What a real fish offers after these words."""
    asked = f"complete -C '{' '.join(words)}'"
    command = [shell("fish"), "--no-config", "-c", f"{script}\n{asked}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


def shell(name):
    return shutil.which(name) or pytest.skip(f"there is no {name} here")


@pytest.mark.parametrize(
    ("name", "offered"), [("bash", complete), ("zsh", complete_zsh), ("fish", complete_fish)]
)
def test_words_are_completed_by_a_real_shell(c2s, name, offered):
    script = c2s("completion", name)[1]
    assert offered(script, "c2s", "jo") == ["job"]
    verbs = {"run", "ls", "get", "watch", "cancel", "retry", "logs"}
    assert {word for word in offered(script, "c2s", "job", "") if not word.startswith("-")} == verbs
    assert "--method" in offered(script, "c2s", "job", "run", "spec.json", "--m")
    assert offered(script, "c2s", "job", "run", "--method", "vol") == ["volmin"]
    assert sorted(offered(script, "c2s", "job", "ls", "-o", "")) == ["json", "table"]
    assert offered(script, "c2s", "completion", "z") == ["zsh"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script_with_every_command(c2s, shell):
    script = c2s("completion", shell)[1]
    for path, _ in completion.words(entry.parser()):
        assert path in script
