"""How far each estimator is from the true T_c: a line a dataset and noise, from the results of runs."""

import statistics

from c2s.paper import cells, human, results, tables

ORDER = ("anchors", "mean-posterior", "dual-t", "confident-joint", "refined", "hoc", "volmin")
NOTE = (
    "Mean absolute error of an entry x 1000, mean over seeds (n); volmin where it was trained. Of labels that came with"
    " the data the truth is what they made of the true classes."
)


def tables_of(rows: list[results.Row]) -> list[tables.Table]:
    """One table of all datasets; none where no run had a truth to compare with."""
    known = [row for row in rows if _told(row)]
    if not known:
        return []
    names = (*cells.NOISES, "pair-0.45", human.MAJORITY, human.ONE_ANSWER, human.RULES, *human.CIFAR10N)
    places = sorted({_place(row) for row in known}, key=lambda at: (at[0], names.index(at[1]), at[2]))
    lines = tuple(_line(place, [row for row in known if _place(row) == place]) for place in places)
    return [tables.Table("Error of T_c by estimator", ("data", "chosen", *ORDER), lines, NOTE)]


def _told(row: results.Row) -> bool:
    return bool(row.get("errors")) and row["noise"] != cells.CLEAN and row["eta"] is None


def _place(row: results.Row) -> tuple[str, str, int]:
    return row["dataset"], row["noise"], row["subset"] or 0


def _line(place: tuple[str, str, int], rows: list[results.Row]) -> tuple[str, ...]:
    dataset, noise, subset = place
    first = " ".join([dataset, noise, *([f"first {subset}"] if subset else [])])
    found = [_by_seed(name, rows) for name in ORDER]
    chosen = sorted(
        {row["estimator"] for row in rows if row["estimator"] in ORDER and row["method"] != "volmin"}
    )
    return (first, ", ".join(chosen), *(_text(errors) for errors in found))


def _by_seed(name: str, rows: list[results.Row]) -> dict[int, float]:
    """The error of an estimator at each seed: runs of one seed share stage 1, and the newest tells it."""
    told = {
        row["seed"]: row["errors"][name] for row in rows if name in row["errors"] and row["method"] != name
    }
    return told or {row["seed"]: row["errors"][name] for row in rows if name in row["errors"]}


def _text(errors: dict[int, float]) -> str:
    if not errors:
        return tables.NOT_RUN
    return f"{1000 * statistics.fmean(errors.values()):.1f} ({len(errors)})"
