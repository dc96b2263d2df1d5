"""`c2s job`: run, ls, get, watch, cancel, retry, logs."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from c2s import errors
from c2s.commands import exits, remote, train
from c2s.commands.plain import plain

if TYPE_CHECKING:
    from c2s.client.bound import Blocking
    from c2s.client.jobs import Job

COLUMNS = ("id", "state", "progress", "name", "method", "created_at")
STATES = ("queued", "running", "cancelling", "succeeded", "failed", "cancelled")


def add(commands: Any) -> None:
    """Add the commands and their options."""
    verbs = remote.Verbs(commands, "job", "trainings in the service")
    made = verbs.add("run", run_run, "train on a dataset of the service")
    made.add_argument(
        "spec", type=Path, nargs="?", help="a JSON file with the body of POST /jobs; options win over it"
    )
    made.add_argument("--dataset", metavar="ID", help="what to train on")
    made.add_argument("--name", help="of the model that will be published")
    made.add_argument("--priority", type=int, help="larger first")
    train.add_settings(made)
    made.add_argument("--dry-run", action="store_true", help="check and forecast, and run nothing")
    _watching(made)
    listed = verbs.add("ls", run_ls, "jobs, newest first")
    listed.add_argument("--state", choices=STATES)
    listed.add_argument("--dataset", metavar="ID")
    listed.add_argument("--task", choices=("train", "predict"), default="train")
    listed.add_argument("--limit", type=int, default=50)
    verbs.add("get", run_get, "a job and how far it is").add_argument("id", metavar="JOB")
    watched = verbs.add("watch", run_watch, "wait for a job; Ctrl-C leaves it running")
    watched.add_argument("id", metavar="JOB")
    watched.add_argument("--timeout", type=float, metavar="SECONDS", help="exit with 5 after so long")
    verbs.add("cancel", run_cancel, "ask a job to stop").add_argument("id", metavar="JOB")
    again = verbs.add("retry", run_retry, "a new job like one that failed or was cancelled")
    again.add_argument("id", metavar="JOB")
    _watching(again)
    logs = verbs.add("logs", run_logs, "what happened to a job, line by line")
    logs.add_argument("id", metavar="JOB")
    logs.add_argument("-f", "--follow", action="store_true", help="go on until the job ends")


def _watching(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--watch", action="store_true", help="wait for the end; Ctrl-C leaves the job running"
    )
    parser.set_defaults(timeout=None)


def run_run(chosen: argparse.Namespace) -> int | None:
    """Make a job, and wait for it if asked to."""
    body = train.raw_settings(chosen, chosen.spec)
    named = {"dataset_id": chosen.dataset, "name": chosen.name, "priority": chosen.priority}
    body |= {name: value for name, value in named.items() if value is not None}
    dataset = body.pop("dataset_id", None)
    if not isinstance(dataset, str):
        raise errors.InvalidConfig(
            "which dataset? --dataset ID, or dataset_id in the file; c2s dataset ls lists them"
        )
    with remote.client(chosen) as client:
        if chosen.dry_run:
            told = client.jobs.forecast(dataset, **body)
            remote.give(chosen, told, lambda: [remote.facts(told["forecast"])])
            return None
        return _made(chosen, client.jobs.create(dataset, **body))


def _made(chosen: argparse.Namespace, job: Job[Blocking]) -> int | None:
    if chosen.watch:
        sys.stderr.write(f"{job.id}\n")
        return watch(chosen, job)
    show(chosen, job)
    if chosen.output == "table":
        sys.stderr.write(f"c2s job watch {job.id} waits for it\n")
    return None


def watch(chosen: argparse.Namespace, job: Job[Blocking]) -> int | None:
    """Wait with a bar on standard error; the job's fate is no concern of Ctrl-C's."""
    try:
        job.wait(progress=True, timeout=chosen.timeout)
    except KeyboardInterrupt:
        sys.stderr.write(
            f"\nc2s: not watched any longer; {job.id} goes on\n"
            f"  -> c2s job watch {job.id} watches it again, c2s job cancel {job.id} stops it\n"
        )
        return exits.INTERRUPTED
    except errors.C2SError:
        if chosen.output == "json":
            remote.as_json(job.raw)
        raise
    show(chosen, job)
    if chosen.output == "table":
        sys.stderr.write(
            f"  -> c2s transition show {job.id} tells how wrong the labels are, c2s issues ls {job.id} which\n"
        )
    return None


def show(chosen: argparse.Namespace, job: Job[Blocking]) -> None:
    """All that a person wants to know of a job."""
    remote.give(chosen, job.raw, lambda: _facts(job.raw))


def _facts(raw: dict[str, Any]) -> Iterator[object]:
    shown = ("id", "state", "phase", "name", "dataset_id", "model_id", "attempts", "retry_of")
    told = {name: raw.get(name) for name in (*shown, "created_at", "started_at", "finished_at")}
    told["method"] = _method(raw)
    told["progress"] = _progress(raw)
    if raw.get("error"):
        told["error"] = f"{raw['error']['code']}: {raw['error']['message']}"
    yield remote.facts(told)


def _progress(raw: dict[str, Any]) -> str | None:
    """How far a job is, or how long it took."""
    from c2s.client import progress as bars

    if raw["started_at"] and raw["finished_at"]:
        began, ended = (datetime.datetime.fromisoformat(raw[name]) for name in ("started_at", "finished_at"))
        return f"took {bars.duration((ended - began).total_seconds())}"
    known = raw.get("progress") or {}
    if raw["state"] not in ("running", "cancelling") or known.get("fraction") is None:
        return None
    return f"{known['fraction']:.0%} {bars.sentence({'type': 'progress', 'data': known})}"


def _method(raw: dict[str, Any]) -> str | None:
    name: str | None = ((raw.get("config") or {}).get("method") or {}).get("name")
    return name


def run_ls(chosen: argparse.Namespace) -> None:
    """One line a job."""
    asked = {"state": chosen.state, "dataset": chosen.dataset, "task": chosen.task}
    with remote.client(chosen) as client:
        found = [one.raw for one in client.jobs.list(chosen.limit, **asked)]
    lines = [{**raw, "method": _method(raw), "progress": _progress(raw)} for raw in found]
    remote.give(
        chosen, found, lambda: [remote.table(lines, COLUMNS, empty="no jobs: c2s job run --dataset ID")]
    )


def run_get(chosen: argparse.Namespace) -> None:
    """A job as it is now."""
    with remote.client(chosen) as client:
        show(chosen, client.jobs.get(chosen.id))


def run_watch(chosen: argparse.Namespace) -> int | None:
    """Wait for a job."""
    with remote.client(chosen) as client:
        return watch(chosen, client.jobs.get(chosen.id))


def run_cancel(chosen: argparse.Namespace) -> None:
    """Ask a job to stop, and say how it stands."""
    with remote.client(chosen) as client:
        job = client.jobs.get(chosen.id)
        job.cancel()
        show(chosen, job)


def run_retry(chosen: argparse.Namespace) -> int | None:
    """Try a job again."""
    with remote.client(chosen) as client:
        return _made(chosen, client.jobs.get(chosen.id).retry())


def run_logs(chosen: argparse.Namespace) -> int | None:
    """One line an event, and at the end of one that failed, its last words."""
    with remote.client(chosen) as client:
        job = client.jobs.get(chosen.id)
        try:
            for event in job.events(follow=chosen.follow):
                _line(chosen, event)
        except KeyboardInterrupt:
            sys.stderr.write(f"c2s: not followed any longer; {job.id} goes on\n")
            return exits.INTERRUPTED
    return None


def _line(chosen: argparse.Namespace, event: dict[str, Any]) -> None:
    if chosen.output == "json":
        sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
        sys.stdout.flush()  # who reads a pipe waits for it
        return
    data = dict(event["data"])
    error = data.pop("error", None) or {}
    told = " ".join(f"{name}={_short(value)}" for name, value in data.items() if value is not None)
    sys.stdout.write(f"{event['at'][11:19]} {event['type']:<10} {plain(told)}\n")
    if error:
        lines = [f"{error.get('code')}: {error.get('message')}", *(error.get("log") or [])]
        sys.stdout.writelines(f"         | {plain(line)}\n" for line in lines)
    sys.stdout.flush()


def _short(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} {_short(one)}" for name, one in value.items()) + "}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
