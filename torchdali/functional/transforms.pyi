# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any, overload

import torch
from numpy.typing import NDArray

from torchdali._eager.batch import Batch
from torchdali._eager.types import Sample, Samples, Values

__all__ = [
    "combine",
    "crop",
    "rotation",
    "scale",
    "shear",
    "translation",
]

@overload
def combine(
    first: Sample,
    second: Any,
    /,
    *more: Any,
    reverse_order: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
) -> torch.Tensor:
    """The composition of affine transforms.

    Takes frame sequences (layouts with F).

    Args:
        first: Sample or batch. An affine transform: shape (ndim, ndim + 1), any element type;
            or one per frame, with a layout such as "F**".
        second: Sample or batch. Another transform with the same number of dimensions.
        more: Sample or batch. Further transforms. Optional.
        reverse_order: bool, default False. Apply the last input first, instead of the first
            input first.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.

    Returns:
        Sample or batch: The combined transform, float32, shape (ndim, ndim + 1).
    """

@overload
def combine(
    first: Samples,
    second: Any,
    /,
    *more: Any,
    reverse_order: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
) -> Batch: ...
def crop(
    matrix: Sample | None = None,
    /,
    *,
    reverse_order: bool | None = False,
    from_start: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    from_end: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    to_start: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    to_end: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    absolute: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    batch_size: int | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Any:
    """An affine transform that maps the box from `from_start` to `from_end` to the box from
    `to_start` to `to_end`, alone or after that of the input. Each is a point: one number for
    each dimension, or one for all. A box without extent results in infinite factors.

    Takes frame sequences (layouts with F).

    Args:
        matrix: Sample or batch. An affine transform to combine with: shape (ndim, ndim + 1),
            any element type; or one per frame, with a layout such as "F**". Optional.
        reverse_order: bool, default False. With an input: apply this transform before that of
            the input, instead of after it.
        from_start: float or list of float or one value for each sample (tensor, Batch), default
            [0.0]. Start of the first box; 0 for an empty list.
        from_end: float or list of float or one value for each sample (tensor, Batch), default
            [1.0]. End of the first box; 1 for an empty list.
        to_start: float or list of float or one value for each sample (tensor, Batch), default
            [0.0]. Start of the second box; 0 for an empty list.
        to_end: float or list of float or one value for each sample (tensor, Batch), default
            [1.0]. End of the second box; 1 for an empty list.
        absolute: bool, default False. Swap start and end if the start is greater.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        batch_size: int, optional. Number of samples of the result, which is a batch then; by
            default it is one sample.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The transform, float32, shape (ndim, ndim + 1).
    """

def rotation(
    matrix: Sample | None = None,
    /,
    *,
    angle: float | Values,
    reverse_order: bool | None = False,
    axis: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    center: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    batch_size: int | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Any:
    """An affine transform that rotates points, alone or after that of the input: in 2-D, or with
    `axis` in 3-D. Positive angles rotate x towards y.

    Takes frame sequences (layouts with F).

    Args:
        matrix: Sample or batch. An affine transform to combine with: shape (ndim, ndim + 1),
            any element type; or one per frame, with a layout such as "F**". Optional.
        angle: float or one value for each sample (tensor, Batch), required. Angle in degrees.
        reverse_order: bool, default False. With an input: apply this transform before that of
            the input, instead of after it.
        axis: float or list of float or one value for each sample (tensor, Batch), optional.
            Axis of a 3-D rotation: x, y, z, of any length except 0. The opposite axis
            corresponds to the opposite angle.
        center: float or list of float or one value for each sample (tensor, Batch), optional.
            The fixed point, one number for each dimension or one for all; the origin by
            default.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        batch_size: int, optional. Number of samples of the result, which is a batch then; by
            default it is one sample.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The transform, float32, shape (ndim, ndim + 1).
    """

def scale(
    matrix: Sample | None = None,
    /,
    *,
    scale: float | Sequence[float] | NDArray[Any] | Values,
    reverse_order: bool | None = False,
    center: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    ndim: int | None = None,
    layout: str | None = None,
    batched: bool | None = False,
    batch_size: int | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Any:
    """An affine transform that scales coordinates, alone or after that of the input.

    Takes frame sequences (layouts with F).

    Args:
        matrix: Sample or batch. An affine transform to combine with: shape (ndim, ndim + 1),
            any element type; or one per frame, with a layout such as "F**". Optional.
        scale: float or list of float or one value for each sample (tensor, Batch), required.
            Factors, one for each dimension; a single one is for all dimensions of the input, or
            `ndim`.
        reverse_order: bool, default False. With an input: apply this transform before that of
            the input, instead of after it.
        center: float or list of float or one value for each sample (tensor, Batch), optional.
            The fixed point, one number for each dimension or one for all; the origin by
            default.
        ndim: int, optional. Number of dimensions if `scale` is one number and there is no
            input; 1 by default.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        batch_size: int, optional. Number of samples of the result, which is a batch then; by
            default it is one sample.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The transform, float32, shape (ndim, ndim + 1).
    """

def shear(
    matrix: Sample | None = None,
    /,
    *,
    reverse_order: bool | None = False,
    shear: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    angles: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    center: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    batch_size: int | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Any:
    """An affine transform that shears, alone or after that of the input: it moves points along
    each axis in proportion to their position on the others.

    Takes frame sequences (layouts with F).

    Args:
        matrix: Sample or batch. An affine transform to combine with: shape (ndim, ndim + 1),
            any element type; or one per frame, with a layout such as "F**". Optional.
        reverse_order: bool, default False. With an input: apply this transform before that of
            the input, instead of after it.
        shear: float or list of float or one value for each sample (tensor, Batch), optional.
            Factors: x by y, y by x in 2-D; xy, xz, yx, yz, zx, zy in 3-D. Their number
            determines the number of dimensions. Excludes `angles`.
        angles: float or list of float or one value for each sample (tensor, Batch), optional.
            Angles in degrees, -90 to 90, whose tangents are the factors. Excludes `shear`.
        center: float or list of float or one value for each sample (tensor, Batch), optional.
            The fixed point, one number for each dimension or one for all; the origin by
            default.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        batch_size: int, optional. Number of samples of the result, which is a batch then; by
            default it is one sample.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The transform, float32, shape (ndim, ndim + 1).
    """

def translation(
    matrix: Sample | None = None,
    /,
    *,
    offset: float | Sequence[float] | NDArray[Any] | Values,
    reverse_order: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    batch_size: int | None = None,
    device: str | os.PathLike[str] | None = None,
) -> Any:
    """An affine transform that moves points by an offset, alone or after that of the input.

    Takes frame sequences (layouts with F).

    Args:
        matrix: Sample or batch. An affine transform to combine with: shape (ndim, ndim + 1),
            any element type; or one per frame, with a layout such as "F**". Optional.
        offset: float or list of float or one value for each sample (tensor, Batch), required.
            The offset, one number for each dimension.
        reverse_order: bool, default False. With an input: apply this transform before that of
            the input, instead of after it.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        batch_size: int, optional. Number of samples of the result, which is a batch then; by
            default it is one sample.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: The transform, float32, shape (ndim, ndim + 1).
    """
