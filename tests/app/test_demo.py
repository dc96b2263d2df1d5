"""The demo's own parts; the whole of it is run by `make demo` and by the tests of the service."""

import io

import numpy as np

from app.commands import demo
from c2s.client import sources


def test_the_digits_are_real_images():
    images, truth = demo.digits()
    assert images.shape == (1797, 8, 8)
    assert images.max() == 255
    assert np.bincount(truth).min() > 170


def test_the_upload_is_a_plain_npz_file():
    images, truth = demo.digits()
    with np.load(io.BytesIO(sources.arrays(images, truth)), allow_pickle=False) as file:
        assert (file["x"] == images).all()
        assert (file["y"] == truth).all()
