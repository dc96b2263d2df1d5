"""The learning rate of every step."""

import math

from c2s import config


def rate_at(stage: config.Stage, step: int, steps: int, epochs: int) -> float:
    """The learning rate of a step; cosine falls with every step, the others with epochs."""
    match stage.schedule:
        case config.Constant():
            return stage.learning_rate
        case config.Step(every=every, factor=factor, delay=delay):
            drops = max(0, step // steps - delay) // every
            return stage.learning_rate * float(factor**drops)
        case config.Cosine():
            return stage.learning_rate * 0.5 * (1 + math.cos(math.pi * step / (steps * epochs)))
