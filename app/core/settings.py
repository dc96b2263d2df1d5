"""What a process is told by its environment; one class, read once, each field in `.env.example`."""

import functools
import os
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

LOOPBACK = ("127.0.0.1", "::1", "localhost")
MEMORY_BROKER = "memory://"
KIB, MIB, GIB = 2**10, 2**20, 2**30


class Settings(BaseSettings):
    """The embedded default needs none of them; a deployment sets the three addresses."""

    model_config = SettingsConfigDict(env_prefix="C2S_", frozen=True, extra="ignore")

    home: Path = Path("~/.c2s")  # where the embedded default keeps everything
    database_url: str = ""  # empty: an SQLite file at home
    broker_url: str = MEMORY_BROKER  # memory: inside the one worker process
    store_url: str = ""  # empty: a folder at home
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8321
    token: SecretStr | None = None  # None: made at the first start and kept at home
    log_level: Literal["debug", "info", "warning", "error"] = "info"

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

    @model_validator(mode="after")
    def _private_or_guarded(self) -> Self:
        if self.host not in LOOPBACK and self.token is None:
            raise ValueError("C2S_TOKEN must be set before the service listens beyond this machine")
        if self.token is not None and len(self.token.get_secret_value()) < 24:
            raise ValueError("C2S_TOKEN must have at least 24 characters")
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
        """The folder of the store."""
        return Path(self.store_url.removeprefix("file://")) if self.store_url else self.root / "store"

    @property
    def embedded(self) -> bool:
        """Whether the queue lives inside the worker process, where nobody else can ring."""
        return self.broker_url.startswith(MEMORY_BROKER)


@functools.cache
def load() -> Settings:
    """The settings of this process."""
    return Settings()
