"""Published classifiers: versions of a name, aliases that point at them, archives to carry away."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from c2s.client import markup, problems
from c2s.client.bound import Bound, M, listing, operation
from c2s.client.calls import JSON, Call, encoded
from c2s.client.records import Record, id_of

Form = Literal["onnx", "safetensors", "noise-model"]
Reference = str  # an id, `name`, `name@3` or `name@alias`


class Model(Record[M]):
    """A version of a name."""

    name: str
    version: int
    aliases: list[str]
    job_id: str
    sha256: str
    card: dict[str, Any]

    def _repr_html_(self) -> str:
        told = {name: self.raw.get(name) for name in ("name", "version", "job_id", "created_at")}
        return markup.facts(self.id, {**told, "aliases": ", ".join(self.aliases) or None, **self.card})


class Models(Bound[M]):
    """`client.models`."""

    @listing
    async def list(self, limit: int | None = None, *, name: str | None = None) -> AsyncIterator[Model[M]]:
        """All versions of all names, or of one, newest first."""
        async for raw in self._service.pages(Call.get("/models", name=name), limit):
            yield Model(self._service, raw)

    @operation
    async def get(self, model: Reference) -> Model[M]:
        """A version, by its id, `name@3`, `name@alias`, or a name: its alias `default`, else its newest version."""
        return Model(self._service, await self._version(model))

    @operation
    async def lineage(self, model: Reference | Model[M]) -> dict[str, Any]:
        """What a version was made from: dataset, job, transition."""
        found: dict[str, Any] = await self._service.json(Call.get(f"{_path(id_of(model))}/lineage"))
        return found

    @operation
    async def alias(self, name: str, alias: str) -> dict[str, Any]:
        """Where an alias points, with its history."""
        return await self._alias(name, alias)

    async def _alias(self, name: str, alias: str) -> dict[str, Any]:
        found: dict[str, Any] = await self._service.json(Call.get(_alias_path(name, alias)))
        return found

    @operation
    async def promote(
        self, model: Reference | Model[M], alias: str = "default", *, etag: str | None = None
    ) -> dict[str, Any]:
        """Point an alias of its name at a version; where somebody else is faster it is `Changed`.

        A plain name stands for its newest version here. `etag`: what the alias was when you decided, as `alias()`
        tells; without one, what it is now.
        """
        found = await self._version(id_of(model), newest=True)
        seen = etag or await self._etag(found["id"], alias)
        condition = {"If-None-Match": "*"} if seen is None else {"If-Match": seen}
        call = Call("PUT", _alias_path(found["id"], alias), body=encoded({"model_id": found["id"]}))
        moved: dict[str, Any] = await self._service.json(
            replace(call, headers={"Content-Type": JSON, **condition})
        )
        return moved

    async def _version(self, model: Reference, *, newest: bool = False) -> dict[str, Any]:
        """The version that is meant; `newest`: a plain name means what was published last, whatever it serves."""
        raw: dict[str, Any] = await self._service.json(Call.get(_path(model)))
        if "versions" not in raw:
            return raw
        serving = [one["model_id"] for one in raw["aliases"] if one["alias"] == "default" and not newest]
        if not serving:
            last: dict[str, Any] = raw["versions"][0]
            return last
        found: dict[str, Any] = await self._service.json(Call.get(_path(serving[0])))
        return found

    async def _etag(self, name: str, alias: str) -> str | None:
        try:
            etag: str = (await self._alias(name, alias))["etag"]
        except problems.NotFound:
            return None
        return etag

    @operation
    async def rollback(self, name: str, alias: str = "default") -> dict[str, Any]:
        """Point an alias at what it pointed at before."""
        found: dict[str, Any] = await self._service.json(Call.post(f"{_alias_path(name, alias)}/rollback"))
        return found

    @operation
    async def export(
        self,
        model: Reference | Model[M],
        target: str | Path,
        *,
        format: Form = "onnx",  # noqa: A002
    ) -> Path:
        """Write a version as a zip with its card and a README."""
        call = Call.get(f"{_path(id_of(model))}/export", format=format)
        return await self._service.save(call, Path(target))

    @operation
    async def delete(self, model: str | Model[M], *, force: bool = False) -> None:
        """Delete a version, by its id, that no alias points at; by force also decisions that nothing was made of."""
        params = (("force", "true"),) if force else ()
        await self._service.ask(Call("DELETE", _path(id_of(model)), params=params))


def _path(model: str) -> str:
    return f"/models/{quote(model, safe='@')}"


def _alias_path(name: str, alias: str) -> str:
    return f"{_path(name)}/aliases/{quote(alias, safe='')}"
