"""What the machine did beside a run: slow flushes of its disk and cores that others hold are not the service."""

import os
import tempfile
import threading
import time

import psutil
from load_client import percentile

EVERY = 0.2  # seconds between flushes: rare enough not to be a load


def spent(processes):
    """Seconds of CPU so far."""
    return sum(sum(one.cpu_times()[:4]) for one in processes)


def busy():
    times = psutil.cpu_times()
    return sum(times) - times.idle - times.iowait - times.guest - times.guest_nice


class Beside(threading.Thread):
    """Flushes a small file now and then, and counts the CPU of the service, of all of ours, and of everybody else."""

    def __init__(self, *served):
        super().__init__(daemon=True)
        self.served = [psutil.Process(pid) for pid in served]
        self.flushes, self.ended = [], threading.Event()

    def run(self):
        with tempfile.TemporaryFile() as file:
            while not self.ended.wait(EVERY):
                os.pwrite(file.fileno(), b"x" * 4096, 0)
                began = time.monotonic()
                os.fdatasync(file.fileno())
                self.flushes.append(time.monotonic() - began)

    def sample(self):
        own = psutil.Process()
        return time.monotonic(), spent(self.served), spent([own, *own.children(recursive=True)]), busy()

    def __enter__(self):
        self.before = self.sample()
        self.start()
        return self

    def __exit__(self, *_):
        self.after = self.sample()
        self.ended.set()
        self.join()

    def said(self, requests):
        took, served, ours, all_ = (late - early for early, late in zip(self.before, self.after, strict=True))
        p50, p99 = (1000 * percentile(self.flushes, share) for share in (0.5, 0.99))
        return (
            f"{1000 * served / requests:.1f} ms CPU of the API each; beside it a flush took p50 {p50:.0f}, "
            f"p99 {p99:.0f} ms, others held {max(0.0, all_ - ours) / took:.1f} of {os.cpu_count()} cores"
        )
