"""Two ways to carry calls: one that blocks, one that awaits. All rules live above them, written once as coroutines.

The coroutines of a `BlockingWire` never suspend, so that `finished` can run what is written on top of it without an
event loop: in scripts, in threads, and in a notebook whose loop is busy.
"""

import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self, TypeVar

import anyio
import anyio.to_thread
import httpx

from c2s.client import problems
from c2s.client.calls import Answer, Call

T = TypeVar("T")
PIECE = 2**18  # bytes of a file that are sent at a time
CONNECT_SECONDS = 10.0


class Stream(Protocol):
    """An answer whose body is still to come."""

    answer: Answer

    def lines(self) -> AsyncIterator[str]: ...


class Wire(Protocol):
    """What a client needs of the network and the clock."""

    async def send(self, call: Call) -> Answer: ...

    async def save(self, call: Call, file: BinaryIO) -> Answer: ...

    def listen(self, call: Call, silence: float) -> contextlib.AbstractAsyncContextManager[Stream]: ...

    async def pause(self, seconds: float) -> None: ...

    async def close(self) -> None: ...


def finished(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never suspends."""
    try:
        work.send(None)
    except StopIteration as done:
        found: T = done.value
        return found
    work.close()
    raise RuntimeError("a blocking wire must not suspend")


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Failures of the network in our own words."""
    try:
        yield
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as exc:
        raise problems.Unusable(f"the address of the service cannot be used: {exc}") from exc
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as exc:
        where = exc.request.url
        raise problems.Unreachable(
            f"no connection to {where.scheme}://{where.netloc.decode()}", sent=False
        ) from exc
    except httpx.TimeoutException as exc:
        raise problems.Unreachable(f"{exc.request.url.path}: no answer in time") from exc
    except httpx.TransportError as exc:
        raise problems.Unreachable(f"{exc.request.url.path}: the connection broke ({exc})") from exc


def _head(response: httpx.Response) -> Answer:
    return Answer(response.status_code, {name.lower(): value for name, value in response.headers.items()})


def _whole(response: httpx.Response) -> Answer:
    head = _head(response)
    return Answer(head.status, head.headers, response.content)


def _sized(call: Call) -> dict[str, str]:
    """Headers of a call; the length of a file, which would go out in chunks of unknown number otherwise."""
    size = {"Content-Length": str(call.body.stat().st_size)} if isinstance(call.body, Path) else {}
    return {**call.headers, **size}


class BlockingStream:
    """The lines of an answer, waited for."""

    def __init__(self, response: httpx.Response) -> None:
        self.answer, self._response = _head(response), response

    async def lines(self) -> AsyncIterator[str]:
        with told():
            for line in self._response.iter_lines():
                yield line


class BlockingWire:
    """httpx, waiting in the thread that calls."""

    def __init__(self, client: httpx.Client, sleep: Callable[[float], None] = time.sleep) -> None:
        self._http, self._sleep = client, sleep

    @classmethod
    def to(cls, url: str, headers: Mapping[str, str], timeout: float) -> Self:
        """A wire to an address."""
        with told():
            return cls(httpx.Client(base_url=url, headers=headers, timeout=patience(timeout)))

    async def send(self, call: Call) -> Answer:
        with told(), _opened(call.body) as body:
            return _whole(
                self._http.request(
                    call.method, call.path, params=call.params, headers=_sized(call), content=body
                )
            )

    async def save(self, call: Call, file: BinaryIO) -> Answer:
        with (
            told(),
            self._http.stream(call.method, call.path, params=call.params, headers=call.headers) as response,
        ):
            if response.is_error:
                response.read()
                return _whole(response)
            file.writelines(response.iter_bytes())
            return _head(response)

    @contextlib.asynccontextmanager
    async def listen(self, call: Call, silence: float) -> AsyncIterator[BlockingStream]:
        with (
            told(),
            self._http.stream(
                call.method, call.path, params=call.params, headers=call.headers, timeout=patience(silence)
            ) as response,
        ):
            found = BlockingStream(response)
            if response.is_error:
                response.read()
                found.answer = _whole(response)
            yield found

    async def pause(self, seconds: float) -> None:
        self._sleep(seconds)

    async def close(self) -> None:
        self._http.close()


class AwaitingStream:
    """The lines of an answer, awaited."""

    def __init__(self, response: httpx.Response) -> None:
        self.answer, self._response = _head(response), response

    async def lines(self) -> AsyncIterator[str]:
        with told():
            async for line in self._response.aiter_lines():
                yield line


class AwaitingWire:
    """httpx on the event loop that calls."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._http = client

    @classmethod
    def to(cls, url: str, headers: Mapping[str, str], timeout: float) -> Self:
        """A wire to an address."""
        with told():
            return cls(httpx.AsyncClient(base_url=url, headers=headers, timeout=patience(timeout)))

    async def send(self, call: Call) -> Answer:
        body = _pieces(call.body) if isinstance(call.body, Path) else call.body
        with told():
            return _whole(
                await self._http.request(
                    call.method, call.path, params=call.params, headers=_sized(call), content=body
                )
            )

    async def save(self, call: Call, file: BinaryIO) -> Answer:
        with told():
            async with self._http.stream(
                call.method, call.path, params=call.params, headers=call.headers
            ) as response:
                if response.is_error:
                    await response.aread()
                    return _whole(response)
                async for piece in response.aiter_bytes():
                    await anyio.to_thread.run_sync(file.write, piece)
                return _head(response)

    @contextlib.asynccontextmanager
    async def listen(self, call: Call, silence: float) -> AsyncIterator[AwaitingStream]:
        with told():
            async with self._http.stream(
                call.method, call.path, params=call.params, headers=call.headers, timeout=patience(silence)
            ) as response:
                found = AwaitingStream(response)
                if response.is_error:
                    await response.aread()
                    found.answer = _whole(response)
                yield found

    async def pause(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    async def close(self) -> None:
        await self._http.aclose()


def patience(seconds: float) -> httpx.Timeout:
    """How long to wait for the next byte; connecting is quick or hopeless."""
    return httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))


@contextlib.contextmanager
def _opened(body: bytes | Path | None) -> Iterator[Any]:
    if isinstance(body, Path):
        with body.open("rb") as file:
            yield file
    else:
        yield body


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    with await anyio.to_thread.run_sync(path.open, "rb") as file:
        while piece := await anyio.to_thread.run_sync(file.read, PIECE):
            yield piece
