"""The process of one training: `python -m worker.trainer`, started and watched by a supervisor.

Whatever goes wrong, loading the libraries included, becomes a message; a process that ends without one has crashed.
"""

import contextlib
import os
import signal
import traceback
from types import FrameType
from typing import TYPE_CHECKING, Any

from worker import childhood, failures

if TYPE_CHECKING:
    from worker import attempt

NICE = 5  # the API comes first


class Wish:
    """The supervisor's wish to stop: obeyed at once while nothing is trained, at the next report afterwards."""

    def __init__(self, channel: childhood.Channel) -> None:
        self._channel = channel
        self.teller: attempt.Teller | None = None
        signal.signal(signal.SIGTERM, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.teller is None or self.teller.phase == "loading":
            self._channel.say("stopped")
            childhood.leave(0)
        else:
            self.teller.stopping = True


def main() -> None:
    """Train as asked on standard input."""
    channel, asked = childhood.enter()
    wish = Wish(channel)
    with contextlib.suppress(OSError):
        os.nice(NICE)
    try:
        _train(asked, channel, wish)
    except BaseException as exc:  # out of memory and broken imports included: all of it must reach the row
        traceback.print_exc()
        code, message = failures.explain(exc)
        phase = wish.teller.phase if wish.teller else "loading"
        channel.say("error", code=code, message=message, phase=phase)
        childhood.leave(1)
    childhood.leave(0)


def _train(asked: dict[str, Any], channel: childhood.Channel, wish: Wish) -> None:
    from c2s import config  # here, where a failure to load is told
    from worker import attempt

    chosen = attempt.shrunk(config.TrainConfig.parse(asked["config"]), asked["shrink"])
    wish.teller = attempt.Teller(channel, chosen)
    try:
        attempt.run(asked, wish.teller, chosen)
    except attempt.Stop:
        channel.say("stopped")
    else:
        wish.teller.finish()


if __name__ == "__main__":
    main()
