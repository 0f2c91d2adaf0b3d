# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any, overload

import torch
from numpy.typing import NDArray

from torchdali import types
from torchdali._eager.batch import Batch
from torchdali._eager.types import Sample, Samples, Values

__all__ = [
    "beta",
    "choice",
    "coin_flip",
    "normal",
    "uniform",
]

def beta(
    shape_like: Sample | None = None,
    /,
    *,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    alpha: float | Values | None = 1.0,
    beta: float | Values | None = 1.0,
    layout: str | None = None,
    batched: bool | None = False,
    batch_size: int | None = None,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Any:
    """Draws from the beta distribution, whose density is proportional to x^(alpha - 1) (1 -
    x)^(beta - 1) on [0, 1]; by default the uniform distribution. The same seed gives the same
    values with any number of threads and any prefetch depth.

    Args:
        shape_like: Sample or batch. Input with the shape of the output; its values are not
            used. Optional.
        shape: int or list of int or one value for each sample (tensor, Batch), optional. Shape
            of each sample. Cannot be combined with `shape_like`. Without either, a sample is
            one value (no dimensions).
        dtype: types.DALIDataType, optional. Element type: float32 by default, float64 or
            float16.
        alpha: float or one value for each sample (tensor, Batch), default 1.0. First parameter,
            above 0.
        beta: float or one value for each sample (tensor, Batch), default 1.0. Second parameter,
            above 0.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        batch_size: int, optional. Number of samples of the result, which is a batch then; by
            default it is one sample.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Random values, of type `dtype`; without layout.
    """

@overload
def choice(
    a: Sample,
    shape_like: Any | None = None,
    /,
    *,
    p: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Draws elements of a list with replacement, uniformly or with the probabilities `p`. The same
    seed gives the same choices with any number of threads and any prefetch depth.

    Args:
        a: Sample or batch. The elements to choose from: a list (the first axis of a tensor of
            any element type), or an integer n for 0 to n - 1.
        shape_like: Sample or batch. Input with the shape of the draws; its values are not used.
            Optional.
        p: float or list of float or one value for each sample (tensor, Batch), optional.
            Probability of each element; the sum is 1. Uniform by default.
        shape: int or list of int or one value for each sample (tensor, Batch), optional. Shape
            of the draws. Cannot be combined with `shape_like`. Without either, a sample is one
            element.
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
        Sample or batch: The chosen elements, of the type of `a`: shape `shape`, followed by the
            other axes of `a`. With one axis of draws the layout is that of `a`, without draws
            that of an element, otherwise there is none.
    """

@overload
def choice(
    a: Samples,
    shape_like: Any | None = None,
    /,
    *,
    p: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> Batch: ...
def coin_flip(
    shape_like: Sample | None = None,
    /,
    *,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    probability: float | Values | None = 0.5,
    layout: str | None = None,
    batched: bool | None = False,
    batch_size: int | None = None,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Any:
    """Draws 1 with the given probability, else 0. The same seed gives the same values with any
    number of threads and any prefetch depth.

    Args:
        shape_like: Sample or batch. Input with the shape of the output; its values are not
            used. Optional.
        shape: int or list of int or one value for each sample (tensor, Batch), optional. Shape
            of each sample. Cannot be combined with `shape_like`. Without either, a sample is
            one value (no dimensions).
        dtype: types.DALIDataType, optional. Element type; int32 by default.
        probability: float or one value for each sample (tensor, Batch), default 0.5.
            Probability of 1; 0 or less never, 1 or more always.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        batch_size: int, optional. Number of samples of the result, which is a batch then; by
            default it is one sample.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Random values, of type `dtype`; without layout.
    """

def normal(
    shape_like: Sample | None = None,
    /,
    *,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    mean: float | Values | None = 0.0,
    stddev: float | Values | None = 1.0,
    layout: str | None = None,
    batched: bool | None = False,
    batch_size: int | None = None,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Any:
    """Draws from a normal distribution. The same seed gives the same values with any number of
    threads and any prefetch depth, and those that fn.noise.gaussian adds. Integers are rounded
    and saturate.

    Args:
        shape_like: Sample or batch. Input with the shape of the output; its values are not
            used. Optional.
        shape: int or list of int or one value for each sample (tensor, Batch), optional. Shape
            of each sample. Cannot be combined with `shape_like`. Without either, a sample is
            one value (no dimensions).
        dtype: types.DALIDataType, optional. Element type; float32 by default.
        mean: float or one value for each sample (tensor, Batch), default 0.0. Mean of the
            distribution.
        stddev: float or one value for each sample (tensor, Batch), default 1.0. Standard
            deviation of the distribution.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        batch_size: int, optional. Number of samples of the result, which is a batch then; by
            default it is one sample.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Random values, of type `dtype`; without layout.
    """

def uniform(
    shape_like: Sample | None = None,
    /,
    *,
    shape: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    range: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    values: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    batch_size: int | None = None,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Any:
    """Draws uniformly from the half-open interval `range`, or from the list `values`. Integers are
    rounded, so they may equal the upper bound. The same seed gives the same values with any
    number of threads and any prefetch depth.

    Args:
        shape_like: Sample or batch. Input with the shape of the output; its values are not
            used. Optional.
        shape: int or list of int or one value for each sample (tensor, Batch), optional. Shape
            of each sample. Cannot be combined with `shape_like`. Without either, a sample is
            one value (no dimensions).
        dtype: types.DALIDataType, optional. Element type; float32 by default.
        range: float or list of float or one value for each sample (tensor, Batch), default
            [-1.0, 1.0]. The interval [low, high).
        values: float or list of float or one value for each sample (tensor, Batch), optional.
            The list to draw from. Cannot be combined with `range`.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        batch_size: int, optional. Number of samples of the result, which is a batch then; by
            default it is one sample.
        seed: int, optional. Of the random values: those that the first batch of a pipeline with
            this seed has. By default drawn from `generator`.
        generator: torch.Generator, optional. That the seed is drawn from; by default the one
            that `torch.manual_seed` sets.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Random values, of type `dtype`; without layout.
    """
