"""What can go wrong, as classes: the class is the contract, the message is this occurrence.

C2SError
├── InvalidConfig       a setting that no job can run with
├── InvalidDataset      data that cannot be trained on
├── InvalidTransition   a matrix that is not a row-stochastic square, or that hides the classes
├── InvalidModel        a model folder that is incomplete or of another format
│   └── NotExported     one that holds no graph to serve
├── Unfaithful          an exported graph that answers otherwise than its net
├── Diverged            the loss left the finite numbers
└── NotLearnable        the noise hides the classes from the chosen method
"""


class C2SError(Exception):
    """Anything this library refuses or fails to do, with a sentence that a user can act on."""


class InvalidConfig(C2SError):
    """A setting that no job can run with."""


class InvalidDataset(C2SError):
    """Data that cannot be trained on; `field` names the column where one column is to blame."""

    def __init__(self, message: str = "", *, field: str | int | None = None) -> None:
        super().__init__(message)
        self.field = field


class InvalidTransition(C2SError):
    """A transition matrix that is not a square of row distributions."""


class InvalidModel(C2SError):
    """A model folder that is incomplete, altered or of another format."""


class NotExported(InvalidModel):
    """A model folder without a graph: it can be loaded by torch, not served."""


class Unfaithful(C2SError):
    """An exported graph that answers otherwise than the net it was made from."""


class Diverged(C2SError):
    """Training left the finite numbers; `epoch` says when, counted from 1 as everywhere."""

    def __init__(self, phase: str, epoch: int) -> None:
        super().__init__(
            f"{phase} diverged in epoch {epoch}: the loss is no longer a finite number;"
            " lower the learning_rate of its stage, or set a clip_norm"
        )
        self.phase = phase
        self.epoch = epoch


class NotLearnable(C2SError):
    """The noise hides the classes from the chosen method."""
