"""Our own layers around a constant: a key, limits, figures and a log line, and no model."""

import sys

import service
import uvicorn
from rival_floor import QUIET, constant

from app import limits, protocol, watching
from app.api import admission, guard
from app.core import logs

MEBI = 2**20


def layers():
    guarded = guard.Guard(constant, admission=admission.Admission(service.TOKEN), host="127.0.0.1")
    tell = logs.often("request", "info", "json", hidden=(service.TOKEN,))
    return watching.Watched(limits.Limits(guarded, upload_bytes=MEBI), tell)


if __name__ == "__main__":
    uvicorn.run(layers(), port=int(sys.argv[1]), lifespan="off", **QUIET | {"http": protocol.Guarded})
