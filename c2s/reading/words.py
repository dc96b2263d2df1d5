"""Texts as weighted bags of terms: `learn` chooses the terms from the training texts, `bags` finds them ever after.

A term is a lower-cased word, or several in a row joined by a space. Hashed terms are known by their bucket alone,
so that the card of a model carries none of the user's words.
"""

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeFloat, model_validator

from c2s import data, errors, schema

BUCKETS = 2**18
CHARACTERS = (
    200_000_000  # to learn from: more cannot change which terms are common, and would not fit in memory
)
CHUNK = 16_384  # texts at a time
UNSPACED = (
    "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # kana and ideographs: written without spaces, each is a word
)
WORD = re.compile(rf"[^\W{UNSPACED}]{{2,}}|[{UNSPACED}]")

Integers = npt.NDArray[np.int64]
Bucket = Annotated[int, Field(ge=0, lt=BUCKETS)]


class TextEncoding(schema.Config):
    """The learnt terms (hashed: their buckets); column k of a bag is term k."""

    kind: Literal["text"] = "text"
    column: str | None = None  # where a table keeps the text
    weighting: Literal["tf-idf", "mean"] = (
        "tf-idf"  # mean: the weights of a bag average the vectors of its words
    )
    ngrams: Annotated[int, Field(ge=1, le=5)] = 1
    hashed: bool = False
    terms: Annotated[tuple[str, ...] | tuple[Bucket, ...], Field(min_length=1)]
    idf: tuple[NonNegativeFloat, ...] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if any(isinstance(term, int) != self.hashed for term in self.terms):
            raise ValueError("hashed terms are bucket numbers, others are words")
        if len(set(self.terms)) != len(self.terms):
            raise ValueError("a term occurs twice")
        if (self.idf is None) != (self.weighting == "mean"):
            raise ValueError("tf-idf needs an idf, a mean needs none")
        if self.idf is not None and len(self.idf) != len(self.terms):
            raise ValueError("every term needs one idf")
        return self

    @cached_property
    def places(self) -> dict[str | int, int]:
        """The column of each term."""
        return dict(zip(self.terms, range(len(self.terms)), strict=True))

    @cached_property
    def rarity(self) -> npt.NDArray[np.float64]:
        """The idf of each term as an array."""
        return np.array(self.idf or ())


@dataclass(frozen=True)
class Occurrences:
    """Every occurrence of every term: `names[terms[i]]` stands in text `rows[i]`."""

    names: list[str]
    terms: Integers
    rows: Integers


def split(text: str) -> list[str]:
    """The words of a text, lower-cased."""
    return WORD.findall(text.lower())


def learn(
    texts: Sequence[str],
    *,
    terms: int = 30_000,
    hashed: bool = False,
    ngrams: int = 2,
    min_documents: int = 2,
    column: str | None = None,
) -> TextEncoding:
    """The terms that most texts share, with their inverse document frequency (smoothed: log((1+n)/(1+df)) + 1)."""
    step = 1 + sum(map(len, texts)) // CHARACTERS
    chosen = texts[::step]  # evenly spaced, so that sorted texts do no harm
    found = _find(chosen, ngrams)
    keys: Sequence[str | int] = found.names
    if hashed:
        keys, which = _distinct(_bucket(name) for name in found.names)
        found = Occurrences(found.names, which[found.terms], found.rows)
    documents = _documents(found, len(chosen), len(keys))  # (terms,)
    kept = _commonest(keys, documents, terms, least=min_documents)
    if not kept:
        raise errors.InvalidDataset(f"the texts share no words: none occurs in {min_documents} rows")
    idf = np.log((1 + len(chosen)) / (1 + documents[kept])) + 1
    return TextEncoding(
        column=column,
        ngrams=ngrams,
        hashed=hashed,
        terms=tuple(keys[term] for term in kept),
        idf=tuple(np.round(idf, 6).tolist()),  # six digits keep the card short
    )


def from_vectors(
    words: Sequence[str], vectors: npt.NDArray[Any], texts: Sequence[str], *, column: str | None = None
) -> tuple[TextEncoding, npt.NDArray[np.float32]]:
    """The given words that occur in the texts, and their vectors; a bag's weights then average them."""
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise errors.InvalidDataset(
            f"{len(words)} words need as many vectors, not an array of {vectors.shape}"
        )
    occurring = vocabulary(texts)
    first = {word: row for row, word in reversed(list(enumerate(words))) if word in occurring}
    rows = sorted(first.values())
    if not rows:
        raise errors.InvalidDataset("none of the word vectors' words occurs in the texts")
    with np.errstate(over="ignore"):
        table = vectors[rows].astype(np.float32)  # (terms, dimension)
    if not np.isfinite(table).all():
        bad = int((~np.isfinite(table)).any(axis=1).argmax())
        raise errors.InvalidDataset(
            f"the vector of {words[rows[bad]]!r} holds NaN, an infinity or no float32"
        )
    return TextEncoding(column=column, weighting="mean", terms=tuple(words[row] for row in rows)), table


