"""A child process: started in a session of its own, heard line by line, ended with all its descendants."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import structlog

import worker
from worker import messages

Module = Literal["worker.trainer", "worker.reader", "worker.predictor"]
TAIL_LINES, TAIL_BYTES, LONGEST_LINE = 50, 2**16, 500
log = structlog.get_logger("c2s.worker")

GENTLE = {  # unless a user says otherwise
    "OMP_WAIT_POLICY": "PASSIVE",  # spinning threads starve each other
    # glibc gives freed memory back at once, and every step of a training would fault its pages in anew (LeNet: 4 %)
    "MALLOC_TRIM_THRESHOLD_": str(2**30),
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
}


class Child:
    """A process that works for us; it dies when we do."""

    def __init__(self, module: Module, asked: dict[str, Any], *, log_file: Path, threads: int) -> None:
        self._log_file = log_file
        self._heard: queue.SimpleQueue[messages.News | messages.Last | None] = queue.SimpleQueue()
        self.silent = False  # it will say nothing more
        self._kills = _kills()
        log_file.parent.mkdir(parents=True, exist_ok=True)
        with log_file.open("ab") as errors:
            # from the main thread: the child's parent-death signal is bound to the thread that starts it
            self._process = subprocess.Popen(  # noqa: S603 # nosec B603 # our own interpreter and module
                [sys.executable, "-P", "-m", module],  # -P: no modules from the current folder
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=_environment(threads),
                start_new_session=True,
            )
        with contextlib.suppress(OSError):  # where memory ends, the kernel shall choose it and not us
            Path(f"/proc/{self.pid}/oom_score_adj").write_text("500", encoding="ascii")
        request = json.dumps(asked | {"parent": os.getpid()}).encode() + b"\n"
        threading.Thread(target=self._tell, args=(request,), daemon=True).start()
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def pid(self) -> int:
        """The process, which is also its group."""
        return self._process.pid

    def receive(self, seconds: float) -> messages.News | messages.Last | None:
        """The next message, if one comes in time; at the end `silent` is set."""
        if self.silent:
            return None
        try:
            message = self._heard.get(timeout=seconds)
        except queue.Empty:
            return None
        self.silent = message is None
        return message

    def ask_to_stop(self) -> None:
        """Let it end in its own way."""
        self._signal(signal.SIGTERM)

    def end(self, grace: float = 0.0) -> int:
        """The exit code, after `grace` seconds by force; negative: the signal that ended it."""
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace)
        finally:
            if self._process.returncode is None:
                self._signal(signal.SIGKILL)
            code = self._process.wait()
            if self._process.stdin is not None:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()
        return code

    def starved(self, code: int) -> bool:
        """Whether the kernel ended it for want of memory, as far as its count of such ends can tell."""
        return code == -signal.SIGKILL and _kills() > self._kills

    def last_words(self) -> list[str]:
        """The last lines of its log."""
        with contextlib.suppress(OSError), self._log_file.open("rb") as file:
            file.seek(max(0, self._log_file.stat().st_size - TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()[-TAIL_LINES:]
            return [line[:LONGEST_LINE].replace("\0", "") for line in _legible(lines)][-TAIL_LINES:]
        return []

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _tell(self, request: bytes) -> None:
        """Hand over the request; the pipe stays open, and its end tells the child that we are gone."""
        pipe = self._process.stdin
        if pipe is not None:
            with contextlib.suppress(OSError, ValueError):  # it died before it could listen
                pipe.write(request)
                pipe.flush()

    def _listen(self) -> None:
        pipe = self._process.stdout
        if pipe is not None:
            with pipe:
                while line := pipe.readline(messages.LONGEST):
                    message = messages.parse(line)
                    if message is None:
                        log.warning("not_a_message", bytes=len(line))
                    else:
                        self._heard.put(message)
        self._heard.put(None)


def _kills() -> int:
    """How many processes the kernel has killed for want of memory."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _legible(lines: list[str]) -> Iterator[str]:
    """The lines of a log, with the traces that some of them hold written out below them."""
    for line in lines:
        facts = None
        if line.startswith("{"):
            with contextlib.suppress(ValueError):
                facts = json.loads(line)
        if isinstance(facts, dict) and isinstance(trace := facts.pop("exception", None), str):
            yield json.dumps(facts)
            yield from trace.splitlines()
        else:
            yield line


def _environment(threads: int) -> dict[str, str]:
    """Ours without the settings of the service and the store, which hold secrets that no child needs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("C2S_", "AWS_"))}
    root = str(Path(worker.__file__ or "").resolve().parents[1])
    paths = [path for path in kept.get("PYTHONPATH", "").split(os.pathsep) if path]
    told = {
        "PYTHONPATH": os.pathsep.join([*paths, root]),
        "PYTHONFAULTHANDLER": "1",  # a crash in native code leaves a trace in the log
        "OMP_NUM_THREADS": str(threads),
    }
    return GENTLE | kept | told
