"""Ports on loopback for servers of tests."""

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

CLAIMS = []  # locks on the ports that this process was given


def free_port():
    """A port of this process for its life, below the range of outgoing connections.

    Tests run beside each other and stop their servers for a while: a port that only looks free may be another's, whose
    service would answer in our place.
    """
    folder = Path(tempfile.gettempdir()) / f"c2s-test-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for _ in range(1000):
        port = random.SystemRandom().randrange(20_000, 32_000)
        claim = os.open(folder / str(port), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
        except OSError:
            os.close(claim)
            continue
        CLAIMS.append(claim)
        return port
    raise RuntimeError("no free port on loopback")
