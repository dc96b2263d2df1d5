"""The service on one machine: API and worker as children that are restarted when they die, on SQLite and a folder.

The listening socket belongs to the supervisor, so that requests wait instead of failing while the API restarts.
"""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
import types
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from app.core import access, errors
from app.core.settings import Settings

FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0  # seconds before a restart, doubling
STEADY_SECONDS = 60.0  # a child that lived this long starts again with the shortest wait
READY_SECONDS = 60.0
LOG_BYTES = 10 * 2**20  # of an old log; a longer one is set aside at the next start
POLL = 0.1


class Child:
    """A process that should run: started, watched, restarted with growing patience, stopped."""

    def __init__(self, name: str, command: list[str], log: Path | None, *, fds: tuple[int, ...] = ()) -> None:
        self.name, self._command, self._log, self._fds = name, command, log, fds
        self._process: subprocess.Popen[bytes] | None = None
        self._wait, self._started, self._due = FIRST_WAIT, 0.0, 0.0

    def tend(self) -> None:
        """Start the process if it is not running and its turn has come."""
        now = time.monotonic()
        if self._process is not None and self._process.poll() is not None:
            self._wait = FIRST_WAIT if now - self._started > STEADY_SECONDS else self._wait
            self._due, self._wait = now + self._wait, min(LONGEST_WAIT, 2 * self._wait)
            self._process = None
        if self._process is None and now >= self._due:
            self._start(now)

    def _start(self, now: float) -> None:
        with self._log.open("ab") if self._log else contextlib.nullcontext() as log:  # None: as ours
            self._process = subprocess.Popen(  # noqa: S603 # nosec B603 # our own modules
                [*self._command, "--parent", str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=self._fds,
                start_new_session=True,  # Ctrl-C is for the supervisor alone, which stops them in order
            )
        self._started = now

    def ask_tostop(self) -> None:
        """Send SIGTERM."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def ended(self) -> bool:
        """Whether the process is gone."""
        return self._process is None or self._process.poll() is not None

    def kill(self) -> None:
        """End it whatever it is doing."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def run(settings: Settings, *, ready: Callable[[str], None]) -> None:
    """Run the service until SIGINT or SIGTERM; `ready` is told the address once it answers."""
    settings.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _alone(settings) as lock, listening(settings) as door, signals() as told:
        address = f"http://{settings.host}:{door.getsockname()[1]}"
        lock.write(f"{os.getpid()} {address}\n")
        lock.flush()
        _migrate()
        children = _children(settings, door)
        try:
            _watch(children, told, address, lambda: ready(f"{address}/?token={access.token(settings)}"))
        finally:
            door.close()  # who comes now is refused at once, instead of waiting for nobody
            stop(children, settings.grace_seconds + 15)


def _migrate() -> None:
    """In a process of its own: what it loads would stay in this one for as long as the service runs."""
    ours = [sys.executable, "-m", "app", "migrate"]
    done = subprocess.run(ours, stdin=subprocess.DEVNULL, check=False)  # noqa: S603 # nosec B603 # our own module
    if done.returncode < 0:
        raise errors.Unavailable("the database cannot be brought to this version: its migration was killed")
    if done.returncode:
        raise SystemExit(done.returncode)  # it has said why


def running(settings: Settings) -> tuple[int, str] | None:
    """The supervisor's process id and address, if the service runs on this home."""
    path = settings.root / "lock"
    with contextlib.suppress(OSError, ValueError), path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid, address = file.read().split()
            return int(pid), address
    return None


def _watch(children: list[Child], told: Callable[[], bool], address: str, ready: Callable[[], None]) -> None:
    deadline, announced = time.monotonic() + READY_SECONDS, False
    while not told():
        for child in children:
            child.tend()
        if not announced and answers(address):
            announced = True
            ready()
        if not announced and time.monotonic() > deadline:
            raise errors.Unavailable("the API does not start: see the logs folder")
        time.sleep(POLL)


def stop(children: list[Child], patience: float) -> None:
    """Ask all to stop, and end those that have not after `patience` seconds."""
    for child in children:
        child.ask_tostop()
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and not all(child.ended() for child in children):
        time.sleep(POLL)
    for child in children:
        child.kill()


def _children(settings: Settings, door: socket.socket) -> list[Child]:
    logs = settings.root / "logs"
    logs.mkdir(exist_ok=True)
    for log in logs.glob("*.log"):
        if log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
    descriptor = door.fileno()
    api = [sys.executable, "-m", "app.serve", "--fd", str(descriptor)]
    return [
        Child("api", api, logs / "api.log", fds=(descriptor,)),
        Child("worker", [sys.executable, "-m", "worker"], logs / "worker.log"),
    ]


@contextlib.contextmanager
def _alone(settings: Settings) -> Iterator[IO[str]]:
    """One service a home: SQLite and the folder are not for two."""
    with (settings.root / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            where = running(settings)
            raise errors.Conflict(f"c2s runs already{f' at {where[1]}' if where else ''}") from exc
        file.truncate(0)
        yield file


@contextlib.contextmanager
def listening(settings: Settings) -> Iterator[socket.socket]:
    """The socket that requests come to."""
    try:
        door = socket.create_server((settings.host, settings.port), backlog=2048)
    except OSError as exc:
        raise errors.Conflict(f"port {settings.port} is taken: set C2S_PORT to another, or to 0") from exc
    with door:
        yield door


@contextlib.contextmanager
def signals() -> Iterator[Callable[[], bool]]:
    """Whether somebody asked this process to stop."""
    asked: list[int] = []

    def note(number: int, _frame: types.FrameType | None) -> None:
        asked.append(number)

    before = {
        number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def answers(address: str) -> bool:
    """Whether the service is ready at this address."""
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=2) as answer:  # noqa: S310 # nosec B310 # our own address
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
