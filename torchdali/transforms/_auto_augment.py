# SPDX-License-Identifier: Apache-2.0
"""Policies of augmentations: AutoAugment, RandAugment, TrivialAugmentWide, AugMix.

Source: arXiv 1805.09501, 1909.13719, 2103.10158 and 1912.02781; the documentation and the results
of torchvision 0.29, whose lists of operations and magnitudes these are.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from torchdali import fn, math, types
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, _make
from torchdali.transforms._auto_augment_policies import POLICIES
from torchdali.transforms._operations import (
    Fill,
    Operation,
    augment,
    image_only,
    linear_or_nearest,
)
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import Transform

__all__ = ["AugMix", "AutoAugment", "RandAugment", "TrivialAugmentWide"]

_FACTORS = ("BRIGHTNESS", "COLOR", "CONTRAST", "SHARPNESS")
# The largest magnitudes: of AutoAugment and RandAugment, and of TrivialAugmentWide.
_USUAL: dict[str, float] = {
    "SHEAR_X": 0.3,
    "SHEAR_Y": 0.3,
    "TRANSLATE_X_PART": 150.0 / 331.0,
    "TRANSLATE_Y_PART": 150.0 / 331.0,
    "ROTATE": 30.0,
    **dict.fromkeys(_FACTORS, 0.9),
}
_WIDE: dict[str, float] = {
    "SHEAR_X": 0.99,
    "SHEAR_Y": 0.99,
    "TRANSLATE_X": 32.0,
    "TRANSLATE_Y": 32.0,
    "ROTATE": 135.0,
    **dict.fromkeys(_FACTORS, 0.99),
}
_SIGNED = {*_USUAL, *_WIDE}
_UNSIGNED = ("POSTERIZE", "SOLARIZE", "AUTO_CONTRAST", "EQUALIZE")


def magnitudes_of(
    name: str, largest: dict[str, float], bins: int, fewest_bits: int, most_bits: int = 8
) -> list[float]:
    """Returns the magnitude of an operation for each bin, of those with a sign the positive one.

    Args:
        name: of the operation.
        largest: the magnitude of the last bin.
        bins: how many.
        fewest_bits: what the last bin of POSTERIZE takes away from the first.
        most_bits: of its first bin.
    """
    if name in largest:
        return [float(value) for value in torch.linspace(0.0, largest[name], bins)]
    if name == "SOLARIZE":
        return [float(value) for value in torch.linspace(1.0, 0.0, bins)]
    if name == "POSTERIZE":
        bits = most_bits - torch.arange(bins) / ((bins - 1) / fewest_bits)
        return [float(value) for value in bits.round()]
    return [0.0] * bins


def outcomes(name: str, magnitude: float) -> list[tuple[float, float]]:
    """Returns what may be drawn, equally likely: numbers of operations, and their magnitudes."""
    base = 1.0 if name in _FACTORS else 0.0
    signs = (1.0, -1.0) if name in _SIGNED else (1.0, 1.0)
    return [(float(Operation[name]), base + sign * magnitude) for sign in signs]


def _check_bins(transform: str, bins: Any) -> None:
    if not isinstance(bins, Integral) or int(bins) < 2:  # POSTERIZE divides by one less
        raise _make(
            ArgumentError,
            f"{transform}: `num_magnitude_bins` is {bins!r}, expected an integer of at least 2",
        )


def _constant(table: NDArray[Any]) -> DataNode:
    node = types.Constant(table.astype(np.float32))
    assert isinstance(node, DataNode)
    return node


class _AutoAugmentBase(Transform):
    """What the policies have in common."""

    interpolation: Any
    fill: Any

    def _set_up(self, interpolation: Any, fill: Any) -> None:
        name = type(self).__name__
        self.interpolation, self.fill = interpolation, fill
        self._interp_type = linear_or_nearest(name, interpolation)
        self._fill = Fill(name, fill)

    def _augment(self, sample: Sample, operations: Any, magnitudes: Any) -> None:
        image_only(type(self).__name__, sample)
        augment(sample, operations, magnitudes, **self._geometry(sample))

    def _geometry(self, sample: Sample) -> dict[str, Any]:
        return {"interp_type": self._interp_type, "fill_value": self._fill.of_image(sample)}

    def _augment_by_table(self, sample: Sample, table: NDArray[Any], count: int) -> None:
        """Applies `count` rows of a table of operations and magnitudes, equally likely."""
        drawn = fn.random.choice(_constant(table), shape=[count])
        self._augment(sample, drawn[:, 0], drawn[:, 1])


class RandAugment(_AutoAugmentBase):
    """Applies random operations of one magnitude.

    Args:
        num_ops: how many.
        magnitude: number of the bin of magnitudes.
        num_magnitude_bins: number of bins.
        interpolation: "nearest" or "bilinear".
        fill: values outside of the image.
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Any = "nearest",
        fill: Any = None,
    ) -> None:
        if not isinstance(num_ops, int) or num_ops < 0:
            raise _make(
                ArgumentError, f"RandAugment: `num_ops` is {num_ops!r}, expected at least 0"
            )
        _check_bins("RandAugment", num_magnitude_bins)
        if not -num_magnitude_bins <= magnitude < num_magnitude_bins:
            raise _make(
                ArgumentError,
                f"RandAugment: `magnitude` is {magnitude}, there are {num_magnitude_bins} bins",
            )
        self.num_ops, self.magnitude = num_ops, magnitude
        self.num_magnitude_bins = num_magnitude_bins
        self._set_up(interpolation, fill)

    def record(self, sample: Sample) -> None:
        """See Transform."""
        image_only("RandAugment", sample)
        if self.num_ops == 0:
            return
        rows = []
        for name in ("IDENTITY", *_USUAL, *_UNSIGNED):
            bins = magnitudes_of(name, _USUAL, self.num_magnitude_bins, 4)
            rows += outcomes(name, bins[self.magnitude])
        self._augment_by_table(sample, np.array(rows), self.num_ops)


