import numpy as np
import pytest
import torch

from c2s.nets import inputs


@pytest.mark.parametrize("channels", [1, 3])
def test_pixels_are_brought_to_mean_zero_and_deviation_one(channels):
    rng = np.random.default_rng(0)
    x = (
        (rng.normal(0, 30, (200, 6, 5, channels)) + 40 * np.arange(1, channels + 1))
        .clip(0, 255)
        .astype(np.uint8)
    )
    pixels = inputs.Pixels(channels)
    pixels.measure(x)
    out = pixels(torch.from_numpy(x))
    assert out.shape == (200, channels, 6, 5)
    assert out.dtype == torch.float32
    assert out.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(out.mean((0, 2, 3)), torch.zeros(channels), atol=1e-5, rtol=0)
    torch.testing.assert_close(out.std((0, 2, 3), correction=0), torch.ones(channels), atol=1e-5, rtol=0)


def test_pixels_use_the_published_numbers_on_the_scale_of_one():
    pixels = inputs.Pixels(1)
    pixels.mean.fill_(0.1307)
    pixels.std.fill_(0.3081)
    x = torch.tensor([[[0, 255], [51, 102]]], dtype=torch.uint8)
    expected = (torch.tensor([[[[0, 1], [0.2, 0.4]]]]) - 0.1307) / 0.3081
    torch.testing.assert_close(pixels(x), expected)
    torch.testing.assert_close(pixels(x.float() / 255), expected)  # floats are on that scale already


def test_grey_images_need_no_channel_axis():
    x = np.random.default_rng(0).integers(0, 256, (9, 4, 4), dtype=np.uint8)
    flat, deep = inputs.Pixels(1), inputs.Pixels(1)
    flat.measure(x)
    deep.measure(x[..., None])
    assert torch.equal(flat(torch.from_numpy(x)), deep(torch.from_numpy(x[..., None])))


def test_float_images_are_measured_on_their_own_scale():
    x = np.random.default_rng(0).random((50, 4, 4, 2)).astype(np.float32)
    pixels = inputs.Pixels(2)
    pixels.measure(x)
    np.testing.assert_allclose(pixels.mean.numpy(), x.mean((0, 1, 2)), rtol=1e-5)


def test_vectors_are_scaled_by_column():
    x = np.random.default_rng(0).normal([0, 5], [1, 100], (500, 2)).astype(np.float32)
    scale = inputs.Scale(2)
    scale.measure(x)
    out = scale(torch.from_numpy(x))
    torch.testing.assert_close(out.mean(0), torch.zeros(2), atol=1e-5, rtol=0)
    torch.testing.assert_close(out.std(0, correction=0), torch.ones(2), atol=1e-5, rtol=0)


def test_a_constant_column_becomes_zero():
    x = np.full((30, 2), [0.1, 1e6], dtype=np.float32)
    scale = inputs.Scale(2)
    scale.measure(x)
    assert scale.std.tolist() == [1.0, 1.0]
    torch.testing.assert_close(scale(torch.from_numpy(x)), torch.zeros(30, 2), atol=1e-6, rtol=0)


def test_a_spread_that_float32_cannot_divide_by_is_none():
    x = np.zeros((30, 1), dtype=np.float32)
    x[5] = 1e-45
    scale = inputs.Scale(1)
    scale.measure(x)
    assert torch.isfinite(scale(torch.from_numpy(x))).all()


@pytest.mark.parametrize("chunk", [1, 7, 10**6])
def test_the_first_row_out_of_reach_is_named(monkeypatch, chunk):
    monkeypatch.setattr(inputs, "CHUNK", chunk)
    x = np.random.default_rng(0).normal(0, 0.01, (40, 3)).astype(np.float32)
    assert inputs.stray(x, np.arange(30)) is None
    x[[33, 35], 1] = 3e38
    assert inputs.stray(x, np.arange(30)) == (33, 1)
    assert inputs.stray(x, np.arange(40)) is None  # one of those that say what is far


def test_a_small_spread_about_a_large_mean_is_seen():
    x = np.random.default_rng(0).normal(1e6, 5, (10_000, 1))
    mean, std = inputs.moments(x)
    np.testing.assert_allclose([mean[0], std[0]], [x.mean(), x.std()], rtol=1e-12)


@pytest.mark.parametrize("chunk", [1, 7, 64, 10**6])
def test_the_size_of_a_chunk_does_not_change_the_moments(monkeypatch, chunk):
    monkeypatch.setattr(inputs, "CHUNK", chunk)
    x = np.random.default_rng(0).normal(2, 3, (40, 5))
    mean, std = inputs.moments(x)
    np.testing.assert_allclose(mean, x.mean(0))
    np.testing.assert_allclose(std, x.std(0))


def test_moments_are_those_of_the_given_rows_of_a_memory_map(tmp_path):
    x = np.random.default_rng(0).integers(0, 256, (60, 3, 3, 2), dtype=np.uint8)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r", allow_pickle=False)
    rows = np.array([3, 1, 50])
    mean, std = inputs.moments(mapped, rows, unit=255)
    np.testing.assert_allclose(mean, x[rows].mean((0, 1, 2)) / 255)
    np.testing.assert_allclose(std, x[rows].std((0, 1, 2)) / 255)


def test_scales_travel_in_the_weights():
    assert set(inputs.Pixels(3).state_dict()) == {"mean", "std"}
    assert set(inputs.Scale(3).state_dict()) == {"mean", "std"}
