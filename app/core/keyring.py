"""Whom a secret lets in, remembered for a few seconds: a request costs no look into SQL unless its key is new."""

import time
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from app.core import access, keys, projects, sessions
from app.core.callers import BOOTSTRAP, DEFAULT_PROJECT, SCOPES, Caller, Limits, Quotas
from app.core.db import Database

FRESH_SECONDS = 5.0  # until a revocation is known to every process; the one that revokes knows at once
MOST = 10_000  # only what lets in is remembered, so that strangers cannot fill it
OPERATOR = Caller(BOOTSTRAP, DEFAULT_PROJECT, frozenset(SCOPES))


@dataclass(frozen=True)
class Entry:
    caller: Caller
    until: float


class Bootstrap:
    """The operator's key, from the settings or the token file; needs no database."""

    def __init__(self, token: str) -> None:
        self.sha256 = keys.digest(token)

    def caller(self, secret: str) -> Caller | None:
        """The operator, to whoever knows the token."""
        return OPERATOR if access.matches(keys.digest(secret), self.sha256) else None


class Keyring:
    """Looks secrets up and remembers whom they let in; by hash, so that no secret stays in memory."""

    def __init__(self, database: Database, bootstrap: Bootstrap, limits: Limits) -> None:
        self._database, self._bootstrap, self._limits = database, bootstrap, limits
        self._entries: dict[str, Entry] = {}
        self._quotas: dict[str, tuple[Quotas, float]] = {}

    def known(self, kind: str, secret: str) -> Caller | None:
        """Whom we know without asking."""
        entry = self._entries.get(f"{kind} {keys.digest(secret)}")
        return entry.caller if entry is not None and time.monotonic() < entry.until else None

    def look_up(self, kind: str, secret: str) -> Caller | None:
        """Whom SQL knows: the holder of a key, or of a session."""
        with self._database.read() as tx:
            found = keys.by_secret(tx, secret, self._limits) if kind == "key" else self._visitor(tx, secret)
        if found is None:
            return None
        caller, left = found
        if len(self._entries) >= MOST:
            self._entries.clear()
        until = time.monotonic() + min(FRESH_SECONDS, FRESH_SECONDS if left is None else left)
        self._entries[f"{kind} {keys.digest(secret)}"] = Entry(caller, until)
        return caller

    def _visitor(self, tx: Session, value: str) -> tuple[Caller, float | None] | None:
        found = sessions.find(tx, value)
        if found is None:
            return None
        login, left = found
        if login.key_id == BOOTSTRAP:
            ours = access.matches(login.key_sha256, self._bootstrap.sha256)
            return (replace(OPERATOR, by_cookie=True), left) if ours else None
        holder = keys.by_id(tx, login.key_id, login.key_sha256, self._limits)
        if holder is None:
            return None
        return replace(holder[0], by_cookie=True), min(left, left if holder[1] is None else holder[1])

    def in_project(self, caller: Caller, project_id: str) -> Caller:
        """An admin at work in a project of its choice."""
        known = self._quotas.get(project_id)
        if known is None or time.monotonic() >= known[1]:
            with self._database.read() as tx:
                quotas = self._limits.quotas(projects.find(tx, project_id).quotas)
            if len(self._quotas) >= MOST:
                self._quotas.clear()
            known = self._quotas[project_id] = quotas, time.monotonic() + FRESH_SECONDS
        return replace(caller, project_id=project_id, quotas=known[0])

    def forget(self) -> None:
        """Ask again about everybody: a key, a session or a quota has changed here."""
        self._entries.clear()
        self._quotas.clear()
