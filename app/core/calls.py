"""Calls to an S3-compatible server: signed, bounded in time, and tried again where that may help."""

import base64
import contextlib
import hashlib
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import httpx
import structlog

from app.core import errors, signing

CHUNK = 2**20
LONGEST_ANSWER = 64 * 2**20  # bytes that are kept in memory; listings have one
AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})  # 409: two conditional writes at once
# of a 400 or 403: what arrived is not what we sent, or came too late
AGAIN_CODES = ("XAmzContentSHA256Mismatch", "BadDigest", "IncompleteBody", "RequestTimeout", "InvalidDigest")
log = structlog.get_logger("c2s.store")


@dataclass(frozen=True)
class Patience:
    """How long a server may take, in seconds; at most some 20 while it is cut off, 3 while it fails at once."""

    tries: int = 5
    pause: float = 0.2  # before the second try; doubles for each one after it
    connect: float = 3.0
    silence: float = 20.0  # between two pieces of an answer
    slowest: float = 32 * 2**10  # bytes a second; a server that is slower for long does not answer


@dataclass(frozen=True)
class Body:
    """What a call sends: bytes, or a part of a file; can be sent again."""

    size: int
    sha256: str  # signed, which most servers check
    md5: str  # checked by all of them: a byte that changed on its way is refused
    data: bytes | None = None
    path: Path | None = None
    start: int = 0

    @classmethod
    def of(cls, data: bytes) -> "Body":
        """Some bytes."""
        return cls(len(data), *_sums([data]), data=data)

    @classmethod
    def part(cls, path: Path, start: int, size: int) -> "Body":
        """A part of a file."""
        return cls(size, *_sums(_pieces(path, start, size)), path=path, start=start)

    def content(self) -> bytes | Iterator[bytes]:
        """The bytes, from the beginning."""
        return (self.data or b"") if self.path is None else _pieces(self.path, self.start, self.size)


@dataclass(frozen=True)
class Answer:
    """What the server said."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """The content as text, which it is where it is an error or a listing."""
        return self.content.decode(errors="replace")


class Again(Exception):
    """This try came to nothing; the next one may do better."""

    def __init__(self, why: str, *, damaged: bool = False) -> None:
        super().__init__(why)
        self.damaged = damaged


class Line:
    """The way to one server."""

    def __init__(self, endpoint: str, who: signing.Credentials, patience: Patience) -> None:
        self._url, self._who, self._patience = httpx.URL(endpoint), who, patience
        time_out = httpx.Timeout(patience.silence, connect=patience.connect)
        self._client = httpx.Client(
            timeout=time_out, trust_env=False, limits=httpx.Limits(max_connections=32)
        )

    def close(self) -> None:
        """Let the connections go."""
        self._client.close()

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: Body | None = None,
        *,
        tries: int | None = None,
    ) -> Answer:
        """Send a call and read the whole answer."""
        return self._try(lambda: self._once(method, path, query, headers, body, _whole), path, tries)

    def read(self, path: str, *, sum_header: str) -> Answer:
        """Read an object that carries its own hash."""

        def take(answer: httpx.Response, deadline: "Deadline") -> bytes:
            content = _whole(answer, deadline)
            if (
                answer.status_code == 200
                and answer.headers.get(sum_header) != hashlib.sha256(content).hexdigest()
            ):
                raise Again("the bytes are not those that were stored", damaged=True)
            return content

        return self._try(lambda: self._once("GET", path, None, None, None, take), path)

    def fetch(self, path: str, target: Path, *, sha256: str) -> Answer:
        """Read an object into a file, which is left only if it holds the expected bytes."""

        def take(answer: httpx.Response, deadline: "Deadline") -> bytes:
            if answer.status_code != 200:
                return _whole(answer, deadline)
            with _kept_if_right(target) as file:
                digest = hashlib.sha256()
                for chunk in answer.iter_raw():
                    deadline.passed(len(chunk))
                    digest.update(chunk)
                    file.write(chunk)
                if digest.hexdigest() != sha256:
                    raise Again("the bytes are not those that were stored", damaged=True)
            return b""

        return self._try(lambda: self._once("GET", path, None, None, None, take), path)

    def _once(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str] | None,
        body: Body | None,
        take: Callable[[httpx.Response, "Deadline"], bytes],
    ) -> Answer:
        asked = signing.query_string(query or {})
        sent = {**(headers or {}), "accept-encoding": "identity"} | (
            {"content-md5": body.md5} if body else {}
        )
        digest = body.sha256 if body else signing.NOTHING
        call = signing.Call(method, self._url.netloc.decode(), path, asked, sent, digest)
        signed = signing.signed(call, self._who) | {"content-length": str(body.size if body else 0)}
        url = self._url.copy_with(raw_path=f"{path}?{asked}".rstrip("?").encode())
        content = body.content() if body else None
        with self._client.stream(method, url, headers=signed, content=content) as heard:
            answer = Answer(heard.status_code, heard.headers, take(heard, Deadline(self._patience)))
        if answer.status in AGAIN or (answer.status in (400, 403) and _changed(answer)):
            raise Again(f"the server answered {answer.status}")
        return answer

    def _try(self, once: Callable[[], Answer], path: str, tries: int | None = None) -> Answer:
        most = tries or self._patience.tries
        for number in range(1, most + 1):
            try:
                return once()
            except (httpx.TransportError, Again) as exc:
                log.warning("store_failed", path=path, attempt=number, error=str(exc) or type(exc).__name__)
                if number == most:
                    raise _gave_up(exc) from exc
            pause = self._patience.pause * 2 ** (number - 1)
            time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 # nosec B311 # keeps workers out of step
        raise AssertionError("unreachable")


class Deadline:
    """Ends an answer that trickles: each piece may come in time, and the whole never would."""

    def __init__(self, patience: Patience) -> None:
        self._patience, self._began, self._bytes = patience, time.monotonic(), 0

    def passed(self, count: int) -> None:
        """So many bytes came."""
        self._bytes += count
        allowed = self._patience.silence + self._bytes / self._patience.slowest
        if time.monotonic() - self._began > allowed:
            raise Again("the answer comes too slowly")


def _gave_up(exc: Exception) -> errors.ServiceError:
    if isinstance(exc, Again) and exc.damaged:
        return errors.Damaged("the bytes in the store are not those that were stored")
    return errors.Unavailable("the store does not answer", retry_after=5)


def _whole(answer: httpx.Response, deadline: Deadline) -> bytes:
    """Read an answer into memory."""
    content = bytearray()
    for chunk in answer.iter_raw():
        deadline.passed(len(chunk))
        content += chunk
        if len(content) > LONGEST_ANSWER:
            raise errors.Unavailable("the store answers with more than can be an answer")
    return bytes(content)


def _sums(pieces: Iterable[bytes]) -> tuple[str, str]:
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    for piece in pieces:
        sha256.update(piece)
        md5.update(piece)
    return sha256.hexdigest(), base64.b64encode(md5.digest()).decode()


def _changed(answer: Answer) -> bool:
    return any(code in answer.text for code in AGAIN_CODES)


@contextlib.contextmanager
def _kept_if_right(target: Path) -> Iterator[BinaryIO]:
    try:
        with target.open("wb") as file:
            yield file
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _pieces(path: Path, start: int, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        while size > 0:
            chunk = file.read(min(CHUNK, size))
            if not chunk:
                raise FileNotFoundError(f"{path.name} shrank while it was read")
            size -= len(chunk)
            yield chunk
