"""The servers that ours is measured against: processes of their own, frozen while it is not their turn."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import service
from ports import free_port

HERE = Path(__file__).parent
THEIRS = (
    service.ROOT / ".venv" / "serve" / "bin" / "python"
)  # never ours: LitServe and BentoML pin what we pin
PATIENCE = 90.0

NAMES = ("floor", "layers", "constant", "naive", "litserve", "bentoml")
OURS = ("floor", "layers", "constant", "naive")  # need nothing that the service's own environment lacks
QUIET = {
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",  # a thread that spins takes the core from the loader
    "BENTOML_DO_NOT_TRACK": "True",  # no word to anybody's home
    "LIT_SERVE_DISABLE_TELEMETRY": "1",
}


def command(name, port):
    """The arguments of Python that start a rival."""
    if name == "bentoml":
        return ["-m", "bentoml", "serve", "rival_bentoml:Digits", "--host", "127.0.0.1", "--port", str(port)]
    return ["-m", f"rival_{name}", str(port)]


class Absent(Exception):
    """A rival that cannot be run here, and why."""


class Rival:
    """One server, and all processes that it started."""

    def __init__(self, name, folder, model):
        self.name, self.port = name, free_port()
        self.log = folder / f"{name}.log"
        own = name in OURS
        python = sys.executable if own else str(THEIRS)
        if not own and not THEIRS.exists():
            raise Absent("its environment was not made")
        env = (
            os.environ
            | QUIET
            | {
                "C2S_BENCH_MODEL": str(model),
                "PYTHONPATH": f"{HERE}:{HERE.parent}:{HERE.parent / 'e2e'}:{service.ROOT}",
            }
        )
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [python, *command(name, self.port)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env=env,
                start_new_session=True,
            )

    def until_answers(self, ask):
        """Wait until `ask` gets an answer."""
        deadline = time.monotonic() + PATIENCE
        while not ask():
            if self.process.poll() is not None or time.monotonic() > deadline:
                last = (
                    self.log.read_text(errors="replace").strip().splitlines() or ["it ended without a word"]
                )[-1]
                raise Absent(last[:200])
            time.sleep(0.2)

    def family(self):
        with contextlib.suppress(psutil.Error):
            first = psutil.Process(self.process.pid)
            return [first, *first.children(recursive=True)]
        return []

    def send(self, sent):
        for one in self.family():
            with contextlib.suppress(psutil.Error):
                one.send_signal(sent)

    def freeze(self):
        self.send(signal.SIGSTOP)

    def thaw(self):
        self.send(signal.SIGCONT)

    def stop(self):
        self.thaw()
        family = self.family()
        self.process.terminate()
        _, left = psutil.wait_procs(family, timeout=10)
        for one in left:
            with contextlib.suppress(psutil.Error):
                one.kill()
        self.process.wait()
