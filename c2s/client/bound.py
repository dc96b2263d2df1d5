"""One definition, two manners: an `async def` that a blocking client calls, and an awaiting one awaits.

`Client().jobs.get(...)` is a job, `AsyncClient().jobs.get(...)` is awaited for one; both are `Jobs.get`, and type
checkers see which.
"""

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

from c2s.client import wires
from c2s.client.service import Service


class Blocking:
    """The manner of `Client`."""


class Awaiting:
    """The manner of `AsyncClient`."""


M = TypeVar("M", Blocking, Awaiting)
P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound="Bound[Any]")


class Bound(Generic[M]):
    """Something that asks a service, in the manner of the client it came from."""

    def __init__(self, service: Service) -> None:
        self._service = service


class operation(Generic[S, P, T]):  # noqa: N801 - used as a decorator
    """A coroutine function of a bound class, as a method in its manner."""

    def __init__(self, function: Callable[Concatenate[S, P], Coroutine[Any, Any, T]]) -> None:
        self.function = function
        functools.update_wrapper(cast(Any, self), function)

    @overload
    def __get__(self, bound: None, owner: Any) -> "operation[S, P, T]": ...
    @overload
    def __get__(self, bound: Bound[Blocking], owner: Any) -> Callable[P, T]: ...
    @overload
    def __get__(self, bound: Bound[Awaiting], owner: Any) -> Callable[P, Awaitable[T]]: ...

    def __get__(self, bound: Any, owner: Any) -> Any:
        if bound is None:
            return self
        work = functools.partial(self.function, bound)
        if not bound._service.blocks:
            return functools.update_wrapper(work, self.function)
        return functools.wraps(self.function)(
            lambda *given, **named: wires.finished(cast(Any, work)(*given, **named))
        )


class listing(Generic[S, P, T]):  # noqa: N801 - used as a decorator
    """An asynchronous generator of a bound class, as an iterator in its manner."""

    def __init__(self, function: Callable[Concatenate[S, P], AsyncIterator[T]]) -> None:
        self.function = function
        functools.update_wrapper(cast(Any, self), function)

    @overload
    def __get__(self, bound: None, owner: Any) -> "listing[S, P, T]": ...
    @overload
    def __get__(self, bound: Bound[Blocking], owner: Any) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, bound: Bound[Awaiting], owner: Any) -> Callable[P, AsyncIterator[T]]: ...

    def __get__(self, bound: Any, owner: Any) -> Any:
        if bound is None:
            return self
        work = functools.partial(self.function, bound)
        if not bound._service.blocks:
            return functools.update_wrapper(work, self.function)
        return functools.wraps(self.function)(lambda *given, **named: _each(cast(Any, work)(*given, **named)))


def _each(source: Any) -> Iterator[Any]:
    """What an asynchronous generator gives that never suspends; left early, it is closed at once."""
    try:
        while True:
            try:
                found = wires.finished(source.__anext__())
            except StopAsyncIteration:
                return
            yield found
    finally:
        wires.finished(source.aclose())
