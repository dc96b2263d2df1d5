"""What a job is asked to do: one frozen config per method, net, stage and estimator; unknown keys are refused.

Defaults are the paper's or the authors' where a comment says so, and ours otherwise. `None` means "chosen from
the data": `c2s.defaults.resolve` fills it in before training, and the filled-in config travels in the model's card.
The methods' own configs are in `c2s.systems`, and are found here by the same names.
"""

from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PositiveInt,
    Tag,
)
from pydantic_core import PydanticCustomError

from c2s import schema
from c2s.schema import Config, Epochs, Exact, Positive, Rate
from c2s.systems import S2E as S2E
from c2s.systems import Apl as Apl
from c2s.systems import Auto as Auto
from c2s.systems import Correction as Correction
from c2s.systems import CoTeaching as CoTeaching
from c2s.systems import CrossEntropy as CrossEntropy
from c2s.systems import Forward as Forward
from c2s.systems import ForwardSimi as ForwardSimi
from c2s.systems import JoCoR as JoCoR
from c2s.systems import Mcl as Mcl
from c2s.systems import MethodConfig as MethodConfig
from c2s.systems import PHuber as PHuber
from c2s.systems import Prune as Prune
from c2s.systems import PruneSimi as PruneSimi
from c2s.systems import Revision as Revision
from c2s.systems import Reweight as Reweight
from c2s.systems import ReweightSimi as ReweightSimi
from c2s.systems import VolMin as VolMin

# --- nets ---------------------------------------------------------------------------------------------------

Width = Annotated[int, Field(ge=1, le=65536)]
Hidden = Annotated[tuple[Width, ...], Field(max_length=16), schema.LISTS]


class AutoNet(Exact):
    name: Literal["auto"] = "auto"


class LeNet(Exact):
    name: Literal["lenet"] = "lenet"  # the paper's variant


class LeNet5(Exact):
    name: Literal["lenet-5"] = "lenet-5"


class ShakeShake26(Exact):
    name: Literal["shake-shake-26"] = "shake-shake-26"
    width: Width = 32


class ResNet56(Exact):
    name: Literal["resnet-56"] = "resnet-56"  # pre-activation


class ResNet50(Exact):
    name: Literal["resnet-50"] = "resnet-50"


class Mlp(Exact):
    name: Literal["mlp"] = "mlp"
    hidden: Hidden = (300, 100)
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0


class TextNet(Exact):
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


class Constant(Exact):
    name: Literal["constant"] = "constant"


class Step(Exact):
    name: Literal["step"] = "step"
    every: PositiveInt = 10
    factor: Annotated[float, Field(gt=0, le=1)] = 0.1
    delay: Annotated[int, Field(ge=0)] = 0  # the authors' scheduler steps one epoch late: 1 for parity


class Cosine(Exact):
    name: Literal["cosine"] = "cosine"  # to zero over the stage


Schedule = Annotated[Constant | Step | Cosine, Field(discriminator="name"), BeforeValidator(schema.by_name)]


class Augment(Exact):
    """Random changes of an image in training; estimation and evaluation never see them."""

    shift: Annotated[int, Field(ge=0, le=64)] = (
        0  # pixels in both directions, zero-filled: crop after padding
    )
    flip: bool = False  # left to right


class EarlyLearning(Exact):
    """Pulls a row towards what the net said of it in earlier epochs, before it learnt the label by heart (ELR)."""

    weight: Positive = 3.0  # the authors' for CIFAR-10
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.7  # of what is remembered; the authors'


Precision = Literal["float32", "bfloat16"]


