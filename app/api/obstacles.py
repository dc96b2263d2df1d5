"""Why a config cannot run on a dataset, seen before anything is queued: the field, its code, and words."""

import itertools

import numpy as np

from app.core import errors
from c2s import config, splits
from c2s.judging import testimony
from c2s.matrix import transition
from c2s.shape import SMALLEST_SIDE, Shape

MOST_WEIGHTS = 2**28  # of a net: 1 GiB, and four times that with Adam and an average beside it
LEAST_TAUGHT = 2  # rows of a class to train on, in the mean: below, nothing is learnt of it
IMAGE_NETS = (config.LeNet, config.LeNet5, config.ShakeShake26, config.ResNet56, config.ResNet50)


def wrong(pointer: str, code: str, detail: str) -> errors.Invalid:
    """The refusal of a job for one of its fields."""
    return errors.Invalid(detail, code=code, errors=[{"pointer": pointer, "code": code, "detail": detail}])


def check_share(validation: float, counts: list[int]) -> None:
    """Refuse a share that leaves next to nothing to train on, where a usual one would leave enough."""
    usual = config.TrainConfig().validation
    left, otherwise = (sum(counts) - splits.held(counts, share) for share in (validation, usual))
    if left < LEAST_TAUGHT * len(counts) <= otherwise:
        detail = (
            f"validation {validation:g} holds out all but {left} of {sum(counts)} rows:"
            f" {LEAST_TAUGHT} a class must be left to train on"
        )
        raise wrong("/validation", "invalid_config", detail)


def check_net(net: config.NetConfig, about: Shape) -> None:
    """Refuse a net that reads other rows, smaller pictures, or is too large."""
    kinds = {"text"} if isinstance(net, config.TextNet) else {"vectors", "tabular"}
    if isinstance(net, IMAGE_NETS):
        kinds = {"image"}
    if about.kind not in kinds:
        wanted = " or ".join(sorted(kinds))
        detail = f"net {net.name} reads {wanted} rows, the dataset holds {about.kind} rows"
        raise wrong("/net", "invalid_config", detail)
    if isinstance(net, config.LeNet | config.LeNet5) and about.image and min(about.image[:2]) < SMALLEST_SIDE:
        raise wrong("/net", "invalid_config", f"net {net.name} needs images of {SMALLEST_SIDE} pixels a side")
    if isinstance(net, config.ShakeShake26) and net.width < 2:
        raise wrong("/net/width", "invalid_config", "net shake-shake-26 needs a width of at least 2")
    if (weights := _weights(net, about)) > MOST_WEIGHTS:
        detail = f"the net would have {weights:,} weights, the most are {MOST_WEIGHTS:,}"
        raise wrong("/net", "invalid_config", detail)


def _weights(net: config.NetConfig, about: Shape) -> int:
    """Of the nets whose sizes are a user's to choose, about; the others are known to fit."""
    match net:
        case config.Mlp():
            widths = [about.width or 0, *net.hidden, about.classes]
        case config.TextNet():
            widths = [about.width or 0, net.embedding, *net.hidden, about.classes]
        case config.ShakeShake26():
            return 2842 * net.width**2  # as it is built, from a width of 32 on
        case _:
            return 0
    return sum(before * after for before, after in itertools.pairwise(widths))


def check_given(method: config.MethodConfig, T_c: transition.Matrix, counts: list[int]) -> None:  # noqa: N803
    """Refuse a matrix that the method can learn nothing under, before anything is trained."""
    if np.ptp(T_c, axis=0).max() < transition.HIDDEN_GAP:
        detail = "all rows are alike: such labels say nothing of the classes"
        raise wrong("/transition/matrix", "invalid_transition", detail)
    if isinstance(method, config.ForwardSimi | config.ReweightSimi) and method.correction == "similarity":
        T_s = transition.similarity_from_class(T_c, transition.clean_priors(T_c, counts))  # noqa: N806
        if T_s[1, 1] - T_s[0, 1] <= transition.HIDDEN_GAP:
            detail = (
                'the matrix hides which pairs are similar: choose correction "exact" or the method "forward"'
            )
            raise wrong("/transition/matrix", "invalid_transition", detail)


def check_gold(rows: int, classes: int) -> None:
    """Whether there can be gold rows enough; how many each true class has is seen when they are read."""
    if rows < testimony.ROWS * classes:
        raise wrong(
            "/transition/estimator",
            "invalid_transition",
            f"the dataset has {rows} gold rows, and each of its {classes} classes needs {testimony.ROWS}",
        )
