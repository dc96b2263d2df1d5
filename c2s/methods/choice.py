"""From a method's config to the method; mypy names a forgotten one."""

from typing import assert_never

from c2s import config, errors
from c2s.methods import droprates
from c2s.methods.apl import Apl
from c2s.methods.ce import CrossEntropy
from c2s.methods.co_teaching import CoTeaching
from c2s.methods.forward import Forward
from c2s.methods.forward_simi import ForwardSimi
from c2s.methods.jocor import JoCoR
from c2s.methods.mcl import Mcl
from c2s.methods.method import Method
from c2s.methods.phuber import PHuber
from c2s.methods.prune import Prune
from c2s.methods.prune_simi import PruneSimi
from c2s.methods.revision import Revision
from c2s.methods.reweight import Reweight
from c2s.methods.reweight_simi import ReweightSimi
from c2s.methods.s2e import S2E
from c2s.methods.volmin import VolMin


def build(chosen: config.MethodConfig, *, epochs: int = 1) -> Method:  # noqa: C901 - one arm a method
    """The method that a config names, for a stage of so many epochs."""
    match chosen:
        case config.CrossEntropy():
            return CrossEntropy()
        case config.Mcl(diagonal=diagonal):
            return Mcl(diagonal)
        case config.Forward():
            return Forward()
        case config.Reweight(max_weight=most):
            return Reweight(most)
        case config.Revision(max_weight=most, learning_rate=rate):
            return Revision(most, rate)
        case config.ForwardSimi(correction=correction, diagonal=diagonal, forward=weight):
            return ForwardSimi(correction, diagonal, weight)
        case config.ReweightSimi(correction=correction, diagonal=diagonal, max_weight=most):
            return ReweightSimi(correction, diagonal, most)
        case config.VolMin(learning_rate=rate, volume=volume):
            return VolMin(rate, volume)
        case config.Prune():
            return Prune()
        case config.PruneSimi(diagonal=diagonal):
            return PruneSimi(diagonal)
        case config.CoTeaching(drop_rate=rate, ramp=ramp, exponent=exponent):
            return CoTeaching(rate, ramp, exponent)
        case config.JoCoR(drop_rate=rate, ramp=ramp, exponent=exponent, agreement=agreement):
            return JoCoR(rate, ramp, exponent, agreement)
        case config.PHuber(tau=tau):
            return PHuber(tau)
        case config.Apl(passive=passive, alpha=alpha, beta=beta):
            return Apl(passive, 1.0 if alpha is None else alpha, 1.0 if beta is None else beta)
        case config.S2E(curve=curve):
            if curve is None:
                raise errors.InvalidConfig("the curve of s2e is searched before anything is built")
            return S2E(droprates.Searched(curve, epochs))
        case config.Auto():
            raise errors.InvalidConfig("auto becomes another method before anything is built")
        case other:
            assert_never(other)
