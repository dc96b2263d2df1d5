"""Which trials the search of S2E makes, and how long each is; loads without torch, so that progress can be foretold."""

from c2s import config

SHORTEST = 2  # epochs of a trial


def brief(chosen: config.S2E, epochs: int) -> tuple[int, int]:
    """How many curves are tried first, and for how long: half of a stage 2 in all."""
    return chosen.candidates, max(SHORTEST, epochs // (2 * chosen.candidates))


def longer(chosen: config.S2E, epochs: int) -> tuple[int, int]:
    """How many of them are tried again, and for how long: half of a stage 2 again."""
    return max(1, chosen.candidates // 2), max(SHORTEST, epochs // chosen.candidates)


def epochs(chosen: config.S2E, stage: int) -> dict[str, int]:
    """The epochs of each trial, in order, for a stage 2 of so many."""
    found: dict[str, int] = {}
    for generation in range(chosen.generations):
        for rung, (count, length) in {"brief": brief(chosen, stage), "longer": longer(chosen, stage)}.items():
            found |= {name(generation, rung, number): length for number in range(count)}
    return found


def name(generation: int, rung: str, number: int) -> str:
    """The phase of one trial."""
    return f"search-{generation + 1}-{rung}-{number + 1}"
