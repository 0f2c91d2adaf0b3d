# Made by `make generate` from the engine's registry; do not edit.
import os
from typing import overload

import torch

from torchdali._eager.batch import Batch
from torchdali._eager.types import Sample, Samples, Values

__all__ = [
    "gaussian",
    "salt_and_pepper",
    "shot",
]

@overload
def gaussian(
    data: Sample,
    /,
    *,
    mean: float | Values | None = 0.0,
    stddev: float | Values | None = 1.0,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Adds a value of a normal distribution to each element. The same seed gives the same values
    with any number of threads and any prefetch depth.

    Args:
        data: Sample or batch. Any shape, layout and element type.
        mean: float or one value for each sample (tensor, Batch), default 0.0. Mean of the
            noise, in units of the data.
        stddev: float or one value for each sample (tensor, Batch), default 1.0. Standard
            deviation of the noise, in units of the data.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape, layout and element type of the input; integers are rounded and
            saturate.
    """

@overload
def gaussian(
    data: Samples,
    /,
    *,
    mean: float | Values | None = 0.0,
    stddev: float | Values | None = 1.0,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def salt_and_pepper(
    data: Sample,
    /,
    *,
    per_channel: bool | None = False,
    prob: float | Values | None = 0.05,
    salt_vs_pepper: float | Values | None = 0.5,
    salt_val: float | Values | None = None,
    pepper_val: float | Values | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Replaces each pixel, with probability `prob`, by salt or pepper. The same seed gives the
    same values with any number of threads and any prefetch depth.

    Args:
        data: Sample or batch. Any shape, layout and element type. Channels are the axis C of
            the layout; without a layout, the last axis.
        per_channel: bool, default False. Draw for each channel separately instead of for whole
            pixels.
        prob: float or one value for each sample (tensor, Batch), default 0.05. Probability that
            a pixel is replaced, 0 to 1.
        salt_vs_pepper: float or one value for each sample (tensor, Batch), default 0.5. Share
            of salt among replaced pixels, 0 to 1.
        salt_val: float or one value for each sample (tensor, Batch), optional. Value of salt,
            converted as fn.cast does; by default the greatest of the type, 1 for floating
            types.
        pepper_val: float or one value for each sample (tensor, Batch), optional. Value of
            pepper, converted as fn.cast does; by default the least of the type, -1 for floating
            types.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape, layout and element type of the input.
    """

@overload
def salt_and_pepper(
    data: Samples,
    /,
    *,
    per_channel: bool | None = False,
    prob: float | Values | None = 0.05,
    salt_vs_pepper: float | Values | None = 0.5,
    salt_val: float | Values | None = None,
    pepper_val: float | Values | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def shot(
    data: Sample,
    /,
    *,
    factor: float | Values | None = 20.0,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Replaces each value x by factor * Poisson(x / factor): the mean stays x, the variance
    becomes factor * x. Negative values become 0. The same seed gives the same values with any
    number of threads and any prefetch depth.

    Args:
        data: Sample or batch. Any shape, layout and element type.
        factor: float or one value for each sample (tensor, Batch), default 20.0. Strength of
            the noise, 0 or more; 0 changes nothing.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Shape, layout and element type of the input; integers are rounded and
            saturate.
    """

@overload
def shot(
    data: Samples,
    /,
    *,
    factor: float | Values | None = 20.0,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
