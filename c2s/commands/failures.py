"""What went wrong, as a person is told it: the problem's code, where it lies, what to do; and the exit code."""

import sys
from collections.abc import Iterator
from typing import Any

from c2s import errors
from c2s.client import problems
from c2s.commands import exits
from c2s.commands.plain import plain

SHOWN = 8  # faults of one request
ADVICE = {
    "body_too_large": "send a smaller file, or raise C2S_MAX_UPLOAD_BYTES of the service",
    "dataset_deleted": "upload the file again: c2s dataset add FILE",
    "dataset_in_use": "see which jobs need it with c2s job ls --dataset ID, and cancel them or wait",
    "dataset_not_ready": "look at c2s dataset report ID",
    "insufficient_scope": "use a key that may: c2s key add NAME --scopes ... with an admin key",
    "invalid": "mend what is named above",
    "invalid_config": "mend the settings above; c2s job run --dry-run checks without running",
    "invalid_dataset": "mend the file and send it again",
    "job_ended": "c2s job get ID tells how it ended",
    "model_in_use": "move the alias first: c2s model promote OTHER --alias ALIAS",
    "model_not_exported": "run c2s export on the model's folder where the service runs",
    "dataset_reviewed": "make a dataset of what was decided first: c2s issues dataset JOB",
    "model_reviewed": "make a dataset of what was decided first: c2s issues dataset JOB",
    "no_earlier_version": "c2s model ls --name NAME shows what there is; promote one of them",
    "not_estimated": "c2s job get ID tells how the job ended; c2s job retry ID tries again",
    "not_estimated_yet": "the matrix exists after stage 1: c2s job watch ID",
    "not_found": "c2s dataset ls, c2s job ls and c2s model ls show what there is",
    "not_ready_yet": "wait for it: c2s job watch ID",
    "precondition_failed": "somebody else moved it: look again, then decide again",
    "queue_full": "wait for jobs to end (c2s job ls --state queued), or cancel some",
    "quota_exceeded": "wait, delete what is not needed, or ask an admin for more",
    "rate_limited": "ask less often, or use a key with a higher rate",
    "storage_full": "delete datasets or models, or give the store more room",
    "unauthorized": "set C2S_TOKEN to a key of this service; c2s up prints one",
    "unavailable": "c2s doctor on the service's machine, and its logs, tell more",
    "unknown_dataset": "c2s dataset ls shows what there is",
    "unknown_version": "c2s model ls shows what there is",
    "internal": "a fault of the service: its log has it under the request id",
    # of jobs that failed
    "invalid_model": "c2s model ls shows what there is; its files may be harmed: c2s doctor --deep",
    "out_of_memory": "try a smaller batch_size, or a smaller net",
    "worker_lost": "c2s job retry ID tries again",
    "not_learnable": "try the method forward or volmin, or look at the matrix: c2s transition show ID",
    "time_limit": "try fewer epochs, or raise C2S_JOB_SECONDS of the service",
}


POINTERS = {  # of requests: what there is to choose from
    "/dataset_id": "c2s dataset ls shows what there is",
    "/method": "c2s train --help names the methods, GET /methods describes them",
    "/net": "c2s train --help names the nets, GET /nets describes them",
}
FAULTS = {  # of files, more telling than the code of the whole
    "bad_column": "is it the right column? --drop COLUMN leaves one out",
    "bad_encoding": "save the file as UTF-8",
    "bad_header": "the first line must name every column, each by a name of its own",
    "empty": "the file needs rows, a CSV below a line of names",
    "nested": "write one value a row, or leave the column out: --drop COLUMN",
    "pickled": "save plain arrays of numbers, or of strings with a fixed length",
    "too_many_refused": "mend the rows above and send the file again",
    "unknown_format": "save it as CSV, JSON lines, Parquet, NPZ or a zip of pictures",
    "unreadable": "save the file anew from where it comes",
    "no_label_column": "say which: --label COLUMN",
    "bad_option": "mend the option, or leave it out",
    "too_few_classes": "is it the right column? --label COLUMN names another",
    "too_many_classes": "is it the right column? --label COLUMN names another",
    "bad_ids": "name another column with --id, or leave it out: rows are then known by their numbers",
}


def tell(exc: errors.C2SError) -> int:
    """Say it on standard error; the exit code."""
    say = sys.stderr.write
    said = getattr(exc, "said", str(exc))  # of a problem without its faults, which follow with their places
    say(f"c2s: {plain(said)}\n")
    for fault in [one for one in getattr(exc, "faults", ()) if not _told(one, said)][:SHOWN]:
        say(f"  {plain(problems.where(fault))}{plain(fault.get('detail', fault.get('code', '')))}\n")
    # of a file that was refused, where it was refused says nothing more
    for line in () if getattr(exc, "code", "") == "invalid_dataset" else getattr(exc, "log", ())[-SHOWN:]:
        say(f"  | {plain(line)}\n")
    if (hint := advice(exc)) is not None:
        say(f"  -> {hint}\n")
    return code_of(exc)


def _told(fault: Any, said: str) -> bool:
    """Whether the sentence itself says it all, the place included."""
    told = fault.get("detail")
    if not told or told not in said or any(fault.get(name) is not None for name in ("row", "entry")):
        return False
    return fault.get("line") is None or f"line {fault['line']} " in told


def advice(exc: errors.C2SError) -> str | None:
    """What to do about it, where we know."""
    if isinstance(exc, problems.Unreachable):
        return "is the service up? c2s up starts one here; C2S_URL names one elsewhere, C2S_HOME the folder of one here"
    if isinstance(exc, problems.Unauthorized) and exc.advice:
        return exc.advice
    if isinstance(exc, problems.Problem) and exc.retry_after is not None and exc.code not in ADVICE:
        return f"try again in {exc.retry_after:.0f} s"
    known = next(_particular(exc), ADVICE.get(getattr(exc, "code", "")))
    about = getattr(exc, "job_id", None)
    return known.replace("ID", about) if known and about else known


def _particular(exc: errors.C2SError) -> Iterator[str]:
    """What to do about the faults themselves, the first one first."""
    for fault in getattr(exc, "faults", ()):
        if (found := FAULTS.get(fault.get("code", ""))) is not None:
            yield found
        place = "/" + str(fault.get("pointer") or "").removeprefix("/").partition("/")[0]
        if getattr(exc, "code", "") == "invalid" and place in POINTERS:
            yield POINTERS[place]


def code_of(exc: errors.C2SError) -> int:
    """The exit code of a failure."""
    match exc:
        case problems.JobFailed():
            return exits.FAILED
        case problems.JobCancelled():
            return exits.CANCELLED
        case problems.NotFound():
            return exits.NOT_FOUND
        case problems.Unauthorized() | problems.Forbidden():
            return exits.NOT_ALLOWED
        case problems.Unreachable() | problems.TimedOut() | problems.TooMany() | problems.Unavailable():
            return exits.AWAY
        case _:
            return exits.REFUSED
