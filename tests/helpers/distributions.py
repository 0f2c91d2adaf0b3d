# SPDX-License-Identifier: Apache-2.0
"""Whether two samples come from one distribution."""

from __future__ import annotations

import math

import torch


def same_distribution(ours: torch.Tensor, theirs: torch.Tensor) -> bool:
    """Tells whether two samples of numbers pass the two-sample test of Kolmogorov and Smirnov.

    The bound, 1.95 * sqrt((n + m) / (n * m)), is passed by equal distributions in all but one of
    1000 seeds; where values repeat in even fewer.
    """
    a, b = ours.double().flatten().sort().values, theirs.double().flatten().sort().values
    at = torch.cat([a, b])
    below_a = torch.searchsorted(a, at, right=True) / len(a)
    below_b = torch.searchsorted(b, at, right=True) / len(b)
    distance = (below_a - below_b).abs().max().item()
    return distance < 1.95 * math.sqrt((len(a) + len(b)) / (len(a) * len(b)))
