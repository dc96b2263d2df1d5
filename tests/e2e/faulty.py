"""Disks that really fail: a small file system that is really full, and a file layer that fails on demand."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("faulty.c")
MIB = 2**20


class Skipped(Exception):
    """The machine lacks what the case needs; said, never passed over in silence."""


class Disk:
    """A file system of its own, of a few megabytes."""

    def __init__(self, path):
        self.path = path
        self._filler = path / "filler"

    def fill(self):
        """Take every byte that is left."""
        with contextlib.suppress(OSError), self._filler.open("ab", buffering=0) as file:
            while True:
                file.write(bytes(MIB) if shutil.disk_usage(self.path).free >= MIB else b"\0")

    def free(self):
        self._filler.unlink()

    @contextlib.contextmanager
    def full(self):
        self.fill()
        assert shutil.disk_usage(self.path).free == 0
        try:
            yield
        finally:
            self.free()


@contextlib.contextmanager
def small_disk(path, mib=48):
    """A tmpfs, mounted for the time of the block."""
    if os.geteuid() != 0:
        raise Skipped("only root can mount a small file system")
    path.mkdir(parents=True, exist_ok=True)
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    mounted = subprocess.run([mount, "-t", "tmpfs", "-o", f"size={mib}m", "c2s-test", str(path)])
    if mounted.returncode:
        raise Skipped("a small file system cannot be mounted here")
    try:
        yield Disk(path)
    finally:
        subprocess.run([unmount, "-l", str(path)], check=True)  # lazily: a log may still be open


class Layer:
    """The preloaded file layer: what processes need to be under it, and the rule that it obeys."""

    def __init__(self, folder, under):
        compiler = shutil.which("cc")
        if compiler is None:
            raise Skipped("there is no C compiler to build the failing file layer with")
        library, self._rule = folder / "faulty.so", folder / "rule"
        command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
        subprocess.run(command, check=True)
        self.env = {
            "LD_PRELOAD": str(library),
            "FAULTY_UNDER": str(under),
            "FAULTY_RULE": str(self._rule),
        }

    def obey(self, operation, needle, effect, *, first=1, last=2**40):
        """From now on; counted from 1 again."""
        Path(f"{self._rule}.hits").unlink(missing_ok=True)
        draft = self._rule.with_suffix(".new")
        draft.write_text(f"{operation} {needle} {effect} {first} {last}")
        draft.replace(self._rule)

    def behave(self):
        self._rule.unlink(missing_ok=True)

    @property
    def hits(self):
        """How often the rule was met."""
        with contextlib.suppress(FileNotFoundError):
            return Path(f"{self._rule}.hits").stat().st_size
        return 0
