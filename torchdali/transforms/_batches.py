# SPDX-License-Identifier: Apache-2.0
"""Transforms of batches of tensors: CutMix and MixUp, for collate functions and training loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, UnsupportedError, _make
from torchdali.transforms._sample import Sample
from torchdali.transforms._transform import Transform

__all__ = ["CutMix", "MixUp"]

_ANNOTATIONS = {"BoundingBoxes", "Mask", "KeyPoints"}


def _leaves(inputs: Any) -> list[Any]:
    if isinstance(inputs, Mapping):
        return [leaf for value in inputs.values() for leaf in _leaves(value)]
    if isinstance(inputs, (list, tuple)):
        return [leaf for value in inputs for leaf in _leaves(value)]
    return [inputs]


def _mapped(inputs: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(inputs, Mapping):
        return {key: _mapped(value, function) for key, value in inputs.items()}
    if isinstance(inputs, tuple) and hasattr(inputs, "_fields"):
        return type(inputs)(*(_mapped(value, function) for value in inputs))
    if isinstance(inputs, (list, tuple)):
        return type(inputs)(_mapped(value, function) for value in inputs)
    return function(inputs)


class _Mix(Transform):
    """Mixes each image of a batch with the one before it, and their labels.

    Args:
        alpha: of the beta distribution that shares are drawn from, both parameters.
        num_classes: for labels that are numbers of classes.
        labels_getter: a function from the inputs to the labels, float [N, classes] or int [N]; by
            default the second input, or the only entry whose key contains "label".
    """

    def __init__(
        self, *, alpha: float = 1.0, num_classes: int | None = None, labels_getter: Any = "default"
    ) -> None:
        if not alpha > 0:
            raise _make(
                ArgumentError, f"{type(self).__name__}: `alpha` is {alpha}, expected above 0"
            )
        if labels_getter != "default" and not callable(labels_getter):
            raise _make(
                ArgumentError,
                f"{type(self).__name__}: `labels_getter` is {labels_getter!r}, expected a function "
                'or "default"',
            )
        self.alpha, self.num_classes, self.labels_getter = float(alpha), num_classes, labels_getter

    def record(self, sample: Sample) -> None:
        """See Transform."""
        del sample
        raise _make(
            UnsupportedError,
            f"{type(self).__name__}: works on batches of tensors",
            fix="call it on the batches that the loader returns, or in `collate_fn`",
        )

    def __call__(self, *inputs: Any) -> Any:
        """Returns the inputs, with mixed images [N, C, H, W] and labels float [N, classes].

        Args:
            *inputs: images and labels, or one structure of them.

        Raises:
            ArgumentError: torchvision would refuse them.
        """
        given = inputs if len(inputs) > 1 else inputs[0]
        leaves = _leaves(given)
        if any(isinstance(leaf, DataNode) for leaf in leaves):
            self.record(Sample(leaves[0]))
        name = type(self).__name__
        for leaf in leaves:
            kind = type(leaf)
            if kind.__name__ in _ANNOTATIONS or kind.__module__.startswith("PIL."):
                raise _make(ArgumentError, f"{name}: a {kind.__name__} cannot be mixed")
        labels = self._labels(given)
        images = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf is not labels]
        images = images[:1]
        for image in images:
            if image.ndim != 4 or image.shape[0] != labels.shape[0]:
                raise _make(
                    ArgumentError,
                    f"{name}: images have shape {tuple(image.shape)}, expected [N, C, H, W] with "
                    f"N = {labels.shape[0]}, the number of labels",
                )
        if not images:
            raise _make(ArgumentError, f"{name}: there are no images")
        mixed, share = self._mix(images[0])

        def replace(leaf: Any) -> Any:
            if leaf is labels:
                return self._mixed_labels(labels, share)
            return mixed if leaf is images[0] else leaf

        return _mapped(given, replace)

    def _labels(self, given: Any) -> torch.Tensor:
        name = type(self).__name__
        if callable(self.labels_getter):
            labels = self.labels_getter(given)
        elif isinstance(given, Mapping):
            keys = [key for key in given if "label" in str(key).lower()]
            exact = [key for key in keys if str(key).lower() in ("label", "labels")]
            keys = exact or keys
            if len(keys) != 1:
                raise _make(
                    ArgumentError, f"{name}: {len(keys)} entries are labels; pass `labels_getter`"
                )
            labels = given[keys[0]]
        elif isinstance(given, Sequence) and len(given) > 1:
            labels = given[1]
        else:
            raise _make(ArgumentError, f"{name}: there are no labels; pass `labels_getter`")
        if not isinstance(labels, torch.Tensor) or labels.ndim not in (1, 2):
            raise _make(
                ArgumentError, f"{name}: labels are {labels!r}, expected a tensor [N] or [N, C]"
            )
        if labels.ndim == 1 and self.num_classes is None:
            raise _make(ArgumentError, f"{name}: labels are numbers; pass `num_classes`")
        if labels.ndim == 2 and self.num_classes not in (None, labels.shape[1]):
            raise _make(
                ArgumentError,
                f"{name}: labels have {labels.shape[1]} classes, `num_classes` is "
                f"{self.num_classes}",
            )
        return labels

    def _mixed_labels(self, labels: torch.Tensor, share: float) -> torch.Tensor:
        if labels.ndim == 1:
            assert self.num_classes is not None
            labels = torch.nn.functional.one_hot(labels, self.num_classes)
        if not labels.dtype.is_floating_point:
            labels = labels.float()
        return labels.roll(1, 0).mul_(1.0 - share).add_(labels.mul(share))

    def _draw(self) -> float:
        parameter = torch.tensor([self.alpha])
        return float(torch.distributions.Beta(parameter, parameter).sample(()))

    def _mix(self, images: torch.Tensor) -> tuple[torch.Tensor, float]:
        raise NotImplementedError


class MixUp(_Mix):
    __doc__ = _Mix.__doc__

    def _mix(self, images: torch.Tensor) -> tuple[torch.Tensor, float]:
        share = self._draw()
        return images.roll(1, 0).mul_(1.0 - share).add_(images.mul(share)), share


class CutMix(_Mix):
    """Puts a rectangle of the image before it into each image of a batch, and mixes their labels.

    Args:
        alpha: of the beta distribution that shares are drawn from, both parameters.
        num_classes: for labels that are numbers of classes.
        labels_getter: a function from the inputs to the labels, float [N, classes] or int [N]; by
            default the second input, or the only entry whose key contains "label".
    """

    def _mix(self, images: torch.Tensor) -> tuple[torch.Tensor, float]:
        share = self._draw()
        height, width = images.shape[-2:]
        x, y = int(torch.randint(width, (1,))), int(torch.randint(height, (1,)))
        half = 0.5 * math.sqrt(1.0 - share)
        half_width, half_height = int(half * width), int(half * height)
        left, top = max(x - half_width, 0), max(y - half_height, 0)
        right, bottom = min(x + half_width, width), min(y + half_height, height)
        mixed = images.clone()
        mixed[..., top:bottom, left:right] = images.roll(1, 0)[..., top:bottom, left:right]
        return mixed, 1.0 - (right - left) * (bottom - top) / (width * height)