class Stage(Exact):
    epochs: Epochs | None = None
    batch_size: Annotated[int, Field(ge=2, le=65_536)] | None = None  # a pair needs two rows
    optimizer: Literal["adam", "sgd"] = "adam"
    learning_rate: Rate = 1e-3
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    weight_decay: Annotated[float, Field(ge=0, le=10)] = 1e-4
    schedule: Schedule = Cosine()
    clip_norm: Positive | None = None
    ema: Annotated[float, Field(gt=0, lt=1)] | None = 0.995  # weight average; None trains without
    patience: PositiveInt | None = None  # epochs without a better noisy validation before the stage ends
    keep: Literal["best", "last"] = "best"  # best noisy-validation accuracy, forward likelihood breaking ties
    augment: Augment | None = None
    elr: EarlyLearning | None = None  # None trains without
    mixup: Positive | None = None  # both parameters of the Beta that shares are drawn from; None: no mixing
    precision: Precision = "float32"  # bfloat16: where the device has units for it


class FirstStage(Stage):
    """Also says how many rounds it may take, each as long as all before: folds go through all and tell which pays."""

    # k-fold posteriors tell; without them it is one round. None: 4 where epochs are left open and steps are few, else 1
    rounds: Annotated[int, Field(ge=1, le=8)] | None = None


# --- transition ---------------------------------------------------------------------------------------------

Estimator = Literal[
    "anchors", "mean-posterior", "dual-t", "confident-joint", "refined", "hoc", "volmin", "gold"
]
Posteriors = Literal["auto", "in-sample", "validation", "k-fold"]


class Estimate(Exact):
    """T_c is estimated from stage 1's posteriors, learnt with the classifier (`volmin`), or counted (`gold`)."""

    estimator: Estimator | Literal["auto"] = "auto"
    percentile: Annotated[float, Field(ge=50, le=100)] = 97.0
    posteriors: Posteriors = "auto"
    folds: Annotated[int, Field(ge=2, le=20)] = 5  # left open, `auto` takes fewer of many rows
    epochs: Epochs | None = None  # of the joint learning

    @property
    def folds_asked(self) -> bool:
        """Whether a user said how many folds."""
        return "folds" in self.model_fields_set


class Given(Exact):
    """T_c is the user's: rows are clean classes, columns noisy ones, in the dataset's class order."""

    matrix: Annotated[tuple[Annotated[tuple[float, ...], schema.LISTS], ...], schema.LISTS]


def _by_estimator(raw: object) -> object:
    """`"anchors"` stands for `{"estimator": "anchors"}`; what is both estimated and given is refused."""
    if isinstance(raw, str):
        return {"estimator": raw}
    if not isinstance(raw, dict | Config):
        wanted = "must be the name of an estimator, or an object with an `estimator` or a `matrix`"
        raise PydanticCustomError("transition_type", wanted)
    if isinstance(raw, dict) and "matrix" in raw and (beside := sorted(Estimate.model_fields.keys() & raw)):
        told = {"beside": ", ".join(f"`{name}`" for name in beside)}
        raise PydanticCustomError(
            "excluded", "a `matrix` that is given is not estimated: leave {beside} out, or the matrix", told
        )
    return raw


def _which_transition(raw: object) -> str:
    given = "matrix" in raw if isinstance(raw, dict) else isinstance(raw, Given)
    return "given" if given else "estimated"


TransitionConfig = Annotated[
    Annotated[Estimate, Tag("estimated")] | Annotated[Given, Tag("given")],
    Discriminator(_which_transition),
    BeforeValidator(_by_estimator),
]


Names = Annotated[tuple[str, ...], Field(min_length=2, max_length=1000), schema.LISTS]


class TrainConfig(Exact):
    method: MethodConfig = ForwardSimi()
    net: NetConfig = AutoNet()
    stage1: FirstStage = FirstStage()
    stage2: Stage = Stage()
    transition: TransitionConfig = Estimate()
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.1  # share of noisy rows held out, the authors'
    merge: Annotated[
        tuple[Names, ...], Field(max_length=1000), schema.LISTS
    ] = ()  # classes that are one, under the first's name
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1


METHODS = schema.names(MethodConfig)
NETS = schema.names(NetConfig)
