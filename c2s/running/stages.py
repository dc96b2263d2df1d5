"""The second stage of every method: most go on from stage 1's weights, some run two phases, some train two nets."""

import dataclasses

from c2s import config
from c2s.learning.training import Fitted
from c2s.methods import choice
from c2s.nets.twins import Twins
from c2s.running import auto, search
from c2s.running.findings import Findings
from c2s.running.workbench import Workbench

PHASE = "stage2"


def second(bench: Workbench, found: Findings) -> tuple[Fitted, auto.Choice | None]:
    """The method's own training, from what stage 1 found; `auto` blends several, and says how."""
    method = bench.config.method
    if not isinstance(method, config.Auto):
        return _trained(bench, found, method, PHASE), None
    trained: dict[str, Fitted] = {}
    advanced = found.start.phase != "stage1"
    for member in auto.shortlist(found.evidence):
        stage = member.stage(bench.config.stage2, advanced=advanced)
        own = bench.config.model_copy(update={"stage2": stage})
        mine = dataclasses.replace(bench, config=own)
        trained[member.name] = _trained(mine, found, member.method, f"{PHASE}-{member.name}")
    return auto.choose(bench, found, trained)


def _trained(bench: Workbench, found: Findings, method: config.MethodConfig, phase: str) -> Fitted:
    match method:
        case config.Revision():
            return _revised(bench, found, method, phase)
        case config.CoTeaching() | config.JoCoR():
            return _twinned(bench, found, method, _twins(bench), phase)
        case config.S2E():
            nets = _twins(bench)
            curve = method if method.curve else search.drop_curve(bench, found, method, nets)
            return _twinned(bench, found, curve, nets, phase)
        case _:
            start, stage = found.start.net, bench.config.stage2
            return bench.fit(phase, choice.build(method), start, stage=stage, evidence=found.evidence)


def _revised(bench: Workbench, found: Findings, method: config.Revision, phase: str) -> Fitted:
    """Reweight first, then the same with T revised, gently."""
    stage, known = bench.config.stage2, found.evidence
    first = choice.build(config.Reweight(max_weight=method.max_weight))
    start = bench.fit(f"{phase}-reweight", first, found.start.net, stage=stage, evidence=known).net
    gently = {"learning_rate": method.learning_rate, "schedule": config.Constant()}
    stage = stage.model_copy(update=gently | {"epochs": method.epochs or stage.epochs})
    return bench.fit(phase, choice.build(method), start, stage=stage, evidence=known)


def _twins(bench: Workbench) -> Twins:
    """Two new nets: two that both began as stage 1 ended would make the same mistakes."""
    return Twins(bench.fresh_net("first"), bench.fresh_net("second"))


def _twinned(
    bench: Workbench, found: Findings, method: config.MethodConfig, nets: Twins, phase: str, /
) -> Fitted:
    """Both nets trained; the first is what remains."""
    stage = bench.config.stage2
    built = choice.build(method, epochs=stage.epochs or 1)
    fitted = bench.fit(phase, built, nets, stage=stage, evidence=found.evidence)
    first = fitted.net.get_submodule("first")
    return dataclasses.replace(fitted, net=first)
