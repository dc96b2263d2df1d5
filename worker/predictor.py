"""The process of predictions for many rows: `python -m worker.predictor`, started and watched by a supervisor.

It loads no torch: a model's graph is enough. Whatever goes wrong becomes a message.
"""

import dataclasses
from typing import Any

from worker import childhood, errand


def main() -> None:
    """Predict as asked on standard input."""
    errand.run(_predict, failed="predicting_failed", at_once=("loading", "reading"))


def _predict(asked: dict[str, Any], channel: childhood.Channel, wish: errand.Wish) -> None:
    from worker import diary, prediction  # here, where a failure to load is told

    diary.begin(asked.get("diary", {}), "c2s-predictor")
    wish.teller = teller = prediction.Teller(channel)
    try:
        result = prediction.run(asked, teller)
    except prediction.Stop:
        channel.say("stopped")
    else:
        channel.say("predicted", **dataclasses.asdict(result))


if __name__ == "__main__":
    main()
