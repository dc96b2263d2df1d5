"""One stage-2 step of the LeNet at B = 128 against a cross-entropy step: pairs nearly free, two nets twice."""

import numpy as np
import torch
from interleave import ratios

from c2s import config
from c2s.learning import batches, step
from c2s.learning.phase import Phase
from c2s.learning.trainee import Trainee
from c2s.matrix import noise
from c2s.methods import choice
from c2s.methods.droprates import Moment
from c2s.methods.method import Evidence
from c2s.nets import choice as nets
from c2s.nets.twins import Twins
from c2s.shape import Shape

ROWS, STEPS, ROUNDS = 2048, 8, 25
TWO_NETS = ("co-teaching", "jocor")


def stepper(name: str) -> object:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (ROWS, 28, 28), dtype=np.uint8)
    y = rng.integers(0, 10, ROWS)
    method = choice.build(config.TrainConfig.parse({"method": name}).method)
    evidence = Evidence(y, noise.symmetric(10, 0.4), np.full(10, 0.1), np.zeros(ROWS, bool))
    stage = config.Stage(epochs=1, batch_size=128)
    phase = Phase("stage2", stage, method, y, np.arange(ROWS), np.arange(2), y, 1)
    torch.manual_seed(0)
    shape = Shape(kind="image", classes=10, image=(28, 28, 1))
    net: torch.nn.Module = nets.build(config.LeNet(), shape)
    if name in TWO_NETS:
        net = Twins(net, nets.build(config.LeNet(), shape))
    net = net.to(memory_format=torch.channels_last).train()
    trainee = Trainee(net, method.transition(evidence), stage)
    source = batches.Source(x, torch.device("cpu"))
    targets = torch.from_numpy(y)
    at = step.Place(Moment(0, 1), 0, torch.Generator().manual_seed(0))

    def steps() -> None:
        for number in range(STEPS):
            rows = torch.arange(number * 128, (number + 1) * 128)
            step.take(trainee, source, rows, targets=targets, phase=phase, at=at)

    return steps


if __name__ == "__main__":
    print(
        f"stage-2 step / cross-entropy step, LeNet, B = 128, median of {ROUNDS} interleaved rounds of {STEPS} steps"
    )
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for name in ("f-class2simi", "r-class2simi", "phuber-ce", "apl", *TWO_NETS):
            ratio, pair, ce = ratios(stepper(name), stepper("ce"), rounds=ROUNDS)
            times = f"({1e3 * pair / STEPS:.1f} ms / {1e3 * ce / STEPS:.1f} ms)"
            print(f"  {threads} thread(s)  {name:<14} {ratio:.3f}x   {times}")
