"""The process that has a large upload read: `python -m worker.reader`, started and watched by a supervisor.

The bytes themselves are touched by a child of its own, with hard limits; this one can be killed at any moment.
"""

import os
import shutil
from pathlib import Path
from typing import Any

from worker import childhood, errand


def main() -> None:
    """Read the file as asked on standard input."""
    errand.run(_read, failed="reading_failed")


def _read(asked: dict[str, Any], channel: childhood.Channel, _wish: errand.Wish) -> None:
    from app.intake import correcting, options, reading, refusal  # here, where a failure to load is told
    from c2s import data
    from worker import diary

    diary.begin(asked.get("diary", {}), "c2s-reader")
    source, target = Path(asked["source"]), Path(asked["target"])
    channel.say("phase", phase="loading")
    _clear(target.parent, source)
    if "corrects" in asked:
        found = correcting.correct(Path(asked["corrects"]), source, target, asked["report"])
        channel.say("read", report=found, shape=data.load(target).shape.plain())
        return
    limits = options.Limits(memory_bytes=memory(asked["memory_bytes"], source), seconds=asked["seconds"])
    try:
        told = reading.read(source, target, options.Options(**asked["options"]), limits)
    except refusal.Refused as exc:
        channel.say("refused", reasons=exc.reasons)
    else:
        shape = data.load(target).shape.plain()
        channel.say("read", report=told.model_dump(mode="json"), shape=shape)


def memory(least: int, source: Path) -> int:
    """What reading the file may take: more for larger files, but never all that there is."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(least + 6 * source.stat().st_size, physical * 3 // 4)


def _clear(folder: Path, source: Path) -> None:
    """Remove what an earlier attempt left beside the file."""
    for path in folder.iterdir():
        if path != source:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    main()
