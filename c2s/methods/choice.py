"""From a method's config to the method; mypy names a forgotten one."""

from typing import assert_never

from c2s import config
from c2s.methods.ce import CrossEntropy
from c2s.methods.forward import Forward
from c2s.methods.forward_simi import ForwardSimi
from c2s.methods.mcl import Mcl
from c2s.methods.method import Method
from c2s.methods.prune import Prune
from c2s.methods.prune_simi import PruneSimi
from c2s.methods.revision import Revision
from c2s.methods.reweight import Reweight
from c2s.methods.reweight_simi import ReweightSimi
from c2s.methods.volmin import VolMin


def build(chosen: config.MethodConfig) -> Method:  # noqa: C901 - one arm a method
    """The method that a config names."""
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
        case config.ForwardSimi(correction=correction, diagonal=diagonal):
            return ForwardSimi(correction, diagonal)
        case config.ReweightSimi(correction=correction, diagonal=diagonal, max_weight=most):
            return ReweightSimi(correction, diagonal, most)
        case config.VolMin(learning_rate=rate, volume=volume):
            return VolMin(rate, volume)
        case config.Prune():
            return Prune()
        case config.PruneSimi(diagonal=diagonal):
            return PruneSimi(diagonal)
        case other:
            assert_never(other)
