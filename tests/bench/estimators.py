"""The error of every estimator of T_c against the truth, from the lines of `results/paper.jsonl`; runs nothing."""

from pathlib import Path

import rich.console

from c2s.paper import estimators, results, tables

LINES = Path(__file__).parent / "results" / "paper.jsonl"


def main() -> None:
    """Print the table as the terminal shows it."""
    console = rich.console.Console(width=150)
    for table in estimators.tables_of(results.newest(results.read(LINES))):
        console.print(tables.to_rich(table))


if __name__ == "__main__":
    main()
