"""`c2s issues decide` and `dataset`: what people say of labels, and a dataset made of it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from c2s import errors
from c2s.commands import remote

if TYPE_CHECKING:
    from c2s.client.frames import Rows

WORDS = {
    "accept": "take the suggested label",
    "keep": "keep the given label",
    "undecided": "take a decision back",
}


def add(verbs: remote.Verbs) -> None:
    """Add the commands and their options."""
    decided = verbs.add("decide", run_decide, "accept, keep, change or leave open what rows are labelled")
    decided.add_argument("job", metavar="JOB")
    for word, help_ in WORDS.items():
        decided.add_argument(f"--{word}", action="append", default=[], metavar="ROW", help=help_)
    decided.add_argument(
        "--relabel", action="append", default=[], metavar="ROW=LABEL", help="set another label"
    )
    made = verbs.add("dataset", run_dataset, "a new dataset with the labels as decided")
    made.add_argument("job", metavar="JOB")
    made.add_argument("--name")
    made.add_argument(
        "--correct-at", type=float, metavar="P", help="also take suggestions that are so probable"
    )
    made.add_argument("--gold", action="store_true", help="keep what was decided as gold labels, too")


def run_decide(chosen: argparse.Namespace) -> None:
    """Send the decisions, and say how many rows are decided now."""
    parted = [entry.partition("=") for entry in chosen.relabel]
    if wrong := next((row for row, equals, _ in parted if not equals), None):
        raise errors.InvalidConfig(f"--relabel {wrong}: say ROW=LABEL")
    rows = {word: getattr(chosen, word) for word in WORDS}
    relabel = {row: label for row, _, label in parted}
    if not relabel and not any(rows.values()):
        raise errors.InvalidConfig("say what is decided: --accept, --keep, --relabel or --undecided")
    with remote.client(chosen) as client:
        count = client.jobs.get(chosen.job).review(**rows, relabel=relabel)
    remote.give(chosen, {"decided": count}, lambda: [f"{count} rows are decided"])


def run_dataset(chosen: argparse.Namespace) -> None:
    """Make the dataset, and say how to train on it."""
    with remote.client(chosen) as client:
        job = client.jobs.get(chosen.job)
        made = job.corrected_dataset(name=chosen.name, correct_at=chosen.correct_at, gold=chosen.gold)
    hint = f"train on it with c2s job run --dataset {made.id}"
    remote.give(chosen, made.raw, lambda: [f"dataset {made.id}: {made.rows} rows", hint])


def flat(found: Rows) -> Rows:
    """What was decided as cells of their own: the word, and the label."""
    return type(found)([row | _cells(row["decision"]) if "decision" in row else row for row in found])


def _cells(said: dict[str, object] | None) -> dict[str, object]:
    return {name: (said or {}).get(name) for name in ("decision", "label")}
