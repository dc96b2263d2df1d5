"""One picture becomes pixels, or a sentence that says why not."""

import io

import numpy as np
import pytest
from PIL import Image

from c2s import errors
from c2s.reading import pictures


def saved(pixels, form="PNG", **options):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, form, **options)
    return file.getvalue()


def test_a_png_in_its_own_size_keeps_its_pixels():
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    np.testing.assert_array_equal(pictures.decode(saved(pixels), 5, 7, 3), pixels)
    assert pictures.measure(saved(pixels)) == (5, 7, 3)


def test_pictures_are_resized_and_made_grey_or_coloured():
    grey = np.full((40, 30), 77, np.uint8)
    assert (pictures.decode(saved(grey), 8, 6, 3) == 77).all()
    assert pictures.decode(saved(grey, "JPEG"), 8, 6, 1).shape == (8, 6, 1)
    assert pictures.measure(saved(grey)) == (40, 30, 1)


def test_sixteen_bits_are_scaled_and_not_cut_off():
    wide = np.full((4, 4), 0x8000, np.uint16)
    assert (pictures.decode(saved(wide), 4, 4, 1) == 0x80).all()


def test_palettes_with_transparency_are_read():
    image = Image.fromarray(np.full((4, 4, 3), 200, np.uint8)).convert("P")
    file = io.BytesIO()
    image.save(file, "PNG", transparency=bytes(range(256)))
    assert (pictures.decode(file.getvalue(), 4, 4, 3) == 204).all()  # the nearest of the palette


@pytest.mark.parametrize("form", ["GIF", "BMP", "TIFF", "WEBP"])
def test_other_formats_are_refused(form):
    with pytest.raises(errors.InvalidDataset, match="no PNG or JPEG"):
        pictures.decode(saved(np.zeros((4, 4, 3), np.uint8), form), 4, 4, 3)


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_a_picture_that_is_cut_off_is_refused(form):
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    whole = saved(pixels, form)
    for length in (0, 10, 60, len(whole) // 2):
        with pytest.raises(errors.InvalidDataset, match="cannot be read"):
            pictures.decode(whole[:length], 8, 8, 3)


def test_too_many_pixels_are_refused_before_they_are_unpacked():
    for side in (5000, 10_000, 14_000):
        large = saved(np.zeros((side, side), np.uint8))
        with pytest.raises(pictures.TooLarge):
            pictures.decode(large, 8, 8, 1)


def test_two_channels_are_refused():
    with pytest.raises(errors.InvalidDataset, match="1 or 3 channels"):
        pictures.decode(saved(np.zeros((4, 4), np.uint8)), 4, 4, 2)
