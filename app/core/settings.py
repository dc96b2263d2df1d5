"""What a process is told by its environment; one class, read once, each field in `.env.example`."""

import functools
import os
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import unquote, urlsplit

from pydantic import Field, PositiveFloat, PositiveInt, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.core import strength
from app.core.callers import Limits

LOOPBACK = ("127.0.0.1", "::1", "localhost")
MEMORY_BROKER = "memory://"
DATABASES = ("postgresql+psycopg://", "postgresql://", "sqlite:///")
KIB, MIB, GIB = 2**10, 2**20, 2**30
TOKEN_FILE, SHORTEST_TOKEN = "token", 24  # in the home; characters


class Settings(BaseSettings):
    """The embedded default needs none of them; a deployment sets the three addresses."""

    model_config = SettingsConfigDict(env_prefix="C2S_", frozen=True, extra="ignore")

    home: Path = Path("~/.c2s")  # where the embedded default keeps everything
    database_url: str = ""  # empty: an SQLite file at home
    broker_url: str = MEMORY_BROKER  # memory: inside the one worker process
    store_url: str = ""  # empty: a folder at home
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8321
    token: SecretStr | None = None  # the operator's key; None: made at the first start and kept at home
    allowed_hosts: str = (
        ""  # names that a Host header may bear, with commas; those of this machine always may
    )
    limits: Limits = Limits()  # of new keys and projects
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "json", "console"] = (
        "auto"  # auto: for a person where a terminal is, else JSON
    )
    metrics_port: Annotated[int, Field(ge=0, le=65535)] = 0  # of a worker's figures; 0: none
    pulse: Path | None = None  # a file that the worker touches while it is well

    device: str = "auto"
    slots: PositiveInt = 1  # trainings at once
    threads: PositiveInt = max(1, (os.cpu_count() or 2) // 2)  # of one training; the API needs a core too

    lease_seconds: PositiveFloat = 60.0  # a worker silent for so long is taken for dead
    grace_seconds: PositiveFloat = 20.0  # between asking a training to stop and killing it
    stall_seconds: PositiveFloat = 600.0  # a training without a sign of life for so long is killed
    job_seconds: PositiveFloat = 7 * 86400.0  # the longest that an attempt may run
    relay_seconds: PositiveFloat = 1.0  # between looks at the queue
    crash_limit: PositiveInt = 3  # crashes without a new checkpoint between them
    max_queue: PositiveInt = 100_000  # jobs that wait

    max_upload_bytes: PositiveInt = 8 * GIB
    inline_bytes: Annotated[int, Field(ge=0)] = 8 * MIB  # larger files are read by a worker
    intake_memory_bytes: PositiveInt = (
        2 * GIB
    )  # of the process that reads a file, beside a multiple of its size
    intake_seconds: PositiveFloat = 600.0
    min_free_bytes: Annotated[int, Field(ge=0)] = 512 * MIB  # below, uploads are refused
    ballast_bytes: Annotated[int, Field(ge=0)] = (
        64 * MIB
    )  # beside an SQLite file, let go to delete on a full disk

    @model_validator(mode="after")
    def _known_database(self) -> Self:
        """Said here, as the engine would say it in a traceback of whoever asks first."""
        if self.database_url and not self.database_url.startswith(DATABASES):
            raise ValueError(f"C2S_DATABASE_URL must begin with one of {', '.join(DATABASES)}")
        try:
            _ = urlsplit(self.database_url).port
        except ValueError as exc:
            raise ValueError("C2S_DATABASE_URL: what follows its last colon is no port") from exc
        return self

    @model_validator(mode="after")
    def _known_store(self) -> Self:
        kind, _, rest = self.store_url.partition("://")
        if self.store_url and not (self.store_url.startswith("/") or (kind in ("file", "s3") and rest)):
            raise ValueError("C2S_STORE_URL must be file:///folder or s3://bucket/prefix")
        return self

    @model_validator(mode="after")
    def _private_or_guarded(self) -> Self:
        if self.host not in LOOPBACK and self.token is None:
            raise ValueError("C2S_TOKEN must be set before the service listens beyond this machine")
        if self.token is not None and len(self.token.get_secret_value()) < SHORTEST_TOKEN:
            raise ValueError(f"C2S_TOKEN must have at least {SHORTEST_TOKEN} characters")
        return self

    @model_validator(mode="after")
    def _kept_token(self) -> Self:
        """A file that was emptied, or written by hand, would let in whoever shows as little."""
        kept = None if self.token is not None else _kept(self.root / TOKEN_FILE)
        if kept is not None and len(kept) < SHORTEST_TOKEN:
            raise ValueError(
                f"the file {TOKEN_FILE!r} in {self.root} holds no token of at least {SHORTEST_TOKEN}"
                " characters: remove it, and the next start makes one"
            )
        return self

    @model_validator(mode="after")
    def _strong(self) -> Self:
        """Beyond this machine a secret that can be guessed is none; whoever uses none at all has other means."""
        secrets = {
            "C2S_DATABASE_URL": _password(self.database_url),
            "C2S_BROKER_URL": _password(self.broker_url),
        }
        if self.host not in LOOPBACK and self.token is not None:
            secrets["C2S_TOKEN"] = self.token.get_secret_value()
        for name, secret in secrets.items():
            if secret is not None and (found := strength.weakness(secret)):
                raise ValueError(f"{name}: the secret in it {found}; `docker/make-env` makes strong ones")
        return self

    @property
    def root(self) -> Path:
        """Home, as an absolute path."""
        return self.home.expanduser().resolve()

    @property
    def database(self) -> str:
        """The address of the database."""
        return self.database_url or f"sqlite:///{self.root / 'c2s.sqlite3'}"

    @property
    def store(self) -> Path:
        """The folder of the store; before a bucket, the one of this host."""
        if self.store_url.startswith("s3://"):
            return self.root / "cache"
        return Path(self.store_url.removeprefix("file://")) if self.store_url else self.root / "store"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no log may hold."""
        given = [self.token.get_secret_value()] if self.token is not None else []
        given += filter(None, [os.environ.get("AWS_SECRET_ACCESS_KEY")])
        addresses = [urlsplit(url) for url in (self.database_url, self.broker_url, self.store_url)]
        quoted = [address.password for address in addresses if address.password]
        return tuple(dict.fromkeys([*given, *quoted, *(unquote(word) for word in quoted)]))

    @property
    def embedded(self) -> bool:
        """Whether the queue lives inside the worker process, where nobody else can ring."""
        return self.broker_url.startswith(MEMORY_BROKER)


def _password(address: str) -> str | None:
    """The password in the address of a server elsewhere, as it stands there; None: there is none to judge."""
    parts = urlsplit(address)
    return None if parts.hostname in (None, *LOOPBACK) else parts.password


class BucketSettings(BaseSettings):
    """The way to a bucket, asked for only where the store is one."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    endpoint: str = Field("", validation_alias="C2S_S3_ENDPOINT")  # empty: Amazon's own
    region: str = Field("us-east-1", validation_alias="C2S_S3_REGION")
    cache_bytes: PositiveInt = Field(20 * GIB, validation_alias="C2S_CACHE_BYTES")  # copies on this host
    access_key_id: str = Field(validation_alias="AWS_ACCESS_KEY_ID")
    secret_access_key: SecretStr = Field(validation_alias="AWS_SECRET_ACCESS_KEY")


def _kept(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # none is kept yet, or it is not ours to read
        return None


@functools.cache
def load() -> Settings:
    """The settings of this process."""
    return Settings()
