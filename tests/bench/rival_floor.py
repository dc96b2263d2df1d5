"""The floor: the same uvicorn, loop and parser as our service has, reading the body and answering a constant."""

import sys

import uvicorn

ANSWER = b'{"class": "0", "probability": 0.5, "probabilities": [%s]}' % b", ".join(
    [b"0.05555555555555555"] * 10
)
QUIET = {
    "log_config": None,
    "access_log": False,
    "server_header": False,
    "loop": "uvloop",
    "http": "httptools",
}
START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(ANSWER))],
}


async def constant(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send(START)
    await send({"type": "http.response.body", "body": ANSWER})


if __name__ == "__main__":
    uvicorn.run(constant, port=int(sys.argv[1]), lifespan="off", **QUIET)
