"""Class2Simi: learning from noisy labels by way of noisy similarities (Wu, Xia et al., ICML 2021).

| symbol of the paper          | here                                             |
|------------------------------|--------------------------------------------------|
| T_c, class transition        | `matrix.estimation`, `methods.matrices`          |
| T_s, similarity transition   | `matrix.transition.similarity_from_class`        |
| noise rates, Theorem 2       | `matrix.transition.noise_rates`                  |
| H, similarity labels         | `methods.pairs.similarity_labels`                |
| S, similarity posterior      | `methods.pairs.similarity_posterior`             |
| L_c2s, Forward               | `methods.losses.forward_pairs`                   |
| L_c2s, Reweight              | `methods.losses.reweight_pairs`                  |
| f, the clean classifier      | `nets.*`, `predictor.Predictor`                  |
| Algorithm 1                  | `pipeline.run`                                   |
| the noise of section 4       | `matrix.noise.symmetric`, `.random_dominant`     |

Importing the package loads neither torch nor scikit-learn: what needs them is loaded on first use, and comes with
`pip install "c2s[train]"`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from c2s.client.client import AsyncClient, Client
    from c2s.estimator import Class2SimiClassifier
    from c2s.predictor import Predictor

__all__ = ["AsyncClient", "Class2SimiClassifier", "Client", "Predictor"]


def __getattr__(name: str) -> Any:
    match name:
        case "AsyncClient":
            from c2s.client.client import AsyncClient

            return AsyncClient
        case "Client":
            from c2s.client.client import Client

            return Client
        case "Class2SimiClassifier":
            from c2s.estimator import Class2SimiClassifier

            return Class2SimiClassifier
        case "Predictor":
            from c2s.predictor import Predictor

            return Predictor
    raise AttributeError(f"module 'c2s' has no attribute {name!r}")
