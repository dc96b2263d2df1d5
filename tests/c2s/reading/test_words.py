"""Texts become the same weighted bags in training and in prediction."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c2s import data, errors
from c2s.reading import words

TEXTS = [
    "The cat sat on the mat",
    "the dog sat on the cat",
    "A dog, a cat and a mat!",
    "",
    "zebra",
]


def row(bags: data.Bags, number: int) -> dict[int, float]:
    inside = slice(bags.indptr[number], bags.indptr[number + 1])
    return dict(zip(bags.indices[inside].tolist(), bags.weights[inside].tolist(), strict=True))


def read_back(spec: words.TextEncoding) -> words.TextEncoding:
    return words.TextEncoding.model_validate(json.loads(spec.model_dump_json()))


def test_words_are_lower_cased_and_at_least_two_letters_long() -> None:
    assert words.split("A Cat's über-NAÏVE 42 x_1 !") == ["cat", "über", "naïve", "42", "x_1"]


def test_writing_without_spaces_is_cut_into_signs() -> None:
    assert words.split("日本語 and カナ") == ["日", "本", "語", "and", "カ", "ナ"]


def test_the_commonest_terms_are_kept_and_ties_go_by_the_alphabet() -> None:
    spec = words.learn(TEXTS, terms=4)
    assert spec.terms == ("cat", "dog", "mat", "on")  # in 3 texts, then 2, 2, 2


def test_pairs_of_words_are_terms_and_never_cross_two_texts() -> None:
    spec = words.learn(TEXTS, min_documents=1)
    assert {"sat on", "on the", "and mat"} <= set(spec.terms)
    assert "mat the" not in spec.terms
    assert "cat dog" not in spec.terms


@pytest.mark.parametrize("ngrams", [1, 2, 3])
def test_terms_and_frequencies_equal_those_counted_one_by_one(ngrams: int) -> None:
    spec = words.learn(TEXTS, ngrams=ngrams, min_documents=1)
    documents = Counter(term for text in TEXTS for term in set(terms_of(text, ngrams)))
    assert set(spec.terms) == set(documents)
    expected = [math.log((1 + len(TEXTS)) / (1 + documents[term])) + 1 for term in spec.terms]
    assert spec.idf == pytest.approx(expected, abs=1e-6)


def terms_of(text: str, ngrams: int) -> list[str]:
    found = words.split(text)
    return [" ".join(found[i : i + n]) for n in range(1, ngrams + 1) for i in range(len(found) - n + 1)]


@pytest.mark.parametrize("hashed", [False, True])
def test_weights_are_sublinear_counts_times_idf_of_unit_length(hashed: bool) -> None:
    spec = words.learn(TEXTS, min_documents=1, hashed=hashed)
    bags = words.bags(spec, TEXTS)
    for number, text in enumerate(TEXTS):
        counts = Counter(words._bucket(term) if hashed else term for term in terms_of(text, 2))
        raw = {
            place: (1 + math.log(counts[term])) * spec.idf[place]
            for term, place in spec.places.items()
            if counts[term]
        }
        norm = math.sqrt(sum(weight**2 for weight in raw.values())) or 1
        assert row(bags, number) == pytest.approx(
            {place: weight / norm for place, weight in raw.items()}, abs=1e-6
        )


@pytest.mark.parametrize("hashed", [False, True])
def test_a_spec_read_back_from_json_gives_the_same_bags(hashed: bool) -> None:
    spec = words.learn(TEXTS, hashed=hashed, column="body")
    again = read_back(spec)
    assert again == spec
    first, second = words.bags(spec, TEXTS), words.bags(again, TEXTS)
    np.testing.assert_array_equal(first.indices, second.indices)
    np.testing.assert_array_equal(first.weights, second.weights)


def test_a_hashed_spec_holds_no_word_of_the_texts() -> None:
    spec = words.learn(TEXTS, hashed=True)
    assert all(isinstance(term, int) and 0 <= term < words.BUCKETS for term in spec.terms)
    assert "cat" not in spec.model_dump_json()


def test_an_empty_text_and_one_of_unknown_words_have_empty_bags() -> None:
    bags = words.bags(words.learn(TEXTS), ["", "quantum flux", "cat"])
    assert len(bags) == 3
    assert bags.indptr.tolist() == [0, 0, 0, 1]
    assert row(bags, 2) == {0: 1.0}


def test_no_texts_give_no_bags() -> None:
    bags = words.bags(words.learn(TEXTS), [])
    assert len(bags) == 0
    assert bags.weights.dtype == np.float32


def test_texts_that_share_no_words_are_refused() -> None:
    with pytest.raises(errors.InvalidDataset, match="share no words"):
        words.learn(["one thing", "another matter"])
    with pytest.raises(errors.InvalidDataset, match="share no words"):
        words.learn(["", "!?"])


def test_long_corpora_are_learnt_from_evenly_spaced_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "CHARACTERS", 40)
    spec = words.learn(["common first"] * 5 + ["common last"] * 5, ngrams=1)
    assert spec.terms == ("common", "first", "last")


def test_chunks_do_not_change_the_bags(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = words.learn(TEXTS)
    whole = words.bags(spec, TEXTS)
    monkeypatch.setattr(words, "CHUNK", 2)
    chunked = words.bags(spec, TEXTS)
    np.testing.assert_array_equal(whole.indptr, chunked.indptr)
    np.testing.assert_array_equal(whole.indices, chunked.indices)
    np.testing.assert_array_equal(whole.weights, chunked.weights)


def test_taking_bags_equals_encoding_the_texts_taken() -> None:
    spec = words.learn(TEXTS)
    order = np.array([4, 1, 1, 3, 0])
    taken = words.bags(spec, TEXTS).take(order)
    direct = words.bags(spec, [TEXTS[number] for number in order])
    np.testing.assert_array_equal(taken.indptr, direct.indptr)
    np.testing.assert_array_equal(taken.indices, direct.indices)
    np.testing.assert_allclose(taken.weights, direct.weights, rtol=1e-6)


def test_the_average_of_word_vectors_is_the_plain_mean_over_known_words() -> None:
    known = ["mat", "cat", "unseen", "the"]
    vectors = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float16)
    spec, table = words.from_vectors(known, vectors, TEXTS)
    assert spec.terms == ("mat", "cat", "the")
    assert table.dtype == np.float32
    bags = words.bags(read_back(spec), TEXTS)
    for number, text in enumerate(TEXTS):
        found = [vectors[known.index(word)].astype(np.float64) for word in words.split(text) if word in known]
        average = sum((weight * table[place] for place, weight in row(bags, number).items()), np.zeros(3))
        np.testing.assert_allclose(average, np.mean(found, axis=0) if found else np.zeros(3), atol=1e-6)


def test_of_a_word_given_twice_the_first_vector_counts() -> None:
    _, table = words.from_vectors(["cat", "cat"], np.array([[1.0], [2.0]]), TEXTS)
    assert table.tolist() == [[1.0]]


def test_word_vectors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(errors.InvalidDataset, match="as many vectors"):
        words.from_vectors(["cat"], np.zeros((2, 3)), TEXTS)
    with pytest.raises(errors.InvalidDataset, match="none of the word vectors"):
        words.from_vectors(["unseen"], np.zeros((1, 3)), TEXTS)
    with pytest.raises(errors.InvalidDataset, match="'cat' holds NaN"):
        words.from_vectors(["mat", "cat"], np.array([[1.0], [np.inf]]), TEXTS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"terms": [], "idf": []},
        {"terms": ["a", "a"], "idf": [1.0, 1.0]},
        {"terms": ["a"], "idf": [1.0, 1.0]},
        {"terms": ["a"]},
        {"terms": ["a"], "idf": [1.0], "weighting": "mean"},
        {"terms": ["a"], "idf": [1.0], "hashed": True},
        {"terms": [2**18], "idf": [1.0], "hashed": True},
        {"terms": ["a"], "idf": [1.0], "unknown": 1},
    ],
)
def test_a_spec_that_contradicts_itself_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(errors.InvalidConfig):
        words.TextEncoding.parse(wrong)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=20), max_size=6), st.booleans())
def test_any_text_gives_bags_of_unit_length_or_none(texts: list[str], hashed: bool) -> None:
    spec = words.learn([*TEXTS, *texts], min_documents=1, hashed=hashed)
    bags = words.bags(spec, texts)
    for number in range(len(texts)):
        weights = np.array(list(row(bags, number).values()))
        assert np.isfinite(weights).all()
        assert len(weights) == 0 or abs(np.linalg.norm(weights) - 1) < 1e-5
