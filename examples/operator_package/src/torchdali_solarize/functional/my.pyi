# Made by `python -m torchdali.extension stubs`; do not edit.
# ruff: noqa
import os
from collections.abc import Sequence
from typing import Any, overload

import torch
from numpy.typing import NDArray

from torchdali._eager.batch import Batch
from torchdali._eager.types import Sample, Samples, Values

__all__ = [
    "random_gain",
    "solarize",
]

@overload
def random_gain(
    data: Sample,
    /,
    *,
    range: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Multiplies all elements of a sample by one random number.

    Args:
        data: Sample or batch. Any tensor; float32.
        range: float or list of float or one value for each sample (tensor, Batch), default
            [0.5, 2.0]. The least and the greatest factor.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.

    Returns:
        Sample or batch: Shape and layout of the input.
    """

@overload
def random_gain(
    data: Samples,
    /,
    *,
    range: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> Batch: ...
@overload
def solarize(
    data: Sample,
    /,
    *,
    threshold: int | Values | None = 128,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Inverts elements that are not below a threshold: 255 - x where x >= threshold, else x.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. Images or sequences; uint8. Layouts: HWC, CHW, FHWC, FCHW.
        threshold: int or one value for each sample (tensor, Batch), default 128. The smallest
            value that is inverted.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape, element type and layout of the input.
    """

@overload
def solarize(
    data: Samples,
    /,
    *,
    threshold: int | Values | None = 128,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
