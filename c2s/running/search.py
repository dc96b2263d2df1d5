"""The inner search of S2E: curves of drop rates, tried briefly, the better half longer, new ones drawn near the best.

What the authors' search looked at was clean test accuracy; this one has noisy validation alone. Every trial is a phase
of the run like any other, so that the search resumes where it was stopped.
"""

from collections.abc import Mapping

from c2s import config, streams, trials
from c2s.methods import choice, droprates
from c2s.nets.twins import Twins
from c2s.running.findings import Findings
from c2s.running.workbench import Workbench

Curve = tuple[float, ...]
Score = tuple[float, float]  # accuracy and likelihood on the noisy rows held out


def drop_curve(bench: Workbench, found: Findings, chosen: config.S2E, nets: Twins) -> config.S2E:
    """The method with its curve found; a generation costs about one stage 2."""
    belief, tried = droprates.ignorance(), dict[Curve, Score]()
    epochs = bench.config.stage2.epochs or trials.SHORTEST
    for generation in range(chosen.generations):
        rng = streams.numpy(bench.config.seed, "s2e", generation)
        curves = droprates.sample(belief, chosen.candidates, rng)
        names = [trials.name(generation, "brief", number) for number in range(len(curves))]
        first = _tried(
            bench, found, dict(zip(names, curves, strict=True)), nets, trials.brief(chosen, epochs)[1]
        )
        count, length = trials.longer(chosen, epochs)
        better = sorted(first, key=first.__getitem__, reverse=True)[:count]
        names = [trials.name(generation, "longer", number) for number in range(count)]
        tried |= _tried(bench, found, dict(zip(names, better, strict=True)), nets, length)
        belief = droprates.learnt(belief, better)
    return chosen.model_copy(update={"curve": max(tried, key=tried.__getitem__)})


def _tried(
    bench: Workbench, found: Findings, curves: Mapping[str, Curve], nets: Twins, epochs: int, /
) -> dict[Curve, Score]:
    """What noisy validation says of each curve after so many epochs, the whole curve run through in them."""
    scores = {}
    stage = bench.config.stage2
    brief = stage.model_copy(update={"epochs": epochs, "keep": "last"})
    for name, curve in curves.items():
        method = choice.build(config.S2E().model_copy(update={"curve": curve}), epochs=stage.epochs or 1)
        fitted = bench.fit(name, method, nets, stage=brief, evidence=found.evidence, rows=bench.train)
        last = fitted.history[-1]
        scores[curve] = (float(last["accuracy"]), float(last["likelihood"]))
    return scores
