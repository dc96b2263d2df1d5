"""What the service tells of a thing, as attributes; fields that this version does not know are there as well."""

from collections.abc import Mapping
from typing import Any

from c2s.client.bound import Bound, M
from c2s.client.service import Service


class Record(Bound[M]):
    """A thing of the service as it was when it was last asked; `raw` is all that was told."""

    id: str
    created_at: str

    def __init__(self, service: Service, raw: Mapping[str, Any]) -> None:
        super().__init__(service)
        self.raw: dict[str, Any] = dict(raw)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["raw"][name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no {name!r}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.raw]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        shown = ("state", "name", "version", "kind", "rows")
        told = "".join(f" {key}={self.raw[key]!r}" for key in shown if self.raw.get(key) is not None)
        return f"<{type(self).__name__} {self.raw.get('id')}{told}>"


def id_of(thing: str | Record[M]) -> str:
    """The id of a record, or the id or name itself."""
    return thing if isinstance(thing, str) else thing.id
