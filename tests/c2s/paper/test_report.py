import io
from pathlib import Path

import rich.console

from c2s.paper import ablation, report, results, robustness, runs, tables


def row(noise: str, method: str, score: float | None, **others: object) -> results.Row:
    facts = {"dataset": "mnist", "preset": "paper", "seed": 1, "subset": None, "eta": None, "error": 0.01}
    measures = ("accuracy", "accuracy_own", "accuracy_best")
    scores = {} if score is None else dict.fromkeys(measures, score)
    return {"key": "k", "noise": noise, "method": method} | facts | scores | others


def cell(table: tables.Table, method: str, column: str) -> str:
    line = next(line for line in table.rows if line[0] == method)
    return line[table.columns.index(column)]


def test_with_nothing_run_every_table_says_so() -> None:
    found = report.build([])
    assert [table.title.split(",")[0] for table in found][:2] == ["mnist", "news20"]
    assert cell(found[0], "f-class2simi", "sym-0.2") == "not run\npaper 99.26 ± 0.07"


def test_ours_stands_beside_the_paper_with_the_gap() -> None:
    rows = [row("sym-0.6", "f-class2simi", 0.9890, seed=1), row("sym-0.6", "f-class2simi", 0.9900, seed=2)]
    (table,) = report.build(rows)
    expected = "98.95 ± 0.07 (n=2)\npaper 98.91 ± 0.09\ngap +0.04"
    assert cell(table, "f-class2simi", "sym-0.6") == expected
    assert cell(table, "forward", "sym-0.6").startswith("not run")


def test_the_note_counts_the_runs_that_were_computed_in_bfloat16() -> None:
    rows = [row("sym-0.2", "forward", 0.99), row("sym-0.4", "forward", 0.99, precision="float32")]
    (plain,) = report.build(rows)
    assert "bfloat16" not in plain.note
    (mixed,) = report.build([*rows, row("sym-0.6", "forward", 0.97, precision="bfloat16")])
    assert mixed.note.endswith("1 of 3 runs computed in bfloat16.")


def test_one_run_has_no_deviation() -> None:
    (table,) = report.build([row("sym-0.6", "forward", 0.97)])
    assert cell(table, "forward", "sym-0.6").startswith("97.00 (n=1)\n")


def test_the_newest_of_two_rows_of_one_run_counts() -> None:
    (table,) = report.build([row("sym-0.6", "forward", 0.5), row("sym-0.6", "forward", 0.97)])
    assert cell(table, "forward", "sym-0.6").startswith("97.00 (n=1)")


def test_a_failed_run_is_counted_and_not_averaged() -> None:
    rows = [row("sym-0.6", "forward", 0.97), row("sym-0.6", "forward", None, seed=2, failure="diverged")]
    (table,) = report.build(rows)
    assert cell(table, "forward", "sym-0.6").startswith("97.00 (n=1)\nfailed (n=1)")


def test_each_preset_shows_the_epoch_that_its_rule_keeps() -> None:
    ours = row("sym-0.6", "forward", 0.98, preset="best", accuracy_best=0.97)
    theirs = row("sym-0.6", "forward", 0.98, accuracy_best=0.97)
    best, paper = report.build([ours, theirs])
    assert cell(best, "forward", "sym-0.6").startswith("98.00")
    assert cell(paper, "forward", "sym-0.6").startswith("97.00")


def test_a_run_that_fell_back_to_stage_1_does_not_flatter_the_method() -> None:
    fell = row("sym-0.6", "f-class2simi", 0.5, preset="best", kept="stage1", accuracy=0.9)
    held = row("sym-0.6", "f-class2simi", 0.6, preset="best", kept="stage2", seed=2)
    (table,) = report.build([fell, held])
    lines = cell(table, "f-class2simi", "sym-0.6").split("\n")
    assert lines[0] == "55.00 ± 7.07 (n=2)"
    assert lines[2] == "gap -43.91"
    assert lines[3] == "fell back 1 of 2: 75.00"


def test_a_method_of_several_trainings_that_ends_in_its_own_did_not_fall_back() -> None:
    blend = row("sym-0.6", "auto", 0.9, preset="best", kept="stage2-blend")
    first = row("sym-0.4", "auto", 0.9, preset="best", kept="stage1")
    table = report.build([blend, first])[0]
    assert cell(table, "auto", "sym-0.6") == "90.00 (n=1)"
    assert cell(table, "auto", "sym-0.4") == "90.00 (n=1)\nfell back 1 of 1: 90.00"


