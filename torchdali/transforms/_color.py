# SPDX-License-Identifier: Apache-2.0
"""Transforms of colors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from torchdali import fn
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.transforms._operations import Operation, augment
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import RandomTransform, Transform

__all__ = [
    "ColorJitter",
    "Grayscale",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomEqualize",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPosterize",
    "RandomSolarize",
]


class ColorJitter(Transform):
    """Changes brightness, contrast, saturation and hue by random factors, in random order.

    Args:
        brightness: a number b for factors from max(0, 1 - b) to 1 + b, or (low, high); 0 or None:
            stays.
        contrast: the same.
        saturation: the same.
        hue: a number h, at most 0.5, for turns from -h to h, or (low, high).
    """

    def __init__(
        self,
        brightness: float | Sequence[float] | None = None,
        contrast: float | Sequence[float] | None = None,
        saturation: float | Sequence[float] | None = None,
        hue: float | Sequence[float] | None = None,
    ) -> None:
        self.brightness = _interval("brightness", brightness)
        self.contrast = _interval("contrast", contrast)
        self.saturation = _interval("saturation", saturation)
        self.hue = _interval("hue", hue, center=0.0, bound=(-0.5, 0.5))

    def record(self, sample: Sample) -> None:
        """See Transform."""
        jitters = {
            Operation.BRIGHTNESS: self.brightness,
            Operation.CONTRAST: self.contrast,
            Operation.COLOR: self.saturation,
            Operation.HUE: self.hue,
        }
        used = {code: interval for code, interval in jitters.items() if interval is not None}
        if not used:
            return
        low = np.array([interval[0] for interval in used.values()], np.float32)
        high = np.array([interval[1] for interval in used.values()], np.float32)
        drawn = fn.random.uniform(range=[0.0, 1.0], shape=[len(used)])
        magnitudes = drawn * (high - low) + low
        arguments: dict[str, Any] = {}
        if len(used) > 1:
            count: Any = math.factorial(len(used))
            arguments["order"] = fn.random.choice(count)
        augment(sample, [int(code) for code in used], magnitudes, **arguments)


def _interval(
    name: str,
    value: Any,
    center: float = 1.0,
    bound: tuple[float, float] = (0.0, math.inf),
) -> tuple[float, float] | None:
    """Returns the interval that an argument of ColorJitter means; None: nothing changes."""
    if value is None:
        return None
    if isinstance(value, Real):
        if float(value) < 0:
            raise _make(
                ArgumentError, f"ColorJitter: `{name}` is {value}, expected at least 0 or a pair"
            )
        low, high = center - float(value), center + float(value)
        if name != "hue":
            low = max(low, 0.0)
    elif isinstance(value, Sequence) and len(value) == 2:
        low, high = (float(v) for v in value)
    else:
        raise _make(
            ArgumentTypeError, f"ColorJitter: `{name}` is {value!r}, expected a number or a pair"
        )
    if not bound[0] <= low <= high <= bound[1]:
        raise _make(
            ArgumentError,
            f"ColorJitter: `{name}` means {low} to {high}, expected numbers from {bound[0]} to "
            f"{bound[1]} in ascending order",
        )
    return None if low == high == center else (float(low), float(high))


class Grayscale(Transform):
    """Replaces colors by levels of gray.

    Args:
        num_output_channels: 1, or 3 for three equal channels.
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        if num_output_channels not in (1, 3):
            raise _make(
                ArgumentError,
                f"Grayscale: `num_output_channels` is {num_output_channels!r}, expected 1 or 3",
            )
        self.num_output_channels = num_output_channels

    def on_pillow(self, image: Any) -> Any:
        """See Transform."""
        is_converted = self.num_output_channels == 1 and image.mode == "RGB"
        return image.convert("L") if is_converted else None

    def record(self, sample: Sample) -> None:
        """See Transform."""
        augment(sample, [int(Operation.GRAY)], [0.0])
        if self.num_output_channels == sample.channels:
            return
        if self.num_output_channels == 1:
            axis = sample.layout.index("C")
            node = fn.slice(sample.image, start=[0], end=[1], axes=[axis])
        else:
            node = fn.cat(*[sample.image] * 3, axis_name="C")
        assert isinstance(node, DataNode)
        sample.image, sample.channels = node, self.num_output_channels


class _RandomOperation(RandomTransform):
    """One operation for some samples."""

    _operation = Operation.IDENTITY

    def record(self, sample: Sample) -> None:
        """See Transform."""
        if self.p == 0:
            return
        operation, drawn = int(self._operation), self.draw()
        if isinstance(drawn, DataNode):
            augment(sample, drawn * operation, [self._magnitude(sample)])
        else:
            augment(sample, [operation], [self._magnitude(sample)])

    def _magnitude(self, sample: Sample) -> float:
        del sample
        return 0.0


class RandomGrayscale(_RandomOperation):
    """Replaces the colors of some images by levels of gray, in as many channels.

    Args:
        p: the probability.
    """

    _operation = Operation.GRAY

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)


class RandomInvert(_RandomOperation):
    """Inverts the values of some images.

    Args:
        p: the probability.
    """

    _operation = Operation.INVERT


class RandomAutocontrast(_RandomOperation):
    """Spreads the values of each channel of some images over the whole range.

    Args:
        p: the probability.
    """

    _operation = Operation.AUTO_CONTRAST


class RandomEqualize(_RandomOperation):
    """Equalizes the histogram of each channel of some images.

    Args:
        p: the probability.
    """

    _operation = Operation.EQUALIZE


class RandomPosterize(_RandomOperation):
    """Keeps the highest bits of the values of some images.

    Args:
        bits: how many.
        p: the probability.
    """

    _operation = Operation.POSTERIZE

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        if not isinstance(bits, int) or not 0 <= bits <= 8:
            raise _make(ArgumentTypeError, f"RandomPosterize: `bits` is {bits!r}, expected 0 to 8")
        self.bits = bits

    def _magnitude(self, sample: Sample) -> float:
        if sample.kind == "pil" and self.bits == 0:
            raise _make(ArgumentError, "RandomPosterize: Pillow keeps at least 1 bit")
        return float(self.bits)


class RandomSolarize(_RandomOperation):
    """Inverts the values of some images that are not below a threshold.

    Args:
        threshold: from 0 to the value of full intensity, 255 or 1.
        p: the probability.
    """

    _operation = Operation.SOLARIZE

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def _magnitude(self, sample: Sample) -> float:
        if sample.kind == "tensor" and self.threshold > sample.largest:
            raise _make(
                ArgumentTypeError,
                f"RandomSolarize: `threshold` is {self.threshold}, at most {sample.largest} is "
                "possible",
            )
        # The part of full intensity, as a float32 that is not above the threshold.
        part = np.float32(min(self.threshold / sample.largest, 2.0))
        while float(part) * sample.largest > min(self.threshold, 2 * sample.largest):
            part = np.nextafter(part, np.float32(-np.inf))
        return float(part)


class RandomAdjustSharpness(_RandomOperation):
    """Sharpens or smooths some images.

    Args:
        sharpness_factor: 0 smooths, 1 changes nothing, more sharpens.
        p: the probability.
    """

    _operation = Operation.SHARPNESS

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        if sharpness_factor < 0:
            raise _make(
                ArgumentError,
                f"RandomAdjustSharpness: `sharpness_factor` is {sharpness_factor}, expected at "
                "least 0",
            )
        self.sharpness_factor = sharpness_factor

    def _magnitude(self, sample: Sample) -> float:
        del sample
        return float(self.sharpness_factor)
