"""Training throughput of the LeNet on MNIST-sized images: our loop against a plain DataLoader(num_workers=0) loop.

Same net (the paper's LeNet variant), batch 128, Adam, same process, same threads. The plain loop is what one writes
first: float images in a TensorDataset, a shuffling DataLoader, the net in its default memory layout with stock layers.
"""

import numpy as np
import torch
from interleave import ratios
from throughput_net import stock
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from c2s import config
from c2s.learning import batches, training
from c2s.methods.ce import CrossEntropy
from c2s.methods.matrices import Fixed
from c2s.nets import choice
from c2s.shape import Shape

ROWS, ROUNDS = 2560, 15  # short turns: what else the machine does hits both loops alike
RNG = np.random.default_rng(0)
X = RNG.integers(0, 256, (ROWS, 28, 28), dtype=np.uint8)
Y = RNG.integers(0, 10, ROWS)


def plain() -> object:
    images = (torch.from_numpy(X)[:, None].float() / 255 - 0.1307) / 0.3081
    loader = DataLoader(
        TensorDataset(images, torch.from_numpy(Y)), batch_size=128, shuffle=True, num_workers=0
    )
    net = stock().train()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)

    def epoch() -> None:
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()

    return epoch


def ours(ema: float | None) -> object:
    stage = config.Stage(epochs=1, batch_size=128, ema=ema)
    phase = training.Phase("stage1", stage, CrossEntropy(), Y, np.arange(ROWS), np.arange(2), Y, 1)
    source = batches.Source(X, torch.device("cpu"))
    net = choice.build(config.LeNet(), Shape(kind="image", classes=10, image=(28, 28, 1)))

    def epoch() -> None:
        training.fit(net, source, phase, T=Fixed(np.eye(10)))

    return epoch


if __name__ == "__main__":
    print(
        f"images per second, ours / plain DataLoader loop, LeNet, B = 128, median of {ROUNDS} interleaved rounds"
    )
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for name, ema in (("without EMA", None), ("with EMA", 0.995)):
            ratio, slow, fast = ratios(plain(), ours(ema), rounds=ROUNDS)
            print(
                f"  {threads} thread(s)  {name:<12} {ratio:.2f}x   ({ROWS / fast:.0f} / {ROWS / slow:.0f} images/s)"
            )
