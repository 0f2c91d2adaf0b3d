# SPDX-License-Identifier: Apache-2.0
"""Transforms that pad, crop, erase and blur."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import torch

from torchdali import fn
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.transforms._annotations import Annotation
from torchdali.transforms._arguments import height_and_width
from torchdali.transforms._operations import Fill, fill_values
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import RandomTransform, Transform
from torchdali.transforms._warps import image_alone

__all__ = ["GaussianBlur", "Pad", "RandomCrop", "RandomErasing"]

_MODES = ("constant", "edge", "reflect", "symmetric")


def _padding(name: str, padding: Any) -> list[int]:
    """Returns left, top, right and bottom of a padding of torchvision's."""
    values = [padding] if isinstance(padding, Integral) else padding
    if not isinstance(values, Sequence) or not all(isinstance(v, Integral) for v in values):
        raise _make(
            ArgumentTypeError,
            f"{name}: `padding` is {padding!r}, expected an integer or a sequence of integers",
        )
    if len(values) not in (1, 2, 4):
        raise _make(
            ArgumentError, f"{name}: `padding` has {len(values)} values, expected 1, 2 or 4"
        )
    if min(values) < 0:
        raise _make(
            UnsupportedError,
            f"{name}: `padding` is {padding!r}; negative numbers, which crop, are not implemented",
        )
    return [int(values[i % len(values)]) for i in range(4)]


def _check_mode(name: str, mode: str) -> None:
    if mode not in _MODES:
        raise _make(ArgumentError, f"{name}: `padding_mode` is {mode!r}, expected one of {_MODES}")


def pad_crop(sample: Sample, mode: str, fill: Fill, **arguments: Any) -> None:
    """Records fn.pad_crop.

    Args:
        sample: is changed; its size is not.
        mode: of the padding.
        fill: values of added pixels, with "constant".
        **arguments: of the operator.
    """
    values = fill.of_image(sample) or [0.0]

    def pad(node: DataNode) -> DataNode:
        return fn.pad_crop(node, mode=mode, fill_value=values, **arguments)

    # A value of the result is not one of the node, from which conversions are still to be made.
    if mode != "constant":
        sample.move_pixels(pad)
    elif values == [0.0]:
        sample.pad_or_move_pixels(pad)
    else:
        sample.image = pad(sample.image)


def _pads_and_places(
    canvas: tuple[int, int], padding: list[int], size: list[int], pad_if_needed: bool
) -> tuple[list[int], list[int]]:
    """Returns the pixels that fn.pad_crop adds, and how far its window can move along y and x."""
    pads, places = list(padding), []
    for axis in range(2):
        missing = size[axis] - canvas[axis] - pads[1 - axis] - pads[3 - axis]
        if missing > 0 and pad_if_needed:
            pads[1 - axis] += missing
            pads[3 - axis] += missing
            missing = -missing
        places.append(-missing)
    return pads, places


def _follow_crop(
    part: Annotation,
    position: list[float],
    padding: list[int],
    size: list[int],
    pad_if_needed: bool,
    mode: str,
    fill: list[float],
) -> None:
    """Moves what follows an image as fn.pad_crop moves the image."""
    pads, places = _pads_and_places(part.canvas, padding, size, pad_if_needed)
    if any(pads):
        part.pad(pads, mode, fill)
    if any(places):
        top, left = (int(u * (n + 1)) for u, n in zip(position, places, strict=True))
        part.crop(top, left, *size)


def _is_black(mode: str, fill: Fill) -> bool:
    """Returns whether pixels that are added to Pillow images are 0, as by their crop()."""
    return mode == "constant" and not any(fill.of_pillow)


class Pad(Transform):
    """Adds pixels at the edges of images.

    Args:
        padding: left, top, right, bottom; two: left and right, top and bottom; or one for all.
        fill: values of the pixels, with "constant"; or a dict of them for types of inputs.
        padding_mode: "constant", "edge", "reflect" or "symmetric".
    """

    def __init__(
        self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant"
    ) -> None:
        self.padding = padding
        self.fill, self.padding_mode = fill, padding_mode
        self._pads = _padding("Pad", padding)
        _check_mode("Pad", padding_mode)
        self._fill = Fill("Pad", fill)

    def on_pillow(self, image: Any) -> Any:
        """See Transform."""
        if not _is_black(self.padding_mode, self._fill):
            return None
        left, top, right, bottom = self._pads
        return image.crop((-left, -top, image.width + right, image.height + bottom))

    def record(self, sample: Sample) -> None:
        """See Transform."""
        image_alone("Pad", sample)
        pad_crop(sample, self.padding_mode, self._fill, padding=self._pads)
        sample.set_size(None)
        pads, mode, fill = self._pads, self.padding_mode, self._fill.of_masks
        sample.follow(lambda part: part.pad(pads, mode, fill))


