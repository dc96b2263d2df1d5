"""The process of one training: `python -m worker.trainer`, started and watched by a supervisor.

Whatever goes wrong, loading the libraries included, becomes a message; a process that ends without one has crashed.
"""

from typing import Any

from worker import childhood, errand


def main() -> None:
    """Train as asked on standard input."""
    errand.run(_train, failed="training_failed")


def _train(asked: dict[str, Any], channel: childhood.Channel, wish: errand.Wish) -> None:
    from app.core import tracing  # here, where a failure to load is told
    from worker import diary

    parent = diary.begin(asked.get("diary", {}), "c2s-trainer")
    try:
        with tracing.span("training", parent):
            _attempt(asked, channel, wish)
    finally:
        tracing.close()


def _attempt(asked: dict[str, Any], channel: childhood.Channel, wish: errand.Wish) -> None:
    from c2s import config
    from worker import attempt

    chosen = attempt.shrunk(config.TrainConfig.parse(asked["config"]), asked["shrink"])
    wish.teller = teller = attempt.Teller(channel)
    try:
        attempt.run(asked, teller, chosen)
    except attempt.Stop:
        channel.say("stopped")
    else:
        teller.finish()
    finally:
        teller.close()


if __name__ == "__main__":
    main()
