"""What each method is asked to do: one frozen config a method, and the union that a request names one of.

Defaults are the paper's or the authors' where a comment says so, and ours otherwise; `None` is chosen from the data.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PositiveInt

from c2s import schema
from c2s.schema import Epochs, Exact, Positive, Rate, Weight

Share = Annotated[float, Field(ge=0, le=0.99)]
Correction = Literal[
    "auto", "similarity", "exact"
]  # auto: exact where T_s would average unlike classes together


class CrossEntropy(Exact):
    """Labels taken as they are: what everything else is measured against."""

    name: Literal["ce"] = "ce"


class Mcl(Exact):
    """Pairs taken as they are, without a correction."""

    name: Literal["mcl"] = "mcl"
    diagonal: Weight = 1.0  # weight of a row's pair with itself; 0 drops it


class Forward(Exact):
    """Rows, with predictions passed through T_c before they meet the noisy labels."""

    name: Literal["forward"] = "forward"


class Reweight(Exact):
    """Rows, weighted by how much likelier their label is under the clean distribution than under the noisy one."""

    name: Literal["reweight"] = "reweight"
    max_weight: Positive = 10.0  # ours: a bound on the importance weight


class Revision(Exact):
    """Reweight, and in a last phase T_c is corrected together with the net."""

    name: Literal["revision"] = "revision"
    max_weight: Positive = 10.0
    epochs: Epochs | None = None  # of the last phase, in which T is revised; None: as many as stage 2
    learning_rate: Rate = 3e-5  # of T; the authors' 5e-7 with their accumulation undone


class ForwardSimi(Exact):
    """Pairs of rows (same class or not), whose labels are less noisy, corrected by T_s or by T_c itself."""

    name: Literal["f-class2simi"] = "f-class2simi"
    correction: Correction = "auto"
    diagonal: Weight = 1.0  # the authors keep a row's pair with itself
    # ours: weight of Forward's loss beside the pairs'; at 1 both pull alike. None: of eight classes and more 16 under
    # 350 rows a class and 1 under 1,500, otherwise 1 where pairs say little, else 0
    forward: Weight | None = None


class ReweightSimi(Exact):
    """Pairs of rows (same class or not), weighted by importance."""

    name: Literal["r-class2simi"] = "r-class2simi"
    correction: Correction = "auto"
    diagonal: Weight = 1.0
    max_weight: Positive = 10.0  # ours: a bound on the importance weight


class VolMin(Exact):
    """Rows, with T_c learnt along with the classifier as the one of least volume."""

    name: Literal["volmin"] = "volmin"
    learning_rate: Rate = 0.01  # of T
    volume: Weight = 1e-4  # weight of log |det T|


class Prune(Exact):
    """Rows whose label the estimate finds wrong are left out; the rest is trained on as it is."""

    name: Literal["prune"] = "prune"


class PruneSimi(Exact):
    """Rows whose label the estimate finds wrong are left out; the rest is trained on in pairs."""

    name: Literal["prune-class2simi"] = "prune-class2simi"
    diagonal: Weight = 1.0


class CoTeaching(Exact):
    """Two nets, each trained on the rows that the other finds easiest."""

    name: Literal["co-teaching"] = "co-teaching"
    drop_rate: Share | None = None  # share of rows left out in the end; None: as many as T finds wrong
    ramp: PositiveInt | None = None  # epochs until then; None: the authors' 10, or half of a shorter stage
    exponent: Positive = 1.0


class JoCoR(Exact):
    """Two nets that must agree, both trained on the rows that are easiest for the two together."""

    name: Literal["jocor"] = "jocor"
    drop_rate: Share | None = None
    ramp: PositiveInt | None = None
    exponent: Positive = 1.0
    agreement: Annotated[float, Field(ge=0, le=1)] = (
        0.9  # the authors' advice for CIFAR-10, not their code's 0.1
    )


class PHuber(Exact):
    """Cross-entropy whose gradient is bounded by a tangent below a probability of 1 / tau."""

    name: Literal["phuber-ce"] = "phuber-ce"
    tau: Annotated[float, Field(gt=1, le=1e6)] = 10.0  # the authors' for MNIST and CIFAR-100; 2 for CIFAR-10


class Apl(Exact):
    """A loss that is normalised (NCE) and one that is bounded (RCE or MAE), weighted."""

    name: Literal["apl"] = "apl"
    passive: Literal["rce", "mae"] = "rce"
    alpha: Weight | None = None  # of NCE; None: the authors' by the number of classes, 1 or 10
    beta: Weight | None = None  # of the other; None: 1, and 0.1 (RCE) or 1 (MAE) for many classes


# The authors' family: a rate of parameters beyond these is no number, or none that was meant.
Unit = Annotated[float, Field(ge=0, le=1)]
Half = Annotated[float, Field(ge=0, le=0.5)]
Double = Annotated[float, Field(ge=0, le=2)]
Curve = Annotated[
    tuple[Unit, Unit, Half, Unit, Half, Double, Half, Unit, Unit, Half, Half, Double], schema.LISTS
]


class S2E(Exact):
    """Co-teaching whose drop rate over the epochs is searched, judged by noisy validation."""

    name: Literal["s2e"] = "s2e"
    candidates: Annotated[int, Field(ge=2, le=64)] = 6  # curves tried in a generation
    generations: Annotated[int, Field(ge=1, le=16)] = 2
    curve: Curve | None = None  # the authors' twelve parameters; None: searched


class Auto(Exact):
    """Methods with different weaknesses go on from stage 1 and their weights are blended; the card says how."""

    name: Literal["auto"] = "auto"


MethodConfig = Annotated[
    CrossEntropy
    | Mcl
    | Forward
    | Reweight
    | Revision
    | ForwardSimi
    | ReweightSimi
    | VolMin
    | Prune
    | PruneSimi
    | CoTeaching
    | JoCoR
    | PHuber
    | Apl
    | S2E
    | Auto,
    Field(discriminator="name"),
    BeforeValidator(schema.by_name),
]