class TrivialAugmentWide(_AutoAugmentBase):
    """Applies one random operation of random magnitude.

    Args:
        num_magnitude_bins: number of magnitudes.
        interpolation: "nearest" or "bilinear".
        fill: values outside of the image.
    """

    def __init__(
        self, num_magnitude_bins: int = 31, interpolation: Any = "nearest", fill: Any = None
    ) -> None:
        _check_bins("TrivialAugmentWide", num_magnitude_bins)
        self.num_magnitude_bins = num_magnitude_bins
        self._set_up(interpolation, fill)

    def record(self, sample: Sample) -> None:
        """See Transform."""
        rows = []
        for name in ("IDENTITY", *_WIDE, *_UNSIGNED):
            for magnitude in magnitudes_of(name, _WIDE, self.num_magnitude_bins, 6):
                rows += outcomes(name, magnitude)
        self._augment_by_table(sample, np.array(rows), 1)


class AutoAugment(_AutoAugmentBase):
    """Applies a random one of 25 pairs of operations that were found by a search.

    Args:
        policy: "imagenet", "cifar10" or "svhn", or a member of torchvision's AutoAugmentPolicy.
        interpolation: "nearest" or "bilinear".
        fill: values outside of the image.
    """

    _BINS = 10

    def __init__(
        self, policy: Any = "imagenet", interpolation: Any = "nearest", fill: Any = None
    ) -> None:
        name = getattr(policy, "value", policy)
        if name not in POLICIES:
            raise _make(
                ArgumentError,
                f"AutoAugment: `policy` is {policy!r}, expected one of {', '.join(POLICIES)}",
            )
        self.policy = policy
        self._set_up(interpolation, fill)

    def record(self, sample: Sample) -> None:
        """See Transform."""
        # For each pair and operation: number, two magnitudes for the signs, probability.
        table = np.zeros((len(POLICIES["imagenet"]), 2, 4), np.float32)
        for row, pair in enumerate(POLICIES[getattr(self.policy, "value", self.policy)]):
            for k, (name, probability, bin_number) in enumerate(pair):
                magnitude = 0.0
                if bin_number is not None:
                    magnitude = magnitudes_of(name, _USUAL, self._BINS, 4)[bin_number]
                (number, positive), (_, negative) = outcomes(name, magnitude)
                table[row, k] = [number, positive, negative - positive, probability]
        chosen = fn.random.choice(_constant(table))
        negates = fn.random.coin_flip(shape=[2])
        applied = fn.random.uniform(range=[0.0, 1.0], shape=[2]) <= chosen[:, 3]
        self._augment(sample, chosen[:, 0] * applied, chosen[:, 1] + negates * chosen[:, 2])


