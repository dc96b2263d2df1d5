"""From a file of untrusted bytes to a dataset folder, by way of a process that is thrown away."""

import errno
import json
import logging
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

import app
from app.intake import limits as walls
from app.intake import options as chosen
from app.intake import refusal, report

LONGEST_ANSWER = 2**24  # bytes; a thousand refused rows take far less
FOLDER, REQUEST, ANSWER, TRACE = "dataset", "request.json", "answer.json", "trace.txt"
NO_SPACE = "no_space"
log = logging.getLogger(__name__)
Answer = TypeVar("Answer", bound=BaseModel)


class Encoded(BaseModel):
    """What became of rows without labels."""

    rows: int
    faults: int  # rows that could not be encoded


def read(
    source: Path, target: Path, options: chosen.Options, limits: chosen.Limits | None = None
) -> report.Report:
    """Read the file into the folder `target`, which appears whole; what cannot be used is `Refused`."""
    return _thrown(source, target, {"options": options}, limits or chosen.Limits(), report.Report)


def encode(source: Path, target: Path, card: Path, options: chosen.Options, limits: chosen.Limits) -> Encoded:
    """The same for rows without labels, as inputs of the model with this card."""
    return _thrown(source, target, {"options": options, "card": card}, limits, Encoded)


def _thrown(
    source: Path, target: Path, asked: dict[str, Any], limits: chosen.Limits, kind: type[Answer]
) -> Answer:
    target.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=".intake-", dir=target.parent)).resolve()  # one rename away
    try:
        (place / REQUEST).write_bytes(_request(source, place, asked, limits))
        code = _run(place, limits)
        found = _answer(place, code, limits, kind)
        _publish(place / FOLDER, target)
        return found
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _request(source: Path, place: Path, asked: dict[str, Any], limits: chosen.Limits) -> bytes:
    request = {
        "source": str(source.resolve(strict=True)),
        "target": str(place / FOLDER),
        "options": asked["options"].model_dump(mode="json"),
        "limits": limits.model_dump(mode="json"),
        "parent": os.getpid(),
    }
    if "card" in asked:
        request["card"] = str(asked["card"].resolve(strict=True))
    return json.dumps(request).encode()


def _run(place: Path, limits: chosen.Limits) -> int | None:
    """The exit code of the child; None if it took too long."""
    root = Path(app.__file__ or "").resolve().parents[1]
    environment = {
        "PATH": os.defpath,
        "PYTHONPATH": str(root),
        "HOME": str(place),
        "TMPDIR": str(place),
        **walls.ENVIRONMENT,
    }
    with (
        (place / REQUEST).open("rb") as request,
        (place / ANSWER).open("wb") as answer,
        (place / TRACE).open("wb") as trace,
    ):
        child = subprocess.Popen(  # nosec B603 # our own module
            [sys.executable, "-s", "-P", "-m", "app.intake.child"],  # -P: no modules from the current folder
            stdin=request,
            stdout=answer,
            stderr=trace,
            cwd=place,
            env=environment,
            start_new_session=True,
        )
    try:
        ended = _wait(child.pid, limits.seconds)
    finally:
        os.killpg(child.pid, signal.SIGKILL)  # not reaped yet, so the number is still its own
        child.wait()
    return child.returncode if ended else None


def _wait(pid: int, seconds: float) -> bool:
    """Whether the process ends in time; it stays a zombie, so that nobody else gets its number."""
    deadline, pause = time.monotonic() + seconds, 0.002
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(0.05, 1.5 * pause)
    return True


def _answer(place: Path, code: int | None, limits: chosen.Limits, kind: type[Answer]) -> Answer:
    said = _said(place / ANSWER) if code == 0 else {}
    if said.get("error") == NO_SPACE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # not the file's fault
    if said.get("refused"):
        raise refusal.Refused(said["refused"])
    try:
        return kind.model_validate_json(json.dumps(said["ok"]))
    except (KeyError, ValidationError):
        raise _unexplained(place, code, limits) from None


def _said(path: Path) -> dict[str, Any]:
    if path.stat().st_size > LONGEST_ANSWER:
        return {}
    try:
        said = json.loads(path.read_bytes())
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _unexplained(place: Path, code: int | None, limits: chosen.Limits) -> refusal.Refused:
    """What the end of a child that said nothing means."""
    with (place / TRACE).open("rb") as file:
        file.seek(max(0, (place / TRACE).stat().st_size - 4000))
        trace = file.read().decode(errors="replace")
    if code is None or code == -signal.SIGXCPU:
        return refusal.refuse("too_slow", f"the file takes more than {limits.seconds:g} seconds to read")
    starved = ("bad_alloc", "MemoryError", "annot allocate memory", "failed to map segment")
    if code == -signal.SIGKILL or any(sign in trace for sign in starved):
        return too_much_memory(limits)
    log.warning("the reader of a file ended with %s: %s", code, trace)
    return refusal.refuse("unreadable", "the file makes its reader fail; it is damaged, or not what it seems")


def too_much_memory(limits: chosen.Limits) -> refusal.Refused:
    """The refusal of a file that needs more memory than its reader has."""
    room = limits.memory_bytes // 2**20
    return refusal.refuse("too_much_memory", f"the file takes more than {room} MiB of memory to read")


def _publish(folder: Path, target: Path) -> None:
    """Move the folder to its place, if it holds plain files and nothing else."""
    if not folder.is_dir() or any(not stat.S_ISREG(file.lstat().st_mode) for file in folder.iterdir()):
        raise refusal.refuse("unreadable", "the file makes its reader fail")
    folder.replace(target)
    handle = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
