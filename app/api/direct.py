"""The short way to a prediction: through our own layers and past the framework's, which have nothing to do for it."""

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api import predictions, problems


def ours(scope: Scope) -> bool:
    """Whether a request is one for predictions."""
    return bool(scope["type"] == "http" and scope["path"] == "/predict" and scope["method"] == "POST")


class Direct:
    """Hands predictions to their route at once."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        (self._route,) = (one for one in predictions.router.routes if isinstance(one, predictions.Lean))
        self._handle = self._route.get_route_handler()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not ours(scope):
            await self._app(scope, receive, send)
            return
        scope["route"] = self._route
        request = Request(scope, receive, send)
        try:
            answer = await self._handle(request)
        except problems.FORESEEN as exc:
            answer = await problems.on_error(request, exc)
        await answer(scope, receive, send)
