"""Texts as dense vectors: TF-IDF of words, and of characters if asked, along its main directions."""

import numpy as np
import numpy.typing as npt

DIRECTIONS = 300
TERMS = 30_000
Vectors = npt.NDArray[np.float32]


def vectors(train: list[str], test: list[str], *, characters: bool = False) -> tuple[Vectors, Vectors]:
    """Both halves (n, 300); terms, weights and directions are learnt from the first alone."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import FeatureUnion

    kinds = {"words": TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_features=TERMS)}
    if characters:
        spelling = {"analyzer": "char_wb", "ngram_range": (2, 5), "sublinear_tf": True}
        kinds["characters"] = TfidfVectorizer(**spelling, max_features=TERMS)
    terms = FeatureUnion(list(kinds.items()))
    seen = terms.fit_transform(train)
    unseen = terms.transform(test)
    size = min(DIRECTIONS, seen.shape[1] - 1, seen.shape[0] - 1)
    main = TruncatedSVD(size, n_iter=2, random_state=0).fit(seen)
    one, two = (main.transform(part) for part in (seen, unseen))
    # one scale for all directions: a net that scales each by itself would make the weakest as loud as the strongest
    scale = float(np.sqrt(np.square(one).mean()))
    return (one / scale).astype(np.float32), (two / scale).astype(np.float32)
