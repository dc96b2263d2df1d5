from c2s.paper import regret, results


def row(method: str, score: float | None, **others: object) -> results.Row:
    facts = {
        "dataset": "news20",
        "noise": "sym-0.2",
        "seed": 1,
        "preset": "best",
        "subset": None,
        "eta": None,
    }
    return facts | {"method": method, "accuracy": score} | others


def test_a_choice_loses_what_the_best_fixed_method_of_its_column_is_ahead() -> None:
    first = [row("auto", 0.59), row("ce", 0.55), row("forward", 0.60)]
    other = [
        row(method, score, seed=2) for method, score in (("auto", 0.62), ("ce", 0.61), ("forward", 0.60))
    ]
    (table,) = regret.tables_of([*first, *other])
    assert table.columns == ("always", "news20")
    assert table.rows == (
        ("ce", "2.50, 5.00 (2)"),
        ("forward", "0.50, 1.00 (2)"),
        ("auto", "0.00, 1.00 (2)"),  # ahead of all of them once
    )


def test_columns_without_auto_do_not_count_and_choices_not_run_everywhere_are_not_shown() -> None:
    here = [row("auto", 0.5), row("ce", 0.5)]
    assert regret.tables_of([row("ce", 0.5), row("forward", 0.9)]) == []
    (table,) = regret.tables_of([*here, row("auto", 0.5, seed=2), row("forward", 0.6, seed=2)])
    assert table.rows == (("auto", "5.00, 10.00 (2)"),)


def test_only_whole_runs_under_noise_that_ended_count() -> None:
    here = [row("auto", 0.5), row("ce", 0.5), row("forward", None)]
    beside = [{"subset": 100}, {"eta": 0.1}, {"preset": "paper"}]
    strange = [row("forward", 0.9, **other) for other in beside]
    clean = [row("auto", 0.5, noise="clean"), row("forward", 0.9, noise="clean")]
    (table,) = regret.tables_of([*here, *strange, *clean])
    assert table.rows == (("ce", "0.00, 0.00 (1)"), ("auto", "0.00, 0.00 (1)"))