def vocabulary(texts: Sequence[str]) -> set[str]:
    """The words that occur in the texts."""
    found: set[str] = set()
    for text in texts:
        found.update(split(text))
    return found


def bags(spec: TextEncoding, texts: Sequence[str]) -> data.Bags:
    """One bag per text; a text without a known term has an empty one."""
    starts = range(0, max(1, len(texts)), CHUNK)  # at least one chunk, so that there are arrays to join
    chunks = (_chunk(spec, texts[start : start + CHUNK]) for start in starts)
    lengths, indices, weights = zip(*chunks, strict=True)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)  # (texts + 1,)
    flat = np.concatenate(weights).astype(np.float32)
    return data.Bags(indptr, np.concatenate(indices), flat, len(spec.terms))


def _chunk(spec: TextEncoding, texts: Sequence[str]) -> tuple[Integers, Integers, npt.NDArray[np.float64]]:
    found = _find(texts, spec.ngrams)
    keys: Iterable[str | int] = map(_bucket, found.names) if spec.hashed else found.names
    place = spec.places.get
    places = np.fromiter((place(key, -1) for key in keys), np.int64, len(found.names))  # (names,)
    occurring = places[found.terms]  # (occurrences,), -1 where the term is unknown
    width = len(spec.terms)
    known = occurring >= 0
    pairs, counts = np.unique(found.rows[known] * width + occurring[known], return_counts=True)
    rows, indices = pairs // width, pairs % width  # (entries,)
    return np.bincount(rows, minlength=len(texts)), indices, _weights(spec, rows, indices, counts=counts)


def _weights(
    spec: TextEncoding, rows: Integers, indices: Integers, *, counts: Integers
) -> npt.NDArray[np.float64]:
    if spec.idf is None:
        return counts / np.bincount(rows, counts)[rows]
    raw = (1 + np.log(counts)) * spec.rarity[indices]
    norms = np.sqrt(np.bincount(rows, raw * raw))  # (texts,)
    return raw / norms[rows]


def _find(texts: Sequence[str], ngrams: int) -> Occurrences:
    """All terms of all texts; the work per word is a look-up, the work per n-gram is NumPy's."""
    known: defaultdict[str, int] = defaultdict(count().__next__)
    found = [np.fromiter(map(known.__getitem__, split(text)), np.int64) for text in texts]
    lengths = np.fromiter(map(len, found), np.int64, len(found))
    rows = np.repeat(np.arange(len(texts)), lengths)  # (words,)
    words = np.concatenate([*found, np.empty(0, np.int64)])  # (words,)
    single = list(known)
    names, terms, places = single, [words], [rows]
    before, start = single, words  # the terms one word shorter: their names, and which begins at each word
    for n in range(2, ngrams + 1):
        pairs, start = np.unique(start[:-1] * len(single) + words[n - 1 :], return_inverse=True)
        halves = (half.tolist() for half in np.divmod(pairs, max(1, len(single))))
        before = [f"{before[left]} {single[right]}" for left, right in zip(*halves, strict=True)]
        inside = rows[n - 1 :] == rows[: len(start)]  # the n words lie in one text
        terms.append(len(names) + start[inside])
        places.append(rows[: len(start)][inside])
        names = names + before
    return Occurrences(names, np.concatenate(terms), np.concatenate(places))


def _documents(found: Occurrences, texts: int, terms: int) -> Integers:
    """In how many texts each term occurs."""
    pairs = np.sort(found.terms * texts + found.rows)  # np.unique alone would hash: ten times slower
    first = np.flatnonzero(np.diff(pairs, prepend=-1))  # a term counts once per text
    return np.bincount(pairs[first] // max(1, texts), minlength=terms)


def _bucket(term: str) -> int:
    return zlib.crc32(term.encode("utf-8", "surrogatepass")) % BUCKETS


def _distinct(buckets: Iterable[int]) -> tuple[list[int], Integers]:
    values, which = np.unique(np.fromiter(buckets, np.int64), return_inverse=True)
    return values.tolist(), which


def _commonest(keys: Sequence[str | int], documents: Integers, most: int, *, least: int) -> list[int]:
    """The terms of the most texts, the commonest first; ties go by the term, so that the order is certain."""
    if len(documents) > most:
        least = max(least, int(np.partition(documents, -most)[-most]))
    kept = np.flatnonzero(documents >= least).tolist()
    return sorted(kept, key=lambda term: (-documents[term], keys[term]))[:most]
