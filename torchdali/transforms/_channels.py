# SPDX-License-Identifier: Apache-2.0
"""Transforms of channels, and RandomPhotometricDistort, which permutes them after other changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from torchdali import fn
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, _make
from torchdali.transforms._arguments import check_range
from torchdali.transforms._follow import leaves_of, replaced
from torchdali.transforms._operations import Operation, augment
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import Transform, check_probability

__all__ = ["RGB", "RandomChannelPermutation", "RandomPhotometricDistort"]

_PERMUTATIONS: Any = 6  # of 3 channels


class RandomChannelPermutation(Transform):
    """Permutes the three channels of images."""

    def record(self, sample: Sample) -> None:
        """See Transform."""
        number = fn.random.choice(_PERMUTATIONS)
        augment(sample, [int(Operation.PERMUTE_CHANNELS)], number * 1.0)


class RandomPhotometricDistort(Transform):
    """Changes brightness, contrast, saturation and hue, and permutes channels, each at random.

    Contrast changes before saturation and hue or after them.

    Args:
        brightness: the range of the factor.
        contrast: the same.
        saturation: the same.
        hue: the range of turns, within -0.5 and 0.5.
        p: the probability of each change.
    """

    def __init__(
        self,
        brightness: Sequence[float] = (0.875, 1.125),
        contrast: Sequence[float] = (0.5, 1.5),
        saturation: Sequence[float] = (0.5, 1.5),
        hue: Sequence[float] = (-0.05, 0.05),
        p: float = 0.5,
    ) -> None:
        name = "RandomPhotometricDistort"
        self.brightness = check_range(name, "brightness", brightness)
        self.contrast = check_range(name, "contrast", contrast)
        self.saturation = check_range(name, "saturation", saturation)
        self.hue = check_range(name, "hue", hue)
        if min(self.brightness[0], self.contrast[0], self.saturation[0]) < 0:
            raise _make(ArgumentError, f"{name}: a factor is negative, expected at least 0")
        if self.hue[0] < -0.5 or self.hue[1] > 0.5:
            raise _make(ArgumentError, f"{name}: `hue` is {hue!r}, expected -0.5 to 0.5")
        self.p = check_probability(name, p)

    def record(self, sample: Sample) -> None:
        """See Transform."""
        steps = {
            Operation.BRIGHTNESS: self.brightness,
            Operation.CONTRAST: self.contrast,
            Operation.COLOR: self.saturation,
            Operation.HUE: self.hue,
        }
        low, high = np.array(list(steps.values()), np.float32).T
        factors = fn.random.uniform(range=[0.0, 1.0], shape=[4]) * (high - low) + low
        magnitudes = fn.cat(factors, factors[1:2], fn.random.choice(_PERMUTATIONS, shape=[1]) * 1.0)
        # Whether each of the 5 changes is made, and whether contrast changes first.
        drawn = fn.random.coin_flip(probability=self.p, shape=[5])
        first = fn.random.coin_flip(probability=0.5)
        used = fn.stack(
            drawn[0], drawn[1] * first, drawn[2], drawn[3], drawn[1] * (1 - first), drawn[4]
        )
        codes = [*steps, Operation.CONTRAST, Operation.PERMUTE_CHANNELS]
        augment(sample, used * np.array(codes, np.int32), magnitudes)


class RGB(Transform):
    """Makes three channels of gray images; images with colors stay, transparency does not."""

    def __call__(self, *inputs: Any) -> Any:
        """See Transform. Pillow images of other modes are converted by Pillow."""
        made = {
            id(leaf): leaf.convert("RGB")
            for leaf in leaves_of(inputs)
            if hasattr(leaf, "getbands") and leaf.mode not in ("L", "RGB")
        }
        return super().__call__(*replaced(inputs, made))

    def record(self, sample: Sample) -> None:
        """See Transform."""
        if sample.kind == "tensor" and sample.channels >= 3:
            return
        if sample.kind == "tensor" and sample.channels != 1:
            raise _make(
                ArgumentError, f"RGB: the tensor has {sample.channels} channels, expected 1 or 3"
            )
        axis = sample.layout.index("C")
        if sample.channels in (1, 2):
            gray = fn.slice(sample.image, start=[0], end=[1], axes=[axis])
            node = fn.cat(*[gray] * 3, axis_name="C")
        elif sample.channels == 4:
            node = fn.slice(sample.image, start=[0], end=[3], axes=[axis])
        else:
            return
        assert isinstance(node, DataNode)
        sample.image, sample.channels = node, 3
