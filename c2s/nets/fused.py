"""Convolution, batch-norm, ReLU and 2x2 max-pool as one layer that touches the full-size map as rarely as it can.

Norm and ReLU are monotone in each channel, so pooling may come first, and both then run on a quarter of the points.
Where gamma is negative the largest normalised value is the smallest raw one: there the kernel's sign is turned, which
costs nothing. In training the convolution's bias moves no output, since the norm takes every mean away again; its
place is taken by minus the running mean, so that the map arrives nearly centred and its variance loses no digits.
"""

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn import functional

CHUNKS = 8  # a temporary of an eighth stays in the cache


class NormReluPool(torch.autograd.Function):
    """(x, gamma, beta, bias, eps) -> (pooled, mean, variance) of the batch; gamma >= 0.

    `bias` is what the map x (b, c, h, w) already holds, and is here to be given its gradient, which is zero: a
    gradient that is missing altogether would stall training on several devices.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx, x: Tensor, gamma: Tensor, beta: Tensor, bias: Tensor, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        wide = _wide(x)
        mean, variance = _moments(wide)
        inverse = torch.rsqrt(variance + eps)  # (c,)
        scale = gamma * inverse
        top, where = functional.max_pool2d_with_indices(wide, [2, 2])  # (b, c, h / 2, w / 2)
        pooled = _affine(top, scale, beta - mean * scale).clamp_min_(0)
        ctx.save_for_backward(wide, top, where, pooled, scale, mean, inverse)
        ctx.mark_non_differentiable(mean, variance)
        return pooled.to(x.dtype), mean, variance

    @staticmethod
    @once_differentiable
    def backward(
        ctx: FunctionCtx, grad: Tensor, _mean: Tensor, _variance: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        wide, top, where, pooled, scale, mean, inverse = ctx.saved_tensors  # type: ignore[attr-defined]
        points = wide.numel() // wide.shape[1]
        g = torch.ops.aten.threshold_backward(_wide(grad), pooled, 0)  # zero where the ReLU was off
        d_beta = _channel_sums(_rows(g), len(scale))
        d_gamma = inverse * (_channel_sums(_rows(g) * _rows(top), len(scale)) - mean * d_beta)
        # dx = scale (g at its place - d_beta / n - xhat d_gamma / n), which is scattered g plus slope x + level
        slope = -scale * inverse * d_gamma / points
        level = -scale * d_beta / points - slope * mean
        _rows(g).mul_(_tiled(scale, g))
        dx = torch.ops.aten.max_pool2d_with_indices_backward(
            g, wide, [2, 2], [2, 2], [0, 0], [1, 1], False, where
        )
        _rows(dx).addcmul_(_rows(wide), _tiled(slope, wide)).add_(_tiled(level, wide))
        return dx.to(grad.dtype), d_gamma, d_beta, torch.zeros_like(scale), None


class ConvNormPool(nn.Module):
    """5x5 convolution that keeps the size, batch-norm, ReLU, 2x2 max-pool: (b, c, h, w) -> (b, c', h / 2, w / 2)."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, 5, padding=2)
        self.norm = nn.BatchNorm2d(after)

    def forward(self, x: Tensor) -> Tensor:
        return self._train(x) if self.norm.training else self._evaluate(x)

    def _train(self, x: Tensor) -> Tensor:
        norm, bias = self.norm, _given(self.conv.bias)
        running = _given(norm.running_mean)
        sign = torch.where(norm.weight.detach() < 0, -1.0, 1.0).to(norm.weight.dtype)  # (c,)
        shift = (bias.detach() - running) * sign
        raw = functional.conv2d(x, self.conv.weight * sign[:, None, None, None], shift, padding=2)
        pooled, mean, variance = NormReluPool.apply(raw, norm.weight * sign, norm.bias, bias, norm.eps)
        with torch.no_grad():
            self._remember(mean * sign, variance, points=raw.numel() // raw.shape[1])
        return pooled  # type: ignore[no-any-return]

    def _remember(self, offset: Tensor, variance: Tensor, *, points: int) -> None:
        """Move the running statistics as `BatchNorm2d` does; `offset` is the batch's mean less the running one."""
        momentum = self.norm.momentum or 0.0
        unbiased = variance * (points / max(1, points - 1))
        _given(self.norm.running_mean).add_(offset, alpha=momentum)
        _given(self.norm.running_var).lerp_(unbiased, momentum)
        _given(self.norm.num_batches_tracked).add_(1)

    def _evaluate(self, x: Tensor) -> Tensor:
        """The norm is a fixed affine map and moves into the kernel."""
        norm = self.norm
        scale = norm.weight * torch.rsqrt(_given(norm.running_var) + norm.eps)  # (c,)
        bias = (_given(self.conv.bias) - _given(norm.running_mean)) * scale + norm.bias
        raw = functional.conv2d(x, self.conv.weight * scale[:, None, None, None], bias, padding=2)
        return functional.relu(functional.max_pool2d(raw, 2))


def _wide(x: Tensor) -> Tensor:
    """Channels last, and at least float32."""
    dtype = torch.promote_types(x.dtype, torch.float32)
    return x.to(dtype).contiguous(memory_format=torch.channels_last)


def _rows(x: Tensor) -> Tensor:
    """(b, c, h, w) with channels last -> (b h, w c): rows long enough to keep a vector unit busy."""
    batch, channels, height, width = x.shape
    return x.permute(0, 2, 3, 1).view(batch * height, width * channels)


def _tiled(per_channel: Tensor, x: Tensor) -> Tensor:
    return per_channel.repeat(x.shape[3])  # (c,) -> (w c,), beside the rows of x


def _channel_sums(rows: Tensor, channels: int) -> Tensor:
    return rows.sum(0).view(-1, channels).sum(0)  # (w c,) -> (c,)


def _moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and biased variance of each channel."""
    channels = x.shape[1]
    points = x.numel() // channels
    squares = [part.square().sum(0) for part in _rows(x).chunk(CHUNKS)]
    mean = _channel_sums(_rows(x), channels) / points
    variance = _channel_sums(torch.stack(squares), channels) / points - mean.square()
    return mean, variance.clamp_min_(0)


def _affine(x: Tensor, slope: Tensor, level: Tensor) -> Tensor:
    batch, channels, height, width = x.shape
    rows = torch.addcmul(_tiled(level, x), _rows(x), _tiled(slope, x))
    return rows.view(batch, height, width, channels).permute(0, 3, 1, 2)


def _given(tensor: Tensor | None) -> Tensor:
    assert tensor is not None  # noqa: S101 # nosec B101 # these layers are built with bias and statistics
    return tensor
