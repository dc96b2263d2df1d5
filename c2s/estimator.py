"""The whole algorithm behind scikit-learn's manners: `fit` on noisy labels, `predict` clean ones."""

import contextlib
import math
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sized
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from c2s import config, data, errors, pipeline, predictor, threads
from c2s.learning import training
from c2s.reading import encoding, words

Array = npt.NDArray[Any]
VECTORS: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float32}
IMAGES: dict[str, Any] = {"ensure_2d": False, "allow_nd": True, "dtype": None}


class Class2SimiClassifier(ClassifierMixin, BaseEstimator):
    """A classifier for labels of which some are wrong: Class2Simi, or another method of this library by name.

    Rows are vectors (an array, a data frame or a sparse matrix), images (3-D or 4-D: bytes, or floats from 0 to 1)
    or texts (strings). Where the docstring of a config says more, `method` and `net` take its fields as a dict, and
    `stage1` and `stage2` take a stage's.

    Parameters
    ----------
    method : a method's name, or a dict of its name and settings
    net : a net's name, or a dict of its name and settings; "auto" goes by the rows
    stage1_epochs, stage2_epochs, batch_size : None goes by the number of rows
    transition : an estimator's name, a dict of its settings, or the (c, c) matrix itself: rows clean, columns noisy
    validation : share of the noisy rows held out
    random_state : None draws a new seed, except in a `folder`, which can only be resumed with the seed it had
    device : "cpu", "cuda" or "auto"
    folder : where the run is kept and resumed; None leaves nothing behind
    stage1, stage2 : further settings of a stage, such as {"learning_rate": 1e-2}
    verbose : 1 writes a line per epoch to the standard error

    Attributes
    ----------
    classes_ : the labels, in the order of the matrices
    transition_matrix_ : (c, c), P(noisy = j | clean = i)
    similarity_transition_ : (2, 2), the same of pairs; 0 is dissimilar, 1 similar
    noise_rate_, similarity_noise_rate_ : share of wrong labels, and of wrong similarities
    notes_ : what must be known about this result, in words
    card_ : everything about the model, as plain data
    predictor_ : the model itself
    """

    def __init__(  # noqa: PLR0913  # one argument a setting, so that a grid search can reach it
        self,
        method: str | Mapping[str, Any] = "f-class2simi",
        *,
        net: str | Mapping[str, Any] = "auto",
        stage1_epochs: int | None = None,
        stage2_epochs: int | None = None,
        batch_size: int | None = None,
        transition: str | Mapping[str, Any] | npt.ArrayLike = "auto",
        validation: float = 0.1,
        random_state: int | np.random.RandomState | None = None,
        device: str = "cpu",
        folder: str | Path | None = None,
        stage1: Mapping[str, Any] | None = None,
        stage2: Mapping[str, Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.net = net
        self.stage1_epochs = stage1_epochs
        self.stage2_epochs = stage2_epochs
        self.batch_size = batch_size
        self.transition = transition
        self.validation = validation
        self.random_state = random_state
        self.device = device
        self.folder = folder
        self.stage1 = stage1
        self.stage2 = stage2
        self.verbose = verbose

    def fit(self, X: object, y: object) -> Self:
        """Learn from rows and their noisy labels."""
        with _value_errors(), self._run_folder() as folder:
            dataset, classes = self._dataset(X, y)
            report = _say if self.verbose else training.quiet
            with threads.suited(dataset):
                found = pipeline.run(dataset, self._config(), folder, device=self.device, report=report)
        self.classes_ = classes
        self.predictor_ = predictor.Predictor(found.net, found.card, device=found.card["device"])
        self.transition_matrix_ = found.T_c
        self.similarity_transition_ = found.T_s
        self.noise_rate_ = found.rates.class_
        self.similarity_noise_rate_ = found.rates.similarity
        self.notes_ = found.notes
        self.card_ = found.card
        return self

    def predict(self, X: object) -> Array:
        """The most probable clean label of each row."""
        check_is_fitted(self, "predictor_")
        chosen: Array = self.classes_[self.predict_proba(X).argmax(1)]
        return chosen

    def predict_proba(self, X: object) -> npt.NDArray[np.float64]:
        """P(clean class | row), shape (n, c), columns as in `classes_`."""
        check_is_fitted(self, "predictor_")
        with _value_errors():
            return self.predictor_.probabilities(self._inputs(X))

    def _dataset(self, X: object, y: object) -> tuple[data.Dataset, Array]:
        """The training rows, checked the way scikit-learn's users expect, and the classes as NumPy has them."""
        x: data.Inputs
        spec: dict[str, Any] = {}
        if _are_texts(X):
            labels = validate_data(self, y=y)
            check_consistent_length(X, labels)
            texts = encoding.texts(X)
            terms = words.learn(texts)
            x, spec = words.bags(terms, texts), terms.model_dump(mode="json")
        elif _dimensions(X) > 2:
            images, labels = validate_data(self, X, y, **IMAGES)
            pixels = encoding.from_array(images)
            x = encoding.apply(pixels, images)
            if images.dtype.kind == "f":  # of bytes the shape says all
                spec = pixels.model_dump(mode="json")
        else:
            rows, labels = validate_data(self, X, y, **VECTORS)
            x = rows if isinstance(rows, np.ndarray) else data.Bags.of(rows)
        check_classification_targets(labels)
        classes, indices = np.unique(labels, return_inverse=True)
        plain = tuple(label if isinstance(label, data.Label) else str(label) for label in classes.tolist())
        return data.Dataset(x, indices.astype(np.int64), plain, _kind(x), encoding=spec), classes

    def _inputs(self, X: object) -> data.Inputs:
        """Rows to predict, in the form that the model was trained on."""
        kind = self.predictor_.shape.kind
        if kind == "image":
            return self.predictor_.raw(validate_data(self, X, reset=False, **IMAGES))
        if self.card_["encoding"]:
            return self.predictor_.raw(X)
        rows = validate_data(self, X, reset=False, **VECTORS)
        if kind == "text":  # trained on a sparse matrix
            return data.Bags.of(rows)
        return rows if isinstance(rows, np.ndarray) else rows.toarray()

    def _config(self) -> config.TrainConfig:
        settings = {
            "method": self.method,
            "net": self.net,
            "stage1": self._stage("stage1", self.stage1_epochs, self.stage1),
            "stage2": self._stage("stage2", self.stage2_epochs, self.stage2),
            "transition": self._transition(),
            "validation": self.validation,
            "seed": self._seed(),
        }
        return config.TrainConfig.parse(_plain(settings))

    def _transition(self) -> dict[str, Any]:
        if isinstance(self.transition, Mapping):
            return dict(self.transition)
        if isinstance(self.transition, str):
            return {"estimator": self.transition}
        return {"matrix": np.asarray(self.transition).tolist()}

    def _stage(self, name: str, epochs: int | None, further: Mapping[str, Any] | None) -> dict[str, Any]:
        defaults: config.Stage = getattr(config.TrainConfig(), name)
        return defaults.model_dump() | {"epochs": epochs, "batch_size": self.batch_size} | dict(further or {})

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        if self.random_state is None and self.folder is not None:
            return config.TrainConfig().seed
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _run_folder(self) -> contextlib.AbstractContextManager[Path]:
        return _scratch() if self.folder is None else contextlib.nullcontext(Path(self.folder))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.three_d_array = True
        return tags


def _plain(settings: Any) -> Any:
    """Settings with NumPy's numbers, which a search over a range brings, as Python's."""
    match settings:
        case np.generic():
            return settings.item()
        case Mapping():
            return {name: _plain(value) for name, value in settings.items()}
        case list() | tuple():
            return [_plain(value) for value in settings]
        case _:
            return settings


@contextlib.contextmanager
def _value_errors() -> Iterator[None]:
    """Our refusals as scikit-learn's users know them."""
    try:
        yield
    except errors.C2SError as exc:
        raise ValueError(str(exc)) from exc


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="c2s-") as name:
        yield Path(name) / "run"


def _say(progress: training.Progress) -> None:
    if progress.fraction == 0:
        metrics = ", ".join(f"{name} {value:.4f}" for name, value in progress.metrics.items())
        sys.stderr.write(f"{progress.phase} {progress.epoch}/{progress.epochs}: {metrics}\n")


def _are_texts(X: object) -> bool:
    """Whether the rows are strings, by the first of them that is not missing."""
    if getattr(X, "ndim", 1) != 1 or not isinstance(X, Iterable) or not isinstance(X, Sized):
        return False
    return isinstance(next((row for row in X if not _is_missing(row)), None), str)


def _is_missing(row: object) -> bool:
    """None, NaN, or what pandas has in their place."""
    return row is None or (isinstance(row, float) and math.isnan(row)) or type(row).__name__ == "NAType"


def _dimensions(X: object) -> int:
    return int(X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim)


def _kind(x: data.Inputs) -> data.Kind:
    if isinstance(x, data.Bags):
        return "text"
    return "vectors" if x.ndim == 2 else "image"
