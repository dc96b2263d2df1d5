"""A claim in our hands: renewed while the work goes on, and ended by one write that is never lost or doubled."""

import time
from collections.abc import Callable
from typing import Any

import structlog
from sqlalchemy import exc as sql
from sqlalchemy.orm import Session

from app.core import claims, db, events
from app.core.tables import ACTIVE, Job

NEWS_SECONDS = 1.0  # between writes while there is news
QUIET_SECONDS = 5.0  # between writes while there is none: a wish to cancel is read by them
RETRY_SECONDS = 1.0  # while the database is away
log = structlog.get_logger("c2s.worker")


class Hold:
    """Keeps a claim; raises `claims.Lost` when it is, or may be, no longer ours."""

    def __init__(self, database: db.Database, claim: claims.Claim, *, lease: float, since: float) -> None:
        self.claim, self.cancel = claim, False
        self._database, self._lease = database, lease
        self._renewed = since  # by our clock, just before the write: the lease cannot end earlier
        self._tried = since
        self._news: list[events.News] = []
        self._progress: dict[str, Any] | None = None
        self._estimate: dict[str, Any] | None = None

    def note(self, kind: events.Type, facts: dict[str, Any]) -> None:
        """Remember what happened, until the next write."""
        self._news.append((kind, facts))

    def progress(self, facts: dict[str, Any]) -> None:
        """Remember where the job is; only the latest counts."""
        self._progress = facts

    def estimated(self, found: dict[str, Any]) -> None:
        """Remember what is known of the labels."""
        self._estimate = found

    def keep(self) -> None:
        """Renew the lease and write the news, if it is time."""
        pause = (
            NEWS_SECONDS
            if self._news or self._progress or self._estimate
            else min(QUIET_SECONDS, self._lease / 4)
        )
        if time.monotonic() - self._tried < min(pause, self._lease / 4):
            return
        self._tried = time.monotonic()
        try:
            with self._database.begin() as tx:
                wishes = self._write(tx)
        except (sql.DBAPIError, sql.TimeoutError) as exc:
            self._bear(exc)
            return
        self._written(self._tried)
        self.cancel = wishes.cancel

    def settle(self, write: Callable[[Session], None]) -> None:
        """End our part with the remaining news and `write` in one transaction, however often it takes."""
        doubtful = False
        while True:
            try:
                with self._database.begin() as tx:
                    self._write(tx)
                    write(tx)
                return
            except claims.Lost:
                if doubtful and self._landed():
                    return
                raise
            except (sql.DBAPIError, sql.TimeoutError) as exc:
                self._bear(exc)
                doubtful = True  # the connection may have gone between the commit and its answer
            time.sleep(min(RETRY_SECONDS, self._lease / 4))

    def _write(self, tx: Session) -> claims.Wishes:
        news = list(self._news)
        if self._progress is not None:
            news.append(("progress", self._progress))
        return claims.beat(
            tx, self.claim, lease=self._lease, news=news, progress=self._progress, estimate=self._estimate
        )

    def _written(self, at: float) -> None:
        self._renewed = at
        self._news.clear()
        self._progress = self._estimate = None

    def _bear(self, exc: sql.DBAPIError | sql.TimeoutError) -> None:
        """A database that is away is waited for while the lease lasts."""
        if isinstance(exc, sql.DBAPIError) and not db.unavailable(exc):
            raise exc
        log.warning("database_away", error=type(exc).__name__)
        if time.monotonic() - self._renewed >= self._lease:
            raise claims.Lost("the lease ran out while the database was away") from exc

    def _landed(self) -> bool:
        """Whether the write whose answer was lost took place: nobody else ends or returns a job under our fence."""
        with self._database.read() as tx:
            job = tx.get(Job, self.claim.job_id)
            return job is not None and job.fence == self.claim.fence and job.state not in ACTIVE
