"""The command line as a person uses it: files in, a model folder and tables out."""

import csv
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from c2s import noise, streams
from c2s.commands import entry

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


def test_columns_that_are_not_used_are_named(tmp_path, capsys):
    path = tmp_path / "mixed.csv"
    lines = [f"{i % 7},remark number {i} is here,{'ab'[i % 2]}" for i in range(120)]
    path.write_text("\n".join(["size,remark,label", *lines]))
    assert run("train", path, "--label", "label", "--method", "ce", "--out", tmp_path / "run", *FLAGS) == 0
    assert "columns not used: remark" in capsys.readouterr().out


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
