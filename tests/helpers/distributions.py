# SPDX-License-Identifier: Apache-2.0
"""Whether two samples come from one distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
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


def fits(counts: Sequence[int] | np.ndarray, shares: Sequence[float] | np.ndarray) -> bool:
    """Tells whether counts of cells pass Pearson's chi-square test against their probabilities.

    Args:
        counts: how often each cell was seen.
        shares: how likely each is, up to a common factor.

    The bound is passed in all but one of 1000 seeds, by the approximation of Wilson and Hilferty.
    """
    seen, expected = np.asarray(counts, float).ravel(), np.asarray(shares, float).ravel()
    expected = expected / expected.sum() * seen.sum()
    if (seen[expected == 0] != 0).any():
        return False
    seen, expected = seen[expected > 0], expected[expected > 0]
    return _is_small(float(((seen - expected) ** 2 / expected).sum()), len(seen) - 1)


def same_counts(ours: Any, theirs: Any) -> bool:
    """Tells whether two samples of labels pass the chi-square test of homogeneity; see fits()."""
    labels, where = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    table = np.stack(
        [
            np.bincount(part, minlength=len(labels))
            for part in (where[: len(ours)], where[len(ours) :])
        ]
    )
    rare = table.sum(0) < 10
    table = np.concatenate([table[:, ~rare], table[:, rare].sum(1, keepdims=True)], axis=1)
    table = table[:, table.sum(0) > 0]
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
    return _is_small(float(((table - expected) ** 2 / expected).sum()), table.shape[1] - 1)


def _is_small(chi_square: float, degrees: int) -> bool:
    if degrees == 0:
        return True
    spread = 2 / (9 * degrees)
    return (chi_square / degrees) ** (1 / 3) < 1 - spread + 3.09 * math.sqrt(spread)
