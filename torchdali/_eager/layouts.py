# SPDX-License-Identifier: Apache-2.0
"""Layouts of inputs: those that the user means, and those that an operator reads."""

from __future__ import annotations

from typing import NamedTuple

import torch

from torchdali._eager import settings
from torchdali._engine.schema import OperatorSchema
from torchdali.errors import LayoutError, _make

__all__ = ["Fit", "InputLayouts", "permuted"]

_Tensor = torch.Tensor
# The usual numbers of channels of an image; 2 is as likely a height.
_CHANNELS = (1, 3, 4)
_MOST_CHANNELS = max(_CHANNELS)


class Fit(NamedTuple):
    """How an input is passed to an operator.

    Attributes:
        layout: that the operator is told; "" if none.
        order: of the axes that it is given; None: as they are.
    """

    layout: str
    order: tuple[int, ...] | None


class InputLayouts:
    """The layouts that the inputs of an operator may have.

    Args:
        schema: of the operator.
    """

    def __init__(self, schema: OperatorSchema) -> None:
        self._known = [spec.layouts for spec in schema.inputs]
        self._fits: dict[tuple[int, str, int], Fit] = {}

    def fit(self, index: int, tensor: _Tensor, layout: str) -> Fit:
        """Returns how an input is passed.

        Args:
            index: of the input.
            tensor: one sample.
            layout: that the user or the data names, or "".

        Raises:
            LayoutError: it does not fit; without one, the shape looks like another layout than
                that which images have by default.
        """
        ndim = tensor.dim()
        if not layout:
            known = self._of(index)
            if ndim != 3 or "HWC" not in known:
                return Fit("", None)
            layout = _default_layout(tensor)
        key = (index, layout, ndim)
        found = self._fits.get(key)
        if found is None:
            found = self._fits[key] = self._find(index, layout, ndim)
        return found

    def _of(self, index: int) -> tuple[str, ...]:
        return self._known[min(index, len(self._known) - 1)]

    def _find(self, index: int, layout: str, ndim: int) -> Fit:
        if len(layout) != ndim:
            raise _make(
                LayoutError, f'layout "{layout}" does not fit a tensor of {ndim} dimensions'
            )
        known = self._of(index)
        if known and layout not in known:
            for other in known:
                if sorted(other) == sorted(layout):
                    return Fit(other, tuple(layout.index(letter) for letter in other))
        return Fit(layout, None)  # the engine says if it does not take it


def _default_layout(tensor: _Tensor) -> str:
    """Returns the layout of an image that was passed without one."""
    layout = settings.get_default_layout()
    first, _, last = tensor.shape
    channels, other = (last, first) if layout == "HWC" else (first, last)
    if other in _CHANNELS and channels > _MOST_CHANNELS:
        looks = "CHW" if layout == "HWC" else "HWC"
        raise _make(
            LayoutError,
            f"an image of shape {list(tensor.shape)} looks like {looks}, and the layout of images "
            f"is {layout} if none is given",
            fix=f'pass layout="{looks}", or layout="{layout}" if that is what it is; '
            "torchdali.functional.set_default_layout() sets it for all calls",
        )
    return layout


def permuted(tensor: _Tensor, layout: str, to: str) -> _Tensor:
    """Returns a view with the axes in another order, or the tensor if it has other axes."""
    if layout == to or sorted(layout) != sorted(to):
        return tensor
    return tensor.permute([layout.index(letter) for letter in to])