def test_a_subset_is_not_compared_with_the_paper() -> None:
    (table,) = report.build([row("sym-0.6", "forward", 0.9, subset=100)])
    assert "first 100 rows only: not comparable" in table.title
    assert cell(table, "forward", "sym-0.6") == "90.00 (n=1)"


def test_noise_the_paper_lacks_gets_a_column_without_a_paper_number() -> None:
    (table,) = report.build([row("pair-0.45", "forward", 0.99)])
    assert cell(table, "forward", "pair-0.45") == "99.00 (n=1)"


def test_clean_labels_and_perturbed_matrices_have_tables_of_their_own() -> None:
    clean = row("clean", "mcl", 0.992, eta=0.0)
    moved = row("sym-0.6", "forward", 0.9, eta=0.3)
    first, second = report.build([clean, moved])[-2:]
    assert first.rows[0] == (
        "mnist, paper, T = I",
        "not run",
        "99.20 (n=1)",
        "not run",
        "99.30 ± 0.02",
        "99.24 ± 0.05",
    )
    assert cell(second, "0.3", "forward") == "90.00 (n=1)"
    assert cell(second, "0.5", "f-class2simi") == "not run"


def test_tables_are_printed(tmp_path: Path) -> None:
    results.append(tmp_path / runs.RESULTS, row("sym-0.6", "forward", 0.97))
    text = io.StringIO()
    console = rich.console.Console(file=text, width=200)
    report.print_tables(tmp_path, console=console)
    assert "not run" in text.getvalue()
    assert "97.00 (n=1)" in text.getvalue()


def test_datasets_can_be_chosen_whether_run_or_not() -> None:
    found = report.build([row("sym-0.6", "forward", 0.97)], datasets=("news20",))
    assert [table.title.split(",")[0] for table in found] == ["news20"]


def test_robustness_runs_hand_over_the_perturbed_true_matrix() -> None:
    built = robustness.build("mnist", ["sym-0.6"], seeds=[1, 2])
    assert len(built) == 2 * len(robustness.ETAS) * 2
    assert {run.eta for run in built} == set(robustness.ETAS)


def test_ablation_runs_are_clean_with_the_identity_given() -> None:
    built = ablation.build(["mnist", "news20"])
    assert {(run.noise, run.eta) for run in built} == {("clean", 0.0)}
    assert {run.method for run in built} == {"ce", "mcl", "f-class2simi"}


def test_estimators_stand_side_by_side_with_their_error_over_seeds() -> None:
    first = row("pair-0.45", "forward", 0.9, estimator="hoc", errors={"hoc": 0.01, "anchors": 0.03})
    second = row("pair-0.45", "forward", 0.9, seed=2, estimator="hoc", errors={"hoc": 0.02})
    older = row("pair-0.45", "ce", 0.9, estimator="anchors", errors={"hoc": 0.5})
    *_, table = report.build([older, first, second])
    assert table.title == "Error of T_c by estimator"
    assert cell(table, "mnist pair-0.45", "hoc") == "15.0 (2)"
    assert cell(table, "mnist pair-0.45", "anchors") == "30.0 (1)"
    assert cell(table, "mnist pair-0.45", "volmin") == "not run"
    assert cell(table, "mnist pair-0.45", "chosen") == "anchors, hoc"


def test_parts_of_a_dataset_stand_in_the_order_of_their_rows_whatever_the_order_of_the_lines() -> None:
    parts = (None, 100, 200, 300, 400, 500)
    rows = [row("sym-0.2", "forward", 0.9, subset=n, estimator="hoc", errors={"hoc": 0.01}) for n in parts]
    expected = ["mnist sym-0.2", *(f"mnist sym-0.2 first {part}" for part in parts[1:])]
    for told in (rows, rows[::-1]):
        *_, table = report.build(told)
        assert [line[0] for line in table.rows] == expected


def test_methods_that_the_paper_has_not_stand_in_the_order_of_ours() -> None:
    methods = ("ce", "volmin", "prune", "f-class2simi-exact")
    for told in (methods, methods[::-1]):
        (table,) = report.build([row("sym-0.2", method, 0.9) for method in told])
        assert tuple(line[0] for line in table.rows)[-4:] == methods
