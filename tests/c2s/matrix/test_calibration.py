"""A temperature fitted through T: it finds what the posterior was sharpened by, from noisy labels alone."""

import numpy as np
import pytest

from c2s import streams
from c2s.matrix import calibration, noise

CLASSES, ROWS = 6, 20_000


def world(T_c, sharpened, rows=ROWS, seed=0):
    """A posterior `sharpened` times too sure, clean labels drawn from the honest one, and noisy ones."""
    rng = np.random.default_rng(seed)
    honest = rng.dirichlet(np.full(CLASSES, 0.3), rows)
    clean = (honest.cumsum(1) > rng.random((rows, 1))).argmax(1)
    noisy = noise.corrupt(clean, T_c, rng=streams.numpy(seed, "n"))
    return calibration.tempered(honest, 1 / sharpened), clean, noisy


@pytest.mark.parametrize("T_c", [noise.symmetric(CLASSES, 0.4), noise.pair_flip(CLASSES, 0.3)])
@pytest.mark.parametrize("sharpened", [0.5, 1.0, 3.0])
def test_noisy_labels_reveal_how_much_too_sure_the_posterior_is(T_c, sharpened):
    f, clean, noisy = world(T_c, sharpened)
    found = calibration.fit(f, noisy, T_c)
    assert found.temperature == pytest.approx(sharpened, rel=0.1)
    after = calibration.tempered(f, found.temperature)
    assert calibration.error(after, after.argmax(1) == clean) < 0.02
    assert found.nll[1] <= found.nll[0]


def test_the_error_estimated_through_the_noise_is_that_of_the_clean_labels():
    T_c = noise.symmetric(CLASSES, 0.4)
    f, clean, noisy = world(T_c, 3.0)
    found = calibration.fit(f, noisy, T_c)
    assert found.ece[0] == pytest.approx(calibration.error(f, f.argmax(1) == clean), abs=0.03)
    assert found.ece[1] < 0.3 * found.ece[0]


def test_taking_noisy_labels_at_their_word_would_make_the_classifier_too_unsure():
    T_c = noise.symmetric(CLASSES, 0.4)
    f, clean, noisy = world(T_c, 1.0)
    naive = calibration.tempered(f, calibration.fit(f, noisy, np.eye(CLASSES)).temperature)
    assert calibration.error(naive, naive.argmax(1) == clean) > 0.1


def test_a_gain_that_may_be_chance_changes_nothing():
    T_c = noise.symmetric(CLASSES, 0.4)
    f, _, noisy = world(T_c, 1.1, rows=40)
    found = calibration.fit(f, noisy, T_c)
    assert found.temperature == 1
    assert found.nll[0] == found.nll[1]
    assert found.ece[0] == found.ece[1]


def test_few_rows_that_agree_do_not_make_a_classifier_certain():
    clean = np.arange(60) % 3
    f = np.full((60, 3), 0.05) + np.eye(3)[clean] * 0.85
    T_c = noise.symmetric(3, 0.2)
    noisy = np.where(
        np.arange(60) % 5 == 0, (clean + 1) % 3, clean
    )  # a fifth, as T_c says: no row speaks against f
    found = calibration.fit(f, noisy, T_c)
    assert calibration.tempered(f, found.temperature).max() < 0.999


@pytest.mark.parametrize("rows", [0, 1])
def test_next_to_no_rows_give_no_temperature(rows):
    f = np.full((rows, 2), 0.5)
    assert calibration.fit(f, np.zeros(rows, dtype=np.int64), np.eye(2)).temperature == 1


def test_a_posterior_of_zeros_and_ones_stays_finite():
    f, y = np.eye(3)[[0, 1, 2, 0] * 50], np.array([0, 1, 2, 1] * 50)
    found = calibration.fit(f, y, np.eye(3))
    assert np.isfinite([found.temperature, *found.nll, *found.ece]).all()
    assert found.temperature > 1  # a quarter of the labels say otherwise
