"""API keys, for admins."""

import datetime
from collections.abc import AsyncIterator, Sequence
from typing import Literal

from c2s.client.bound import Bound, M, listing, operation
from c2s.client.calls import Call
from c2s.client.records import Record, id_of

Scope = Literal["read", "write", "predict", "admin"]


class Key(Record[M]):
    """A key; `secret` only in the answer that makes it."""

    project_id: str
    name: str
    prefix: str
    scopes: list[str]
    requests_per_minute: int | None
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None
    secret: str

    def _repr_html_(self) -> str:
        return f"{self!r}".replace("<", "&lt;")  # never the secret


class Keys(Bound[M]):
    """`client.keys`."""

    @operation
    async def create(
        self,
        name: str,
        scopes: Sequence[Scope] = ("read", "write", "predict"),
        *,
        project: str | None = None,
        expires_at: datetime.datetime | None = None,
        requests_per_minute: int | None = None,
    ) -> Key[M]:
        """A new key; its secret is told this once."""
        body = {
            "name": name,
            "scopes": list(scopes),
            "project_id": project,
            "expires_at": None if expires_at is None else expires_at.isoformat(),
            "requests_per_minute": requests_per_minute,
        }
        call = Call.post("/keys", body, keyed=False, repeatable=False)  # a lost answer may have made one
        return Key(self._service, await self._service.json(call))

    @operation
    async def get(self, key: str | Key[M]) -> Key[M]:
        """A key by its id."""
        return Key(self._service, await self._service.json(Call.get(f"/keys/{id_of(key)}")))

    @listing
    async def list(self, limit: int | None = None) -> AsyncIterator[Key[M]]:
        """The keys of the project, newest first."""
        async for raw in self._service.pages(Call.get("/keys"), limit):
            yield Key(self._service, raw)

    @operation
    async def revoke(self, key: str | Key[M]) -> None:
        """End a key for good."""
        await self._service.ask(Call("DELETE", f"/keys/{id_of(key)}"))