class RandomCrop(Transform):
    """Crops a window at a random position, of the padded image if there is padding.

    Args:
        size: (height, width), or one number for both.
        padding: as of Pad; None: no padding.
        pad_if_needed: whether images that are too small are padded.
        fill: values of added pixels, with "constant"; or a dict of them for types of inputs.
        padding_mode: "constant", "edge", "reflect" or "symmetric".
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        self.size = height_and_width("RandomCrop", size)
        self.padding, self.pad_if_needed = padding, pad_if_needed
        self.fill, self.padding_mode = fill, padding_mode
        self._pads = [0, 0, 0, 0] if padding is None else _padding("RandomCrop", padding)
        _check_mode("RandomCrop", padding_mode)
        self._fill = Fill("RandomCrop", fill)

    def on_pillow(self, image: Any) -> Any:
        """See Transform."""
        canvas = image.height, image.width
        pads, places = _pads_and_places(canvas, self._pads, self.size, bool(self.pad_if_needed))
        if min(places) < 0 or (any(pads) and not _is_black(self.padding_mode, self._fill)):
            return None
        position = torch.rand(2).tolist()
        top, left = (int(u * (n + 1)) for u, n in zip(position, places, strict=True))
        top, left = top - pads[1], left - pads[0]
        return image.crop((left, top, left + self.size[1], top + self.size[0]))

    def record(self, sample: Sample) -> None:
        """See Transform."""
        image_alone("RandomCrop", sample)
        position = fn.random.uniform(range=[0.0, 1.0], shape=[2])
        pad_crop(
            sample,
            self.padding_mode,
            self._fill,
            padding=self._pads,
            size=self.size,
            pad_if_needed=bool(self.pad_if_needed),
            position=position,
        )
        sample.set_fixed_size(*self.size)
        arguments = self._pads, self.size, bool(self.pad_if_needed), self.padding_mode
        fill = self._fill.of_masks
        sample.follow(_follow_crop, position, *arguments, fill, one_size=True)

    @classmethod
    def from_torchvision(cls, transform: Any) -> Transform:
        """See Transform. The v2 class keeps left, right, top and bottom."""
        padding = transform.padding
        if padding is not None and "v2" in type(transform).__module__.split("."):
            left, right, top, bottom = padding
            padding = [left, top, right, bottom]
        return cls(
            transform.size,
            padding,
            transform.pad_if_needed,
            transform.fill,
            transform.padding_mode,
        )


class RandomErasing(RandomTransform):
    """Fills a random rectangle of some images.

    Args:
        p: the probability.
        scale: range of the area, as a part of the image.
        ratio: range of the height over the width.
        value: to fill with: one, one for each channel, or "random" for draws of the standard normal
            distribution.
        inplace: accepted; without effect on results.
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0.0,
        inplace: bool = False,
    ) -> None:
        super().__init__(p)
        if value is not None and not isinstance(value, (int, float, str, tuple, list)):
            raise _make(
                ArgumentTypeError,
                f"RandomErasing: `value` is {value!r}, expected a number, a sequence or 'random'",
            )
        if isinstance(value, str) and value != "random":
            raise _make(ArgumentError, f"RandomErasing: `value` is {value!r}, expected 'random'")
        for name, pair in (("scale", scale), ("ratio", ratio)):
            if not isinstance(pair, Sequence):
                raise _make(
                    ArgumentTypeError, f"RandomErasing: `{name}` is {pair!r}, expected a range"
                )
            if len(pair) != 2 or pair[0] > pair[1]:
                raise _make(
                    ArgumentError, f"RandomErasing: `{name}` is {pair!r}, expected (low, high)"
                )
        if scale[0] < 0 or scale[1] > 1:
            raise _make(ArgumentError, f"RandomErasing: `scale` is {scale}, expected 0 to 1")
        self.scale, self.ratio, self.value, self.inplace = scale, ratio, value, inplace

    def record(self, sample: Sample) -> None:
        """See Transform. Boxes, masks and key points stay, as in torchvision."""
        # None: "random" in an object of torchvision's.
        noise = self.value is None or isinstance(self.value, str)
        values = [0.0] if noise else fill_values("RandomErasing", self.value)
        arguments: dict[str, Any] = {
            "p": self.p,
            "scale": [float(v) for v in self.scale],
            "ratio": [float(v) for v in self.ratio],
        }
        if self.p == 0:
            return

        def erase(node: DataNode) -> DataNode:
            return fn.random_erase(node, value=values, noise=noise, **arguments)

        if values == [0.0] and not noise:
            sample.pad_or_move_pixels(erase)
        else:
            sample.image = erase(sample.image)


class GaussianBlur(Transform):
    """Blurs images by Gaussians of random deviation.

    Args:
        kernel_size: (width, height) of the window, or one number for both; odd.
        sigma: the deviation in pixels, or its range.
    """

    def __init__(
        self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)
    ) -> None:
        self.kernel_size = height_and_width("GaussianBlur", kernel_size)
        if any(size <= 0 or size % 2 == 0 for size in self.kernel_size):
            raise _make(
                ArgumentError,
                f"GaussianBlur: `kernel_size` is {kernel_size}, expected odd numbers above 0",
            )
        if isinstance(sigma, (int, float)):
            sigma = (sigma, sigma)
        if not isinstance(sigma, Sequence):
            raise _make(
                ArgumentTypeError,
                f"GaussianBlur: `sigma` is {sigma!r}, expected a number or a range",
            )
        if len(sigma) not in (1, 2) or not 0 < sigma[0] <= sigma[-1]:
            raise _make(
                ArgumentError, f"GaussianBlur: `sigma` is {sigma!r}, expected 0 < low <= high"
            )
        self.sigma = (float(sigma[0]), float(sigma[-1]))

    def record(self, sample: Sample) -> None:
        """See Transform."""
        low, high = self.sigma
        sigma: Any = [low]
        if low < high:
            sigma = fn.random.uniform(range=[low, high])
        width, height = self.kernel_size
        sample.image = fn.gaussian_blur(sample.image, sigma=sigma, window_size=[height, width])
