"""Who asks: which key, in which project, what it may do and how much of it."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

Scope = Literal["read", "write", "predict", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "write", "predict", "admin")
DEFAULT_PROJECT = "prj_" + "0" * 26  # of the operator, and of all that was made before there were projects
BOOTSTRAP = "bootstrap"  # the key that the settings or the token file hold; it has no row


class Quotas(BaseModel):
    """What a project may use; None: as much as the machine can bear."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stored_bytes: int | None = Field(None, ge=0, le=2**53)  # of uploaded files, until they are deleted
    jobs_per_day: int | None = Field(None, ge=0, le=2**31)
    jobs_queued: int | None = Field(None, ge=0, le=2**31)
    predictions_per_day: int | None = Field(None, ge=0, le=2**53)  # rows


class Limits(Quotas):
    """What a new key and a new project get unless an admin says otherwise."""

    requests_per_minute: PositiveInt | None = 6000  # of a key
    stored_bytes: int | None = Field(100 * 2**30, ge=0, le=2**53)
    jobs_per_day: int | None = Field(1000, ge=0, le=2**31)
    jobs_queued: int | None = Field(100, ge=0, le=2**31)
    predictions_per_day: int | None = Field(10_000_000, ge=0, le=2**53)

    def quotas(self, given: dict[str, int | None]) -> Quotas:
        """A project's quotas: what its row says, else these."""
        return Quotas(**{name: given.get(name, getattr(self, name)) for name in Quotas.model_fields})


UNLIMITED = Quotas()


@dataclass(frozen=True)
class Caller:
    """One who was let in."""

    key_id: str
    project_id: str
    scopes: frozenset[Scope]
    quotas: Quotas = UNLIMITED
    rate: int | None = None  # requests per minute
    request_id: str | None = None
    by_cookie: bool = False

    def may(self, scope: Scope) -> bool:
        """Whether a key of these scopes may do what needs this one; an admin could mint itself any other."""
        return scope in self.scopes or "admin" in self.scopes


NOBODY = Caller("nobody", "", frozenset())  # sees no row of any project
