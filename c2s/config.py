"""What a job is asked to do: one frozen config per method, net, stage and estimator; unknown keys are refused.

Defaults are the paper's or the authors' where a comment says so, and ours otherwise. `None` means "chosen from
the data": `c2s.defaults.resolve` fills it in before training, and the filled-in config travels in the model's card.
"""

from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    Tag,
)

from c2s import schema
from c2s.schema import Config

# --- methods ------------------------------------------------------------------------------------------------

Correction = Literal[
    "auto", "similarity", "exact"
]  # auto: exact where T_s would average unlike classes together


class CrossEntropy(Config):
    name: Literal["ce"] = "ce"


class Mcl(Config):
    name: Literal["mcl"] = "mcl"
    diagonal: NonNegativeFloat = 1.0  # weight of a row's pair with itself; 0 drops it


class Forward(Config):
    name: Literal["forward"] = "forward"


class Reweight(Config):
    name: Literal["reweight"] = "reweight"
    max_weight: PositiveFloat = 10.0  # ours: a bound on the importance weight


class Revision(Config):
    name: Literal["revision"] = "revision"
    max_weight: PositiveFloat = 10.0
    epochs: PositiveInt | None = None  # of the last phase, in which T is revised; None: as many as stage 2
    learning_rate: PositiveFloat = 3e-5  # of T; the authors' 5e-7 with their accumulation undone


class ForwardSimi(Config):
    name: Literal["f-class2simi"] = "f-class2simi"
    correction: Correction = "auto"
    diagonal: NonNegativeFloat = 1.0  # the authors keep a row's pair with itself


class ReweightSimi(Config):
    name: Literal["r-class2simi"] = "r-class2simi"
    correction: Correction = "auto"
    diagonal: NonNegativeFloat = 1.0
    max_weight: PositiveFloat = 10.0  # ours: a bound on the importance weight


class VolMin(Config):
    name: Literal["volmin"] = "volmin"
    learning_rate: PositiveFloat = 0.01  # of T
    volume: NonNegativeFloat = 1e-4  # weight of log |det T|


class Prune(Config):
    name: Literal["prune"] = "prune"


class PruneSimi(Config):
    name: Literal["prune-class2simi"] = "prune-class2simi"
    diagonal: NonNegativeFloat = 1.0


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
    | PruneSimi,
    Field(discriminator="name"),
    BeforeValidator(schema.by_name),
]

# --- nets ---------------------------------------------------------------------------------------------------

Width = Annotated[int, Field(ge=1, le=65536)]
Hidden = Annotated[tuple[Width, ...], Field(max_length=16)]


class AutoNet(Config):
    name: Literal["auto"] = "auto"


class LeNet(Config):
    name: Literal["lenet"] = "lenet"  # the paper's variant


class LeNet5(Config):
    name: Literal["lenet-5"] = "lenet-5"


class ShakeShake26(Config):
    name: Literal["shake-shake-26"] = "shake-shake-26"
    width: Width = 32


class ResNet56(Config):
    name: Literal["resnet-56"] = "resnet-56"  # pre-activation


class ResNet50(Config):
    name: Literal["resnet-50"] = "resnet-50"


class Mlp(Config):
    name: Literal["mlp"] = "mlp"
    hidden: Hidden = (300, 100)
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0


class TextNet(Config):
    name: Literal["text"] = "text"
    embedding: Width = 128  # ignored where the dataset brings word vectors of its own
    hidden: Hidden = (300, 100)
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0


NetConfig = Annotated[
    AutoNet | LeNet | LeNet5 | ShakeShake26 | ResNet56 | ResNet50 | Mlp | TextNet,
    Field(discriminator="name"),
    BeforeValidator(schema.by_name),
]

# --- stages -------------------------------------------------------------------------------------------------


class Constant(Config):
    name: Literal["constant"] = "constant"


class Step(Config):
    name: Literal["step"] = "step"
    every: PositiveInt = 10
    factor: Annotated[float, Field(gt=0, le=1)] = 0.1
    delay: Annotated[int, Field(ge=0)] = 0  # the authors' scheduler steps one epoch late: 1 for parity


class Cosine(Config):
    name: Literal["cosine"] = "cosine"  # to zero over the stage


Schedule = Annotated[Constant | Step | Cosine, Field(discriminator="name"), BeforeValidator(schema.by_name)]


class Augment(Config):
    """Random changes of an image in training; estimation and evaluation never see them."""

    shift: Annotated[int, Field(ge=0, le=64)] = (
        0  # pixels in both directions, zero-filled: crop after padding
    )
    flip: bool = False  # left to right


class Stage(Config):
    epochs: Annotated[int, Field(ge=1, le=10_000)] | None = None
    batch_size: Annotated[int, Field(ge=2, le=65_536)] | None = None  # a pair needs two rows
    optimizer: Literal["adam", "sgd"] = "adam"
    learning_rate: PositiveFloat = 1e-3
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    weight_decay: NonNegativeFloat = 1e-4
    schedule: Schedule = Cosine()
    clip_norm: PositiveFloat | None = None
    ema: Annotated[float, Field(gt=0, lt=1)] | None = 0.995  # weight average; None trains without
    patience: PositiveInt | None = None  # epochs without a better noisy validation before the stage ends
    keep: Literal["best", "last"] = "best"  # best noisy-validation accuracy, forward likelihood breaking ties
    augment: Augment | None = None
    precision: Literal["float32", "bfloat16"] = "float32"  # bfloat16: autocast on CUDA only


# --- transition ---------------------------------------------------------------------------------------------

Estimator = Literal["anchors", "mean-posterior", "dual-t", "confident-joint", "volmin"]
Posteriors = Literal["auto", "in-sample", "validation", "k-fold"]


class Estimate(Config):
    """T_c is estimated from stage 1's posteriors, or learnt jointly with the classifier (`volmin`)."""

    estimator: Estimator | Literal["auto"] = "auto"
    percentile: Annotated[float, Field(ge=50, le=100)] = 97.0
    posteriors: Posteriors = "auto"
    folds: Annotated[int, Field(ge=2, le=20)] = 5
    epochs: PositiveInt | None = None  # of the joint learning


class Given(Config):
    """T_c is the user's: rows are clean classes, columns noisy ones, in the dataset's class order."""

    matrix: tuple[tuple[float, ...], ...]


def _by_estimator(raw: object) -> object:
    """`"anchors"` stands for `{"estimator": "anchors"}`."""
    return {"estimator": raw} if isinstance(raw, str) else raw


def _which_transition(raw: object) -> str:
    given = "matrix" in raw if isinstance(raw, dict) else isinstance(raw, Given)
    return "given" if given else "estimated"


TransitionConfig = Annotated[
    Annotated[Estimate, Tag("estimated")] | Annotated[Given, Tag("given")],
    Discriminator(_which_transition),
    BeforeValidator(_by_estimator),
]


Names = Annotated[tuple[str, ...], Field(min_length=2, max_length=1000)]


class TrainConfig(Config):
    method: MethodConfig = ForwardSimi()
    net: NetConfig = AutoNet()
    stage1: Stage = Stage()
    stage2: Stage = Stage()
    transition: TransitionConfig = Estimate()
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.1  # share of noisy rows held out, the authors'
    merge: Annotated[
        tuple[Names, ...], Field(max_length=1000)
    ] = ()  # classes that are one, under the first's name
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1


METHODS = schema.names(MethodConfig)
NETS = schema.names(NetConfig)
