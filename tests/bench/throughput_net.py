"""A whole training step of the paper's LeNet at B = 128: our fused layers against the same net in stock layers.

Rows: the stock net in torch's default layout, the same with channels last, ours. Adam is torch's fused one in all of
them; the last line shows what that is worth by itself.
"""

from collections.abc import Callable

import torch
from interleave import ratios
from torch import Tensor, nn

from c2s.nets import lenet

ROUNDS, STEPS = 25, 3


def stock() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 20, 5, padding=2), nn.BatchNorm2d(20), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5, padding=2), nn.BatchNorm2d(50), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(2450, 500), nn.BatchNorm1d(500), nn.Linear(500, 10),
    )  # fmt: skip


def ours() -> nn.Module:
    return lenet.LeNet((28, 28, 1), 10)


def stepper(net: nn.Module, layout: torch.memory_format, *, fused: bool = True) -> Callable[[], None]:
    torch.manual_seed(0)
    net = net.to(memory_format=layout).train()
    x: Tensor = torch.randn(128, 1, 28, 28).to(memory_format=layout)
    y = torch.randint(0, 10, (128,))
    optimizer = torch.optim.Adam(net.parameters(), fused=fused)

    def steps() -> None:
        for _ in range(STEPS):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()

    return steps


if __name__ == "__main__":
    print(f"LeNet training step, B = 128, median of {ROUNDS} interleaved rounds of {STEPS} steps")
    plain, last = torch.contiguous_format, torch.channels_last
    cases = {
        "stock / stock channels last": (lambda: stepper(stock(), plain), lambda: stepper(stock(), last)),
        "stock / ours": (lambda: stepper(stock(), plain), lambda: stepper(ours(), last)),
        "stock channels last / ours": (lambda: stepper(stock(), last), lambda: stepper(ours(), last)),
        "ours, plain / fused Adam": (
            lambda: stepper(ours(), last, fused=False),
            lambda: stepper(ours(), last),
        ),
    }
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for name, (slow, fast) in cases.items():
            ratio, before, after = ratios(slow(), fast(), rounds=ROUNDS)
            times = f"{1e3 * before / STEPS:.1f} ms / {1e3 * after / STEPS:.1f} ms"
            print(f"  {threads} thread(s)  {name:<28} {ratio:.2f}x   ({times})")
