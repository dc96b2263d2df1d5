"""How many jobs wait. A count reads the whole queue, so that far from the limit it is made once a second at most."""

import threading
import time
import weakref
from dataclasses import dataclass, field

from sqlalchemy import Engine, func, select

from app.core import db, errors
from app.core.tables import IS_QUEUED, Job

FRESH_SECONDS = 1.0
NEAR = (
    2_000  # places: with fewer left every job counts anew. More than all processes together take in a second
)
WAITING = select(func.count()).select_from(Job.__table__).where(IS_QUEUED)


@dataclass
class Count:
    """The last count of a database, and what this process has added since."""

    waiting: int = 0
    counted_at: float = float("-inf")
    lock: threading.Lock = field(default_factory=threading.Lock)


_counts: weakref.WeakKeyDictionary[Engine, Count] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def admit(tx: db.Tx, limit: int) -> None:
    """Let one more job in, or refuse it."""
    connection = db.plain(tx)
    with _lock:
        count = _counts.setdefault(connection.engine, Count())
    with count.lock:
        old = time.monotonic() - count.counted_at > FRESH_SECONDS
        if old or count.waiting + NEAR > limit:
            count.waiting = connection.execute(WAITING).scalar_one()
            count.counted_at = time.monotonic()
        if count.waiting >= limit:
            raise errors.TooMany(f"{count.waiting} jobs are waiting, the limit is {limit}")
        count.waiting += 1
