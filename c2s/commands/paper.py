"""`c2s paper`: the paper's experiments, resumable, each run a JSON line, our numbers beside the paper's."""

import argparse
from pathlib import Path
from typing import Any

PAIR = "pair-0.45"  # not in the paper: where its averaged correction fails
SIX = ("sym-0.2", "sym-0.4", "sym-0.6", "asym-0.2", "asym-0.4", "asym-0.6")


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser("paper", help="reproduce the paper's experiments")
    command.add_argument(
        "--dataset",
        action="append",
        default=[],
        help="mnist, news20, news20-tfidf, cifar10-subset, labelme, hausa, ...",
    )
    command.add_argument(
        "--noise", action="append", default=[], help="sym-0.4, pair-0.45, clean, worst, majority, rules, ..."
    )
    command.add_argument("--method", action="append", default=[], help="f-class2simi, forward, ...")
    command.add_argument("--seeds", type=int, default=None, metavar="N", help="seeds 1 to N (1; --all: 3)")
    command.add_argument("--preset", choices=("paper", "best"), default="best")
    command.add_argument("--subset", type=int, metavar="ROWS", help="train on the first rows only")
    command.add_argument("--robustness", action="store_true", help="accuracy against a perturbed T_c instead")
    command.add_argument(
        "--ablation", action="store_true", help="cross-entropy against pairs on clean labels instead"
    )
    command.add_argument("--all", action="store_true", help="everything that the data at hand allow")
    command.add_argument(
        "--tables", action="store_true", help="print the tables of what was run, and run nothing"
    )
    command.add_argument(
        "--publish",
        type=Path,
        metavar="FOLDER",
        help="count the runs kept there as finished, and write lines, tables and plots there",
    )
    command.add_argument(
        "--data", type=Path, help="where the data lie (default: C2S_PAPER_DATA or ../shared/data)"
    )
    command.add_argument("--out", type=Path, default=Path("runs/paper"))
    command.add_argument("--device", default="auto")
    command.add_argument(
        "--precision",
        choices=("float32", "bfloat16"),
        default="float32",
        help="bfloat16: faster where the device has units for it",
    )
    command.set_defaults(run=run, resumes=True)


def run(chosen: argparse.Namespace) -> None:
    """Run what is asked for and not finished, then print the tables."""
    from rich.console import Console

    from c2s.commands import display
    from c2s.paper import publication, report, results, runs

    console = Console()
    if chosen.publish is not None:
        publication.take_up(chosen.publish, chosen.out)
    if not chosen.tables:

        def told(which: runs.Run, row: dict[str, Any] | None) -> None:
            name = f"{which.dataset} {which.noise} {which.method} {which.preset} seed {which.seed}"
            if row is None:
                console.print(name, highlight=False)
            elif "accuracy" in row:
                kept = (
                    f", the run kept {row['kept']}'s {row['accuracy']:.2%}" if results.fell_back(row) else ""
                )
                console.print(
                    f"  {row['accuracy_own']:.2%} in {row['seconds']:.0f} s, T_c by {row['estimator']}{kept}"
                )
            else:
                console.print(f"  failed: {row['failure']}", markup=False)

        with display.Bars(console) as bars:
            wanted = _wanted(chosen)
            runs.run_many(
                wanted,
                out=chosen.out,
                data_folder=chosen.data,
                device=chosen.device,
                precision=chosen.precision,
                report=bars,
                told=told,
            )
    report.print_tables(chosen.out, console=console)
    if chosen.publish is not None:
        publication.write(chosen.publish, chosen.out)


def _wanted(chosen: argparse.Namespace) -> list[Any]:
    from c2s.paper import ablation, robustness, runs, settings

    seeds = range(1, (chosen.seeds or (3 if chosen.all else 1)) + 1)
    datasets = chosen.dataset or ["mnist"]
    if chosen.all:
        return _everything(seeds)
    if chosen.robustness:
        noises = chosen.noise or ["sym-0.6"]
        options = {"preset": chosen.preset, "seeds": seeds, "subset": chosen.subset}
        return [run for name in datasets for run in robustness.build(name, noises, **options)]
    if chosen.ablation:
        return ablation.build(datasets, preset=chosen.preset, seeds=seeds, subset=chosen.subset)
    methods = chosen.method or list(settings.METHODS)
    noises = chosen.noise or [*SIX, PAIR]
    return runs.grid(datasets, noises, methods, preset=chosen.preset, seeds=seeds, subset=chosen.subset)


def _everything(seeds: range) -> list[Any]:
    """Whole tables, the cheap ones first: News20, sets of human labels, the figures beside, MNIST, CIFAR-10."""
    from c2s.paper import ablation, human, robustness, runs, settings

    pairs = [name + end for name in settings.CORRECTED_PAIRS for end in ("", settings.EXACT)]
    main = ["ce", "forward", "reweight", "revision", *pairs]
    rest = [name for name in settings.METHODS if name not in main]
    every = settings.METHODS
    found = runs.grid(["news20"], SIX, every, preset="best", seeds=seeds)
    found += runs.grid(["labelme"], [human.MAJORITY, human.ONE_ANSWER], every, preset="best", seeds=seeds)
    found += runs.grid(["hausa"], [human.RULES], every, preset="best", seeds=seeds)
    found += runs.grid(["news20-tfidf"], SIX, [*main, "auto"], preset="best", seeds=[1])
    found += ablation.build(["news20", "mnist"], preset="best", seeds=seeds)
    found += robustness.build("news20", ["sym-0.4"], preset="best", seeds=seeds)
    found += robustness.build("mnist", ["sym-0.6"], preset="best", seeds=[1])
    found += runs.grid(["mnist"], [*SIX, PAIR], main, preset="best", seeds=seeds)
    found += runs.grid(["mnist"], [*SIX, PAIR], rest, preset="best", seeds=[1])
    noises = ["sym-0.4", "asym-0.4", *human.CIFAR10N]
    return found + runs.grid(["cifar10-subset"], noises, [*main, "auto"], preset="best", seeds=[1])
