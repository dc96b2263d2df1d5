"""HEAD is GET without the body (RFC 9110): what probes, link checkers and `curl -I` ask."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Bodiless:
    """Asks the application for GET and hands on the head of its answer alone, after which nobody listens."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        asked = {**scope, "method": "GET"}  # the server looks into its own, to send no body
        begun = False

        async def heard() -> Message:
            return {"type": "http.disconnect"} if begun else await receive()

        async def head(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True  # before a stream of events looks whether anybody is there
                await send(message)
                await send({"type": "http.response.body", "body": b""})

        try:
            await self._app(asked, heard, head)
        finally:
            if "route" in asked:  # the layers outside count by it
                scope["route"] = asked["route"]
