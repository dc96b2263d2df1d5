"""`c2s predict`: the clean class of every row of a file, by a model folder here or a model of the service.

`c2s predict FOLDER FILE` computes here; `c2s predict FILE --model NAME` asks the service.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from c2s import cells, errors
from c2s.commands import exits, remote
from c2s.commands.plain import plain

if TYPE_CHECKING:
    from c2s import Client

HEADER = ("id", "label", "probability")
PICTURES, LINES = (".png", ".jpg", ".jpeg"), (".jsonl", ".ndjson")


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser("predict", help="predict the clean class of the rows of a file")
    command.add_argument(
        "words",
        nargs="+",
        metavar="[FOLDER] FILE",
        help="a model or run folder here and a file; or with --model the file alone, - for JSON lines from a pipe",
    )
    command.add_argument("--model", help="of the service: an id, a name, name@3 or name@alias")
    command.add_argument("--id", help="a column that names the rows (of a folder's predictions)")
    command.add_argument(
        "--all", action="store_true", help="the probability of every class, not only the likeliest"
    )
    command.add_argument("--out", type=Path, help="write here instead of to the terminal")
    remote.options(command, ("csv", "table", "json"))
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int | None:
    """One line a row: its id, the class, its probability; empty for a row that cannot be predicted."""
    if chosen.model is not None and len(chosen.words) == 1:
        classes, answered = asked(chosen, chosen.words[0])
    elif chosen.model is None and len(chosen.words) == 2:
        classes, answered = computed(chosen, *map(Path, chosen.words))
    else:
        raise errors.InvalidConfig("predict takes a model folder and a file, or --model NAME and a file")
    rows = list(answered)
    header = [*HEADER, *(f"p({name})" for name in classes)] if chosen.all else [*HEADER]
    if chosen.out is None:
        write(chosen, header, rows, sys.stdout)
    else:
        with chosen.out.open("w", newline="", encoding="utf-8") as file:
            write(chosen, header, rows, file)
    return exits.REFUSED if any(row[1] == "" for row in rows) else None


def write(chosen: argparse.Namespace, header: Sequence[str], rows: Iterable[list[Any]], file: TextIO) -> None:
    """The rows in the form asked for."""
    if chosen.output == "csv":
        shown = (
            [cells.harmless(cell) if isinstance(cell, str) else f"{cell:.6f}" for cell in row] for row in rows
        )
        csv.writer(file, lineterminator="\n").writerows([header, *shown])
        return
    found = [dict(zip(header, row, strict=True)) for row in rows]
    if chosen.output == "json":
        json.dump(found, file, ensure_ascii=False, indent=1)
        file.write("\n")
    else:
        remote.console(file).print(remote.table(found, header))


def computed(
    chosen: argparse.Namespace, model: Path, file: Path
) -> tuple[Sequence[str], Iterator[list[Any]]]:
    """What a model folder says of the rows."""
    from c2s.predictor import Predictor
    from c2s.reading import files

    if not model.is_dir():
        raise errors.InvalidModel(f"{model}: there is no such folder; --model names a model of the service")
    found = Predictor.load(folder_of(model))
    inputs, ids = files.read_inputs(file, found.spec, id=chosen.id)
    probs = found.probabilities(inputs)
    rows = (
        [name, str(found.labels[int(row.argmax())]), float(row.max()), *(row.tolist() if chosen.all else ())]
        for name, row in zip(ids, probs, strict=True)
    )
    return found.classes, rows


def asked(chosen: argparse.Namespace, word: str) -> tuple[Sequence[str], Iterator[list[Any]]]:
    """What a model of the service says of them: at once for JSON lines, arrays and pictures, else by a job."""
    path = Path(word)
    with remote.client(chosen) as client:
        if word == "-" or path.suffix.lower() in (*LINES, ".npy", *PICTURES):
            answer = client.predict(chosen.model, rows_of(word))
            return answer.classes, _lines(answer, answer.classes, chosen.all)
        return by_job(chosen, client, path)


def rows_of(word: str) -> Any:
    """The rows of a file that the service answers at once."""
    import numpy as np

    path = Path(word)
    if path.suffix.lower() in PICTURES:
        return path
    if path.suffix.lower() == ".npy":
        try:
            return np.load(path, allow_pickle=False)
        except ValueError as exc:
            raise errors.InvalidDataset(f"{path}: no array of numbers ({exc})") from exc
    text = sys.stdin.read() if word == "-" else path.read_text(encoding="utf-8")
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as exc:
        raise errors.InvalidDataset(f"{word}: each line must be a JSON value ({exc})") from exc


def by_job(
    chosen: argparse.Namespace, client: Client, path: Path
) -> tuple[Sequence[str], Iterator[list[Any]]]:
    """Let a worker read the file as the model's own was read, and predict it."""
    from c2s.client import problems

    outputs: Any = ("class", "probabilities") if chosen.all else ("class",)
    made = client.predictions.create(chosen.model, path, outputs=outputs)
    try:
        batch = made.wait(progress=sys.stderr.isatty())
    except problems.JobFailed as exc:
        if exc.code != "invalid_dataset":
            raise
        # it is the input that cannot be used, as where a folder computes: the job was our way to read it
        raise errors.InvalidDataset(f"{path}: {exc.error.get('message', 'cannot be used')}") from exc
    table = batch.to_arrow()
    classes: list[str] = json.loads(table.schema.metadata[b"c2s.classes"])
    batch.delete()
    return classes, _lines(table.to_pylist(), classes, chosen.all)


def _lines(rows: Iterable[dict[str, Any]], classes: Sequence[str], all_classes: bool) -> Iterator[list[Any]]:
    for place, row in enumerate(rows):
        name = str(row.get("id") or row.get("entry") or row.get("row", place))
        if row.get("class") is None:
            sys.stderr.write(f"c2s: row {row.get('row', place)}: {plain(row.get('error'))}\n")
            yield [name, "", "", *("" for _ in classes if all_classes)]
            continue
        yield [name, row["class"], row["probability"], *(row["probabilities"] if all_classes else ())]


def folder_of(path: Path) -> Path:
    """A run's folder stands for the model in it."""
    return path / "model" if (path / "model").is_dir() else path
