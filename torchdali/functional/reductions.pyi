# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any, overload

import torch
from numpy.typing import NDArray

from torchdali import types
from torchdali._eager.batch import Batch
from torchdali._eager.types import Sample, Samples

__all__ = [
    "max",
    "mean",
    "mean_square",
    "min",
    "rms",
    "std_dev",
    "sum",
    "variance",
]

@overload
def max(
    data: Sample,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """The greatest element along axes, of the input's element type. NaN is ignored; without
    elements, it is the least finite number of the type.

    Args:
        data: Sample or batch. Samples; any element type, any layout.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The axes that are left, with their letters of the layout; no dimensions
            if none is.
    """

@overload
def max(
    data: Samples,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def mean(
    data: Sample,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """The mean of the elements along axes; NaN if there are none.

    Args:
        data: Sample or batch. Samples; any element type, any layout.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
        dtype: types.DALIDataType, optional. Element type of the output; float32 by default,
            float64 for float64. Results for integers are truncated.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The axes that are left, with their letters of the layout; no dimensions
            if none is.
    """

@overload
def mean(
    data: Samples,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def mean_square(
    data: Sample,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """The mean of the squares of the elements along axes; NaN if there are none.

    Args:
        data: Sample or batch. Samples; any element type, any layout.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
        dtype: types.DALIDataType, optional. Element type of the output; float32 by default,
            float64 for float64. Results for integers are truncated.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The axes that are left, with their letters of the layout; no dimensions
            if none is.
    """

@overload
def mean_square(
    data: Samples,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def min(
    data: Sample,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """The least element along axes, of the input's element type. NaN is ignored; without elements,
    it is the greatest finite number of the type.

    Args:
        data: Sample or batch. Samples; any element type, any layout.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The axes that are left, with their letters of the layout; no dimensions
            if none is.
    """

@overload
def min(
    data: Samples,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def rms(
    data: Sample,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """The root of the mean of the squares along axes; NaN if there are no elements.

    Args:
        data: Sample or batch. Samples; any element type, any layout.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
        dtype: types.DALIDataType, optional. Element type of the output; float32 by default,
            float64 for float64. Results for integers are truncated.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The axes that are left, with their letters of the layout; no dimensions
            if none is.
    """

@overload
def rms(
    data: Samples,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def std_dev(
    data: Sample,
    mean: Any,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    ddof: int | None = 0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """The root of the mean squared distance of the elements along axes from a given mean, float32
    (float64 for float64). NaN if there are no elements.

    Args:
        data: Sample or batch. Samples; any element type, any layout.
        mean: Sample or batch. The mean: one value, or one for each result in C order, as
            returned by fn.reductions.mean() of the same axes.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
        ddof: int, default 0. Delta degrees of freedom: the sum is divided by N - ddof.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The axes that are left, with their letters of the layout; no dimensions
            if none is.
    """

@overload
def std_dev(
    data: Samples,
    mean: Any,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    ddof: int | None = 0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def sum(
    data: Sample,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """The sum of the elements along axes. Integers are added exactly, modulo 2^64; floats in
    float64.

    Args:
        data: Sample or batch. Samples; any element type, any layout.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
        dtype: types.DALIDataType, optional. Element type of the output. By default the 64-bit
            integer of the input's signedness, or the input's type for floats. Sums of integers
            that do not fit into an integer type wrap around.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The axes that are left, with their letters of the layout; no dimensions
            if none is.
    """

@overload
def sum(
    data: Samples,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def variance(
    data: Sample,
    mean: Any,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    ddof: int | None = 0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """The mean squared distance of the elements along axes from a given mean, float32 (float64 for
    float64). NaN if there are no elements.

    Args:
        data: Sample or batch. Samples; any element type, any layout.
        mean: Sample or batch. The mean: one value, or one for each result in C order, as
            returned by fn.reductions.mean() of the same axes.
        axes: int or list of int, optional. Axes to reduce; all by default, none for an empty
            list. Negative ones count from the end; none may be repeated.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        keep_dims: bool, default False. Keep the reduced axes, with extent 1.
        ddof: int, default 0. Delta degrees of freedom: the sum is divided by N - ddof.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The axes that are left, with their letters of the layout; no dimensions
            if none is.
    """

@overload
def variance(
    data: Samples,
    mean: Any,
    /,
    *,
    axes: int | Sequence[int] | NDArray[Any] | None = ...,
    axis_names: str | None = None,
    keep_dims: bool | None = False,
    ddof: int | None = 0,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
