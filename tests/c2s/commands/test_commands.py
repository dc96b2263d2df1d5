"""The command line as a person uses it: files in, a model folder and tables out."""

import contextlib
import csv
import json
import os
import subprocess
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from c2s import streams
from c2s.commands import entry
from c2s.matrix import noise

C = 4
FLAGS = ["--epochs", "3", "3", "--net", "mlp", "--device", "cpu"]


@pytest.fixture
def table(tmp_path):
    """A CSV with two numbers, a category and labels of which 30 % are wrong; the true classes beside it."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, C, 600)
    given = noise.corrupt(truth, noise.symmetric(C, 0.3), rng=streams.numpy(1, "flips"))
    names = np.array(["ant", "bee", "cat", "dog"])
    path = tmp_path / "animals.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["size", "weight", "colour", "name"])
        for k, label in zip(truth, given, strict=True):
            values = rng.normal([4 * k, 2 * k]).round(3)
            writer.writerow([*values, "red" if k % 2 else "blue", names[label]])
    return path, names[truth]


def run(*arguments) -> int:
    return entry.main([str(argument) for argument in arguments])


def test_train_predict_and_transition_work_from_a_csv(tmp_path, table, capsys):
    path, truth = table
    assert (
        run("train", path, "--label", "name", "--method", "forward", "--out", tmp_path / "run", *FLAGS) == 0
    )
    assert "600 rows of tabular, 4 classes" in capsys.readouterr().out
    assert run("predict", tmp_path / "run", path, "--out", tmp_path / "answers.csv") == 0
    with (tmp_path / "answers.csv").open() as file:
        answers = list(csv.DictReader(file))
    assert [row["id"] for row in answers[:2]] == ["0", "1"]
    assert np.mean([row["label"] == name for row, name in zip(answers, truth, strict=True)]) > 0.9
    assert run("transition", tmp_path / "run") == 0
    printed = capsys.readouterr().out
    assert "T_c" in printed
    assert "bee" in printed


def test_transition_speaks_json_and_csv(tmp_path, table, capsys):
    run("train", table[0], "--label", "name", "--out", tmp_path / "run", "--method", "ce", *FLAGS)
    capsys.readouterr()
    assert run("transition", tmp_path / "run" / "model", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["classes"] == ["ant", "bee", "cat", "dog"]
    assert found["orientation"] == "rows_clean_cols_noisy"
    assert run("transition", tmp_path / "run", "--format", "csv") == 0
    rows = list(csv.reader(capsys.readouterr().out.splitlines()))
    np.testing.assert_allclose([float(value) for value in rows[2][1:]], found["matrix"][1])


def test_export_writes_the_same_archive_each_time(tmp_path, table, capsys):
    run("train", table[0], "--label", "name", "--out", tmp_path / "run", "--method", "ce", *FLAGS)
    for form in ("onnx", "safetensors", "noise-model"):
        both = [tmp_path / "1.zip", tmp_path / "2.zip"]
        assert [run("export", tmp_path / "run", "--format", form, "--out", target) for target in both] == [
            0,
            0,
        ]
        assert both[0].read_bytes() == both[1].read_bytes()
        with zipfile.ZipFile(both[0]) as archive:
            assert archive.testzip() is None
            assert json.loads(archive.read("card.json"))["labels"] == ["ant", "bee", "cat", "dog"]
    assert run("export", tmp_path, "--format", "onnx", "--out", tmp_path / "none.zip") == 2
    assert not (tmp_path / "none.zip").exists()


def test_a_repeated_command_goes_on_with_the_same_run(tmp_path, table, capsys):
    arguments = ["train", table[0], "--label", "name", "--out", tmp_path / "run", *FLAGS]
    assert run(*arguments) == 0
    card = (tmp_path / "run" / "model" / "card.json").read_text()
    assert run(*arguments) == 0
    assert (tmp_path / "run" / "model" / "card.json").read_text() == card


def test_a_config_file_is_read_and_options_win_over_it(tmp_path, table):
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"method": "ce", "seed": 5, "stage2": {"learning_rate": 0.002}}))
    chosen = entry.parser().parse_args(
        [
            "train",
            "f.csv",
            "--label",
            "y",
            "--config",
            str(settings),
            "--method",
            "volmin",
            "--epochs",
            "2",
            "3",
        ]
    )
    from c2s.commands import train

    result = train.settings_from(chosen)
    assert (result.method.name, result.seed) == ("volmin", 5)
    assert (result.stage2.learning_rate, result.stage2.epochs) == (0.002, 3)
    assert result.stage1.epochs == 2


def test_a_matrix_file_is_a_given_transition(tmp_path, table, capsys):
    matrix = tmp_path / "T.json"
    matrix.write_text(json.dumps(noise.symmetric(C, 0.3).tolist()))
    options = ["--transition", matrix, "--out", tmp_path / "run", *FLAGS]
    assert run("train", table[0], "--label", "name", *options) == 0
    assert "by given" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--label", "nosuch"], "nosuch"),
        (["--label", "name", "--method", "magic"], "method"),
        (["--label", "name", "--transition", "missing.json"], "cannot be read"),
        (["--label", "name", "--net", "lenet"], "lenet"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, table, capsys, arguments, why):
    assert run("train", table[0], "--out", tmp_path / "run", *arguments) == 2
    assert why in capsys.readouterr().err


def test_a_missing_file_or_model_is_one_sentence_and_exit_code_2(tmp_path, capsys):
    assert run("train", tmp_path / "none.csv", "--label", "y") == 2
    assert run("predict", tmp_path, tmp_path / "none.csv") == 2
    assert run("transition", tmp_path) == 2
    assert capsys.readouterr().err.count("c2s: ") == 3


def test_the_paper_command_says_what_data_it_misses(tmp_path, capsys):
    options = ["--dataset", "mnist", "--noise", "sym-0.4", "--method", "ce", "--data", tmp_path]
    assert run("paper", *options, "--out", tmp_path / "out") == 2
    assert "train-images-idx3" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["--device", "bogus"], ["--out", "{file}"], ["--config", "{config}", "--epochs", "1", "1"]],
)
def test_no_mistake_shows_a_traceback(tmp_path, table, capsys, arguments):
    (tmp_path / "settings.json").write_text('{"stage1": 5, "unknown": 1}')
    names = {"file": table[0], "config": tmp_path / "settings.json"}
    given = [argument.format(**names) for argument in arguments]
    assert run("train", table[0], "--label", "name", "--out", tmp_path / "run", *given) == 2
    assert capsys.readouterr().err.startswith("c2s: ")


def test_all_that_is_wrong_with_a_config_file_is_told_at_once(tmp_path, table, capsys):
    (tmp_path / "settings.json").write_text('{"method": {}, "transition": {"estimator": "foo"}}')
    given = ["--config", tmp_path / "settings.json", "--out", tmp_path / "run"]
    assert run("train", table[0], "--label", "name", *given) == 2
    said = capsys.readouterr().err
    assert "method.name: is missing: one of 'ce', 'mcl'" in said
    assert "transition.estimator: must be one of 'anchors'" in said


def test_a_pipe_is_not_said_to_be_missing(tmp_path, capsys):
    os.mkfifo(tmp_path / "stdin")
    assert run("train", tmp_path / "stdin", "--label", "name", "--out", tmp_path / "run") == 2
    assert "stdin: a pipe cannot be read here" in capsys.readouterr().err


def test_options_lie_over_the_config_file_s_blocks(tmp_path):
    from c2s.commands import train

    settings = tmp_path / "settings.json"
    method = {"name": "f-class2simi", "diagonal": 0.5}
    settings.write_text(json.dumps({"transition": {"folds": 3}, "method": method}))
    options = ["--config", str(settings), "--transition", "dual-t", "--method", "f-class2simi"]
    result = train.settings_from(entry.parser().parse_args(["train", "f.csv", "--label", "y", *options]))
    assert (result.transition.folds, result.transition.estimator) == (3, "dual-t")
    assert result.method.diagonal == 0.5


def test_a_model_made_from_arrays_in_python_predicts_from_a_file(tmp_path, capsys):
    from c2s import config, data, pipeline

    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)) + 4 * (np.arange(200) % 2)[:, None]
    chosen = config.TrainConfig.parse({"stage1": {"epochs": 2}, "stage2": {"epochs": 2}, "method": "ce"})
    pipeline.run(data.from_arrays(x, np.arange(200) % 2), chosen, tmp_path / "run")
    np.savez(tmp_path / "x.npz", x=x)
    assert run("predict", tmp_path / "run", tmp_path / "x.npz") == 0
    assert len(capsys.readouterr().out.splitlines()) == 201


def test_columns_that_are_not_used_are_named_with_why_and_how_to_keep_them(tmp_path, capsys):
    path = tmp_path / "mixed.csv"
    lines = [f"{i % 7},remark number {i} is here,1,,{'ab'[i % 2]}" for i in range(120)]
    path.write_text("\n".join(["size,remark,same,none,label", *lines]))
    assert run("train", path, "--label", "label", "--method", "ce", "--out", tmp_path / "run", *FLAGS) == 0
    said = capsys.readouterr().out
    assert (
        "column 'remark' is not used: it has over 64 values, each in one row alone (to keep it: --text remark"
        in said
    )
    assert "column 'same' is not used: it holds the same value in every row\n" in said
    assert "column 'none' is not used: it holds no value\n" in said


@pytest.mark.parametrize(("column", "flags"), [("gold", []), ("seen", ["--gold", "seen"])])
def test_true_labels_of_some_rows_judge_the_model_and_are_no_feature(tmp_path, table, capsys, column, flags):
    path, truth = table
    head, *lines = path.read_text().splitlines()
    marked = [f"{line},{truth[i] if i % 8 == 0 else ''}" for i, line in enumerate(lines)]
    train = tmp_path / "marked.csv"
    train.write_text("\n".join([f"{head},{column}", *marked[:-1], f"{lines[-1]},wasp"]))
    named = ["--label", "name", "--method", "ce", "--out", tmp_path / "run"]
    assert run("train", train, *named, *flags, *FLAGS) == 0
    said = capsys.readouterr().out
    assert "line 601: the gold label is 'wasp', which no row is labelled as\n" in said
    assert "75 of 599 rows have a gold label, which is no feature\n" in said
    assert f"column '{column}' is not used: it holds true labels" in said
    card = json.loads((tmp_path / "run" / "model" / "card.json").read_text())
    assert [one["name"] for one in card["encoding"]["columns"]] == ["size", "weight", "colour"]
    report = json.loads((tmp_path / "run" / "result" / "report.json").read_text())
    assert report["worth"]["gold"]["rows"] == 75
    assert run("predict", tmp_path / "run", path, "--out", tmp_path / "answers.csv") == 0


def test_single_rows_that_cannot_be_used_are_left_out_and_named(tmp_path, capsys):
    path = tmp_path / "slips.csv"
    lines = [f"{i % 7},{'ab'[i % 2]}" for i in range(120)]
    path.write_text("\n".join(["size,label", *lines[:30], "1", *lines[30:], "2,"]))
    assert run("train", path, "--label", "label", "--method", "ce", "--out", tmp_path / "run", *FLAGS) == 0
    said = capsys.readouterr().out
    assert "2 of 122 rows cannot be used and are left out:" in said
    assert (
        "  line 32: the row has 1 columns, the header 2\n  line 123: the row has no label\n120 rows" in said
    )


def test_a_stray_word_in_a_column_of_numbers_is_told(tmp_path, capsys):
    path = tmp_path / "stray.csv"
    lines = [f"{i % 7},{'ab'[i % 2]}" for i in range(120)]
    path.write_text("\n".join(["size,label", *lines, "unknown,a"]))
    assert run("train", path, "--label", "label", "--method", "ce", "--out", tmp_path / "run", *FLAGS) == 0
    said = capsys.readouterr().out
    assert "column 'size' is read as numbers" in said
    assert "(1, such as 'unknown')" in said


def test_an_installation_without_torch_says_what_to_install(tmp_path):
    (tmp_path / "rows.csv").write_text("a,label\n" + "".join(f"{k},{k % 2}\n" for k in range(40)))
    command = ["train", "rows.csv", "--label", "label"]
    code = (
        "import sys; sys.modules['torch'] = None; from c2s.commands import entry as e; e.main(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, cwd=tmp_path
    )
    assert "c2s[train]" in done.stderr
    assert "Traceback" not in done.stderr


def test_rows_to_look_at_of_a_job_whose_rows_are_all_gold_are_none_and_said_to_be(monkeypatch, capsys):
    from c2s.commands import golds, remote

    job = SimpleNamespace(gold=lambda rows: [])
    client = SimpleNamespace(jobs=SimpleNamespace(get=lambda name: job))
    monkeypatch.setattr(remote, "client", lambda chosen: contextlib.nullcontext(client))
    golds.run_ls(SimpleNamespace(job="job_1", rows=50, out=None, output="table"))
    assert "no row is left to look at" in " ".join(capsys.readouterr().out.split())
