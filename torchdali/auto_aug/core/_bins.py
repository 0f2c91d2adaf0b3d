# SPDX-License-Identifier: Apache-2.0
"""Magnitudes are drawn as numbers of bins, some of them with a sign."""

from __future__ import annotations

from collections.abc import Sequence

from torchdali import fn, types
from torchdali._common.location import find_user_location
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["SignedBin", "seed_of", "signed_bin"]

_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: neighboring seeds become distant


def seed_of(seed: int | None, draw: int) -> int | None:
    """Returns the seed of one of the draws of an augmentation, None if the pipeline chooses.

    Operators with the same seed draw the same values: with one seed for all draws, an operation
    would always come with the same magnitude and sign.
    """
    return None if seed is None else (seed + draw * _GOLDEN) % (1 << 63)


class SignedBin:
    """A magnitude bin, and whether the magnitude is negated; see signed_bin().

    Attributes:
        bin: number of the bin.
        random_sign: 1 where the magnitude is negated, else 0.
        signed_magnitude_idx: ``2 * bin + random_sign``.
    """

    def __init__(
        self, magnitude_bin: int | DataNode, random_sign: DataNode, index: DataNode
    ) -> None:
        self.bin = magnitude_bin
        self.random_sign = random_sign
        self.signed_magnitude_idx = index

    def __getitem__(self, index: int) -> SignedBin:
        """Returns one of several bins that were signed together."""
        own = self.bin if isinstance(self.bin, int) else self.bin[index]
        return SignedBin(own, self.random_sign[index], self.signed_magnitude_idx[index])


def signed_bin(
    magnitude_bin: int | DataNode,
    random_sign: DataNode | None = None,
    seed: int | None = None,
    shape: Sequence[int] | None = None,
) -> SignedBin:
    """Adds a random sign to magnitude bins.

    Args:
        magnitude_bin: 0 to ``num_magnitude_bins - 1``, for all samples or one for each.
        random_sign: 0 or 1 for each sample, 1 where the magnitude is negated; drawn by default.
        seed: of that draw.
        shape: of that draw, if there are several bins for a sample.

    Returns:
        What an augmentation takes as its `magnitude_bin`.

    Raises:
        ArgumentTypeError: `magnitude_bin` is no int and no DataNode.
        ArgumentError: `random_sign` is given together with `seed` or `shape`.
    """
    if not isinstance(magnitude_bin, (int, DataNode)):
        raise _make(
            ArgumentTypeError,
            f"`magnitude_bin` takes an int or a DataNode of ints, got {magnitude_bin!r}",
            operator="signed_bin",
            location=find_user_location(),
        )
    if random_sign is None:
        random_sign = fn.random.uniform(values=[0, 1], dtype=types.INT32, seed=seed, shape=shape)
    elif seed is not None or shape is not None:
        raise _make(
            ArgumentError,
            "`random_sign` replaces the draw, so `seed` and `shape` have no effect",
            operator="signed_bin",
            location=find_user_location(),
        )
    return SignedBin(magnitude_bin, random_sign, magnitude_bin * 2 + random_sign)
