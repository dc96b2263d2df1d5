"""The inner search of S2E: curves of drop rates, tried briefly, the better half longer, new ones drawn near the best.

What the authors' search looked at was clean test accuracy; this one has noisy validation alone. Every trial is a phase
of the run like any other, so that the search resumes where it was stopped.
"""

from c2s import config, droprates, streams
from c2s.findings import Findings
from c2s.methods import choice
from c2s.nets.twins import Twins
from c2s.workbench import Workbench

SHORTEST = 2  # epochs of a trial
Curve = tuple[float, ...]
Score = tuple[float, float]  # accuracy and likelihood on the noisy rows held out


def drop_curve(bench: Workbench, found: Findings, chosen: config.S2E, nets: Twins) -> config.S2E:
    """The method with its curve found; a generation costs about one stage 2."""
    belief, tried = droprates.ignorance(), dict[Curve, Score]()
    epochs = bench.config.stage2.epochs or SHORTEST
    for generation in range(chosen.generations):
        rng = streams.numpy(bench.config.seed, "s2e", generation)
        curves = droprates.sample(belief, chosen.candidates, rng)
        name = f"search-{generation + 1}"
        brief = max(SHORTEST, epochs // (2 * chosen.candidates))
        first = _trials(bench, found, chosen, curves, nets=nets, epochs=brief, name=f"{name}-brief")
        better = sorted(first, key=first.__getitem__, reverse=True)[: max(1, chosen.candidates // 2)]
        longer = max(SHORTEST, epochs // chosen.candidates)
        again = _trials(bench, found, chosen, better, nets=nets, epochs=longer, name=f"{name}-longer")
        belief = droprates.learnt(belief, better)
        tried |= again
    return chosen.model_copy(update={"curve": max(tried, key=tried.__getitem__)})


def _trials(
    bench: Workbench,
    found: Findings,
    chosen: config.S2E,
    curves: list[Curve],
    *,
    nets: Twins,
    epochs: int,
    name: str,
) -> dict[Curve, Score]:
    """What noisy validation says of each curve after so many epochs, the whole curve run through in them."""
    scores = {}
    stage = bench.config.stage2.model_copy(update={"epochs": epochs, "keep": "last"})
    for number, curve in enumerate(curves):
        method = choice.build(
            chosen.model_copy(update={"curve": curve}), epochs=bench.config.stage2.epochs or 1
        )
        fitted = bench.fit(
            f"{name}-{number + 1}", method, nets, stage=stage, evidence=found.evidence, rows=bench.train
        )
        last = fitted.history[-1]
        scores[curve] = (float(last["accuracy"]), float(last["likelihood"]))
    return scores
