"""A request and its answer, as plain values."""

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

Method = Literal["GET", "POST", "PUT", "DELETE"]
Params = tuple[tuple[str, str], ...]
JSON = "application/json"
KEY = "Idempotency-Key"


@dataclass(frozen=True)
class Call:
    """What is asked; `repeatable`: asked twice, it is done once or does no harm."""

    method: Method
    path: str
    params: Params = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Path | None = None  # a file is read again whenever the call is sent again
    repeatable: bool = True

    @classmethod
    def get(cls, path: str, **params: object) -> Self:
        """Read something; parameters that are None are left out."""
        return cls("GET", path, given(params))

    @classmethod
    def post(
        cls,
        path: str,
        value: object = None,
        *,
        keyed: bool = True,
        repeatable: bool = True,
        params: Mapping[str, object] | None = None,
    ) -> Self:
        """Send JSON; with a key the service does it once, however often it is sent."""
        body = None if value is None else encoded(value)
        headers = {} if body is None else {"Content-Type": JSON}
        return cls("POST", path, given(params or {}), headers | fresh_key(keyed), body, repeatable)

    @classmethod
    def upload(
        cls, path: str, body: bytes | Path, *, kind: str, keyed: bool = True, params: Mapping[str, object]
    ) -> Self:
        """Send bytes, or a file as it lies."""
        return cls("POST", path, given(params), {"Content-Type": kind, **fresh_key(keyed)}, body)


def fresh_key(wanted: bool) -> dict[str, str]:
    """A key that no other call has, which stays with its call over every attempt."""
    return {KEY: secrets.token_hex(16)} if wanted else {}


def encoded(value: object) -> bytes:
    """JSON as the service takes it: numbers that are not finite are refused here, not made up."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def given(params: Mapping[str, object]) -> Params:
    """Parameters as text; lists are repeated, None is left out."""
    return tuple((name, _text(one)) for name, value in params.items() for one in _each(value))


def _each(value: object) -> Iterable[object]:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]  # names in small letters
    body: bytes = b""

    def json(self) -> Any:
        """The body as plain data."""
        return json.loads(self.body)

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait, where the service says how many."""
        said = self.headers.get("retry-after", "")
        return float(said) if said.isdigit() else None
