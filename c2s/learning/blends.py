"""One net of several: the weights of nets that began alike are averaged, and their batch norms measured anew.

Nets that went on from the same weights lie in one valley of the loss, so the mean of their weights answers about as the
mean of their answers would (Wortsman et al. 2022), at the cost of one net.
"""

import copy
import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from c2s.learning import batches

BATCH, MOST = 500, 40  # rows of a batch, and batches: a mean and a variance need no more


def blend(nets: Sequence[nn.Module], shares: Sequence[float]) -> nn.Module:
    """A new net with the mean of the nets' weights by their shares, which sum to one."""
    states = [net.state_dict() for net in nets]
    made = copy.deepcopy(nets[0])
    made.load_state_dict({name: _mean([state[name] for state in states], shares) for name in states[0]})
    return made


def _mean(parts: Sequence[Tensor], shares: Sequence[float]) -> Tensor:
    """The weighted mean; of counters the first, as they have none."""
    if not parts[0].is_floating_point():
        return parts[0]
    return torch.stack([share * part for share, part in zip(shares, parts, strict=True)]).sum(0)


@torch.no_grad()
def measure_norms(net: nn.Module, source: batches.Source, rows: Tensor, draws: torch.Generator) -> None:
    """Give each batch norm the mean and variance that the rows have there; nothing else trains or draws."""
    net.eval()
    norms = [part for part in net.modules() if isinstance(part, _BatchNorm)]
    usual = [norm.momentum for norm in norms]
    for number, batch in enumerate(itertools.islice(batches.shuffled(rows, BATCH, draws), MOST)):
        for norm in norms:
            norm.train()
            norm.momentum = 1 / (number + 1)  # the mean of all batches so far
        net(source.gather(batch))
    for norm, momentum in zip(norms, usual, strict=True):
        norm.eval()
        norm.momentum = momentum
