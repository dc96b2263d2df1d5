"""What is kept of the runs: lines that others take up from, tables and plots that say the same."""

from pathlib import Path

import pytest

from c2s.commands import entry
from c2s.drawing import drawings
from c2s.paper import plots, publication, results, runs

KEPT = Path(__file__).parents[2] / "bench" / "results"


def row(noise: str, method: str, score: float, **others: object) -> results.Row:
    facts = {"dataset": "mnist", "preset": "best", "seed": 1, "subset": None, "eta": None, "error": 0.01}
    scores = dict.fromkeys(("accuracy", "accuracy_own", "accuracy_best"), score)
    named = {"key": f"{noise} {method} {others}", "noise": noise, "method": method}
    return named | facts | scores | {"epochs": [["stage2", 0.7912345678, 0.987654321]]} | others


@pytest.fixture
def out(tmp_path: Path) -> Path:
    rows = [row("sym-0.2", "forward", 0.98), row("sym-0.6", "forward", 0.97)]
    rows += [row("sym-0.6", "forward", 0.9, eta=eta, error=0.1 * eta) for eta in (0.0, 0.5)]
    results.append(tmp_path / "out" / runs.RESULTS, *rows)
    return tmp_path / "out"


def texts(drawing: drawings.Drawing) -> list[str]:
    return [shape.text for shape in drawing.shapes if isinstance(shape, drawings.Text)]


def test_tables_and_plots_are_written_beside_the_lines(tmp_path: Path, out: Path) -> None:
    publication.write(tmp_path / "kept", out)
    page = (tmp_path / "kept" / publication.PAGE).read_text(encoding="utf-8")
    assert "| method | sym-0.2 |" in page
    assert "97.00 (n=1)<br>paper 96.89 ± 0.49<br>gap +0.11" in page
    assert "? contradicts its neighbours" in page
    names = {path.name for path in (tmp_path / "kept").glob("*.svg")}
    assert names == {"mnist-sym.svg", "mnist-asym.svg", "mnist-sym-0.6-robustness.svg"}
    assert all(f"({name})" in page for name in names)


def test_kept_lines_count_as_finished_elsewhere(tmp_path: Path, out: Path) -> None:
    publication.write(tmp_path / "kept", out)
    publication.take_up(tmp_path / "kept", tmp_path / "elsewhere")
    publication.take_up(tmp_path / "kept", tmp_path / "elsewhere")
    keys = [found["key"] for found in results.read(tmp_path / "elsewhere" / runs.RESULTS)]
    assert keys == [found["key"] for found in results.read(out / runs.RESULTS)]


def test_a_setting_that_was_added_since_makes_no_new_run(tmp_path: Path) -> None:
    run = runs.Run("news20", "sym-0.4", "forward", "best")
    older = run.config.model_dump(mode="json")
    del older["stage2"]["mixup"]  # as before the setting was there
    changed = older | {"stage2": older["stage2"] | {"weight_decay": 0.5}}
    for name, settings in (("same", older), ("other", changed)):
        line = row(run.noise, run.method, 0.5, dataset=run.dataset, config=settings, key="of then")
        results.append(tmp_path / name / publication.LINES, line)
        publication.take_up(tmp_path / name, tmp_path / f"out-{name}")
        publication.take_up(tmp_path / name, tmp_path / f"out-{name}")
    (same,), (other,) = (results.read(tmp_path / f"out-{name}" / runs.RESULTS) for name in ("same", "other"))
    assert (same["key"], other["key"]) == (run.key, "of then")


def test_of_two_lines_of_one_run_the_newest_is_kept_without_what_no_table_reads(
    tmp_path: Path, out: Path
) -> None:
    measured = {"error": 0.0123456789, "errors": {"anchors": 0.0123456789}, "estimator": "anchors"}
    results.append(out / runs.RESULTS, row("sym-0.2", "forward", 0.99, key="newer", **measured))
    publication.write(tmp_path / "kept", out)
    kept = results.read(tmp_path / "kept" / publication.LINES)
    (found,) = [line for line in kept if line["noise"] == "sym-0.2"]
    assert (found["key"], found["accuracy"]) == ("newer", 0.99)
    assert (found["error"], found["errors"]) == (0.012346, {"anchors": 0.012346})
    assert "epochs" not in found


def test_a_run_with_a_given_matrix_is_known_again_without_it(tmp_path: Path) -> None:
    run = runs.Run("news20", "sym-0.4", "forward", "best", eta=0.3)
    told = row(run.noise, run.method, 0.5, dataset=run.dataset, eta=run.eta, key="of then")
    results.append(tmp_path / "out" / runs.RESULTS, told | {"config": run.config.model_dump(mode="json")})
    publication.write(tmp_path / "kept", tmp_path / "out")
    (kept,) = results.read(tmp_path / "kept" / publication.LINES)
    assert "transition" not in kept["config"]
    publication.take_up(tmp_path / "kept", tmp_path / "elsewhere")
    (found,) = results.read(tmp_path / "elsewhere" / runs.RESULTS)
    assert found["key"] == run.key


def test_publishing_twice_changes_nothing(tmp_path: Path, out: Path) -> None:
    kept = tmp_path / "kept"
    publication.write(kept, out)
    first = {path.name: path.read_bytes() for path in kept.iterdir()}
    publication.take_up(kept, tmp_path / "elsewhere")
    publication.write(kept, tmp_path / "elsewhere")
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == first


def test_ours_and_the_papers_are_told_apart_in_a_plot(out: Path) -> None:
    shown = texts(plots.drawn(results.read(out / runs.RESULTS))["mnist-sym"])
    assert {"forward 97.000", "paper: forward 96.890", "paper: f-class2simi 98.910"} <= set(shown)
    assert {"0.2", "0.3", "0.4", "0.5", "0.6"} <= set(shown)


def test_a_perturbed_matrix_is_placed_by_how_wrong_it_is(out: Path) -> None:
    shown = texts(plots.drawn(results.read(out / runs.RESULTS))["mnist-sym-0.6-robustness"])
    assert {"0", "0.01", "0.05", "mean |T - T_c|", "forward 90.000"} <= set(shown)


def test_a_part_of_the_rows_is_not_plotted() -> None:
    rows = [row(noise, "forward", 0.9, subset=100) for noise in ("sym-0.2", "sym-0.6")]
    assert plots.drawn(rows) == {}


def test_the_command_publishes_what_there_is_without_running_anything(tmp_path: Path, out: Path) -> None:
    told = ["paper", "--tables", "--out", str(out), "--publish", str(tmp_path / "kept")]
    assert entry.main(told) == 0
    assert len(results.read(tmp_path / "kept" / publication.LINES)) == 4


def test_the_kept_page_says_what_the_kept_lines_say() -> None:
    rows = results.read(KEPT / publication.LINES)
    assert (KEPT / publication.PAGE).read_text(encoding="utf-8") == publication.page(rows)
    for name, drawing in plots.drawn(rows).items():
        assert (KEPT / f"{name}.svg").read_bytes() == drawings.svg(drawing), name