class AugMix(_AutoAugmentBase):
    """Mixes an image with several chains of random operations on it.

    Args:
        severity: number of the lowest bins of magnitudes, of 10, to draw from.
        mixture_width: number of chains.
        chain_depth: number of operations in a chain; below 1: 1 to 3, drawn.
        alpha: of the Dirichlet and beta distributions that weights are drawn from.
        all_ops: whether brightness, color, contrast and sharpness are among the operations.
        interpolation: "nearest" or "bilinear".
        fill: values outside of the image.
    """

    _BINS = 10
    _DEEPEST = 3  # of chains whose depth is drawn

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: Any = "bilinear",
        fill: Any = None,
    ) -> None:
        if not 1 <= severity <= self._BINS:
            raise _make(ArgumentError, f"AugMix: `severity` is {severity}, expected 1 to 10")
        if mixture_width < 1 or not alpha > 0:
            raise _make(
                ArgumentError,
                f"AugMix: `mixture_width` is {mixture_width} and `alpha` is {alpha}, expected at "
                "least 1 and above 0",
            )
        self.severity, self.mixture_width = severity, mixture_width
        self.chain_depth, self.alpha, self.all_ops = chain_depth, alpha, all_ops
        self._set_up(interpolation, fill)

    def record(self, sample: Sample) -> None:
        """See Transform."""
        image_only("AugMix", sample)
        image = sample.image
        operations = _constant(self._table())
        own = fn.random.beta(alpha=self.alpha, beta=self.alpha)
        left: Any = 1.0 - own
        mix = image * own
        for chain in range(self.mixture_width):
            after = self.mixture_width - 1 - chain
            # A draw of Dirichlet's distribution, one weight after the other.
            weight = left
            if after > 0:
                weight = left * fn.random.beta(alpha=self.alpha, beta=self.alpha * after)
                left = left - weight
            depth = self.chain_depth if self.chain_depth > 0 else self._DEEPEST
            drawn = fn.random.choice(operations, shape=[depth])
            numbers = drawn[:, 0]
            if self.chain_depth <= 0:
                # 1, 2 or 3 operations; the others are replaced by number 0, the identity.
                kept = np.tri(self._DEEPEST, dtype=np.float32)
                numbers = numbers * fn.random.choice(_constant(kept))
            chained = fn.augment(
                image, operations=numbers, magnitudes=drawn[:, 1], **self._geometry(sample)
            )
            mix = mix + chained * weight
        if sample.dtype == torch.uint8:
            mix = fn.cast(math.floor(mix), dtype=types.UINT8)
        sample.image = mix

    def _table(self) -> NDArray[Any]:
        largest = {
            **_USUAL,
            "TRANSLATE_X_PART": 1.0 / 3.0,
            "TRANSLATE_Y_PART": 1.0 / 3.0,
        }
        names = [name for name in (*_USUAL, *_UNSIGNED) if self.all_ops or name not in _FACTORS]
        rows = []
        for name in names:
            bins = magnitudes_of(name, largest, self._BINS, 4, most_bits=4)
            for magnitude in bins[: self.severity]:
                rows += outcomes(name, magnitude)
        return np.array(rows)
