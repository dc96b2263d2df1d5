"""Which numbers a step's products are computed with: float32, or bfloat16 where the device has units for it.

A processor may advertise these units and kill whoever uses them (a virtual machine that traps them does), so a child
tries them first. Without such units bfloat16 is slower than float32, and is not used.
"""

import functools
import subprocess
import sys

import torch
from torch import nn

TRIAL_SECONDS = 120.0  # torch alone takes a second or two to load
UNITS = ("amx_bf16", "avx512_bf16")  # tiles, and dot products of wide registers, as torch calls them


def halves(wanted: str, device: torch.device) -> bool:
    """Whether products are to be computed in bfloat16 there."""
    return wanted == "bfloat16" and (device.type == "cuda" or (device.type == "cpu" and _processor_can()))


@functools.cache
def _processor_can() -> bool:
    """Whether this processor has the units, and a process that uses them lives."""
    known = torch.cpu.get_capabilities()
    return any(known.get(unit) for unit in UNITS) and survived([sys.executable, "-P", __file__])


def survived(command: list[str]) -> bool:
    """Whether a process of ours ends well, and in time."""
    try:
        done = subprocess.run(  # noqa: S603 # nosec B603 # our own interpreter and module
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TRIAL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def attempt() -> None:
    """One step, there and back, of what nets are made of."""
    net = nn.Sequential(nn.Conv2d(3, 16, 5, padding=2), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 64, 32))
    x = torch.rand(32, 3, 8, 8).to(memory_format=torch.channels_last).requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        out = net(x)
    out.float().square().mean().backward()
    for parameter in net.parameters():
        if parameter.grad is None or not parameter.grad.isfinite().all():
            raise SystemExit(1)


if __name__ == "__main__":
    attempt()
