"""The pair loss against pairs written out as B^2 x c rows: time of forward and backward, and peak memory of one step.

Times are medians of interleaved ratios; memory is the growth of the resident peak over one step in a fresh process.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from interleave import ratios
from torch import Tensor

from c2s.methods import losses

SIZES = [(128, 10), (512, 10), (1000, 10), (1000, 100)]  # (B, c)
STEPS = {128: 20, 512: 2}  # a turn, where one step is too short to time
ROUNDS = {10: 15, 100: 3}  # by c
T11, T01 = 0.505, 0.055  # pair flips at rate 0.45, ten classes
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def enumerated(logits: Tensor, y: Tensor) -> Tensor:
    """The paper's cross-entropy of similarity labels, every pair of rows copied out."""
    B = len(y)
    probs = logits.softmax(1)
    left, right = probs.repeat_interleave(B, 0), probs.repeat(B, 1)  # (B^2, c)
    H = (y.repeat_interleave(B) == y.repeat(B)).to(probs.dtype)  # (B^2,)
    S = (left * right).sum(1)
    S_noisy = T11 * S + T01 * (1 - S)
    return -(H * (S_noisy + 1e-12).log() + (1 - H) * (1 - S_noisy + 1e-12).log()).mean()


LOSSES: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "enumerated": lambda z, y, M: enumerated(z, y),
    "forward_pairs": losses.forward_pairs,
    "reweight_pairs": lambda z, y, M: losses.reweight_pairs(z, y, M, max_weight=10.0),
    "mcl": lambda z, y, M: losses.mcl(z, y),
}


def stepper(name: str, B: int, c: int) -> Callable[[], None]:
    rng = torch.Generator().manual_seed(0)
    logits = torch.randn(B, c, generator=rng).requires_grad_()
    y = torch.randint(c, (B,), generator=rng)
    M = torch.full((c, c), T01).fill_diagonal_(T11)

    def step() -> None:
        for _ in range(STEPS.get(B, 1)):
            logits.grad = None
            LOSSES[name](logits, y, M).backward()

    return step


def resident(field: str) -> float:
    """Megabytes of a line of the process status."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def growth(name: str, B: int, c: int) -> float:
    """Megabytes by which one step raises the resident peak of this process."""
    stepper(name, 4, 3)()  # loads what the first step of any size loads
    step = stepper(name, B, c)
    CLEAR.write_text("5")  # the peak starts again from here
    before = resident("VmRSS")
    step()
    return resident("VmHWM") - before


def memory(name: str, B: int, c: int) -> float:
    command = [sys.executable, __file__, name, str(B), str(c)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def compare(name: str, B: int, c: int) -> None:
    """Print one row: how many times faster than the enumerated form the loss `name` is."""
    ratio, slow, fast = ratios(stepper("enumerated", B, c), stepper(name, B, c), rounds=ROUNDS[c])
    slow, fast = (1e3 * seconds / STEPS.get(B, 1) for seconds in (slow, fast))
    print(
        f"{torch.get_num_threads():>7}{B:>6}{c:>5}  {name:<15}{ratio:>7.1f}x{slow:>10.2f} ms{fast:>8.2f} ms"
    )


def main() -> None:
    print("peak memory of one step     B    c    enumerated        ours")
    for B, c in SIZES[2:]:
        many, few = memory("enumerated", B, c), memory("forward_pairs", B, c)
        print(f"{'':24}{B:>5}{c:>5}{many:>11.0f} MB{few:>9.1f} MB   {many / few:.0f}x less")
    print(f"\nthreads     B    c  {'loss':<15}{'faster':>8}   enumerated       ours")
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for B, c in SIZES:
            compare("forward_pairs", B, c)
    torch.set_num_threads(1)
    for name in ("reweight_pairs", "mcl"):
        for B, c in SIZES[:3]:
            compare(name, B, c)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        torch.set_num_threads(1)
        print(growth(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
    else:
        main()
