# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any, overload

from numpy.typing import NDArray

from torchdali.data_node import DataNode

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
    first: DataNode,
    second: DataNode,
    /,
    *more: Any,
    reverse_order: bool | None = False,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> DataNode:
    """The composition of affine transforms.

    Takes frame sequences (layouts with F).

    Args:
        first: DataNode. An affine transform: shape (ndim, ndim + 1), any element type; or one
            per frame, with a layout such as "F**".
        second: DataNode. Another transform with the same number of dimensions.
        more: DataNode. Further transforms. Optional.
        reverse_order: bool, default False. Apply the last input first, instead of the first
            input first.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        on_error: str, optional. What happens to a sample that the operator fails for: "raise",
            "skip" or "replace"; by default what the pipeline's `on_error` says.

    Returns:
        DataNode: The combined transform, float32, shape (ndim, ndim + 1).
    """

@overload
def combine(
    first: list[DataNode],
    second: Any,
    /,
    *more: Any,
    reverse_order: bool | None = False,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> list[DataNode]: ...
def crop(
    matrix: DataNode | None = None,
    /,
    *,
    reverse_order: bool | None = False,
    from_start: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    from_end: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    to_start: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    to_end: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    absolute: bool | None = False,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> DataNode:
    """An affine transform that maps the box from `from_start` to `from_end` to the box from
    `to_start` to `to_end`, alone or after that of the input. Each is a point: one number for
    each dimension, or one for all. A box without extent results in infinite factors.

    Takes frame sequences (layouts with F).

    Args:
        matrix: DataNode. An affine transform to combine with: shape (ndim, ndim + 1), any
            element type; or one per frame, with a layout such as "F**". Optional.
        reverse_order: bool, default False. With an input: apply this transform before that of
            the input, instead of after it.
        from_start: float or list of float or DataNode, default [0.0]. Start of the first box; 0
            for an empty list.
        from_end: float or list of float or DataNode, default [1.0]. End of the first box; 1 for
            an empty list.
        to_start: float or list of float or DataNode, default [0.0]. Start of the second box; 0
            for an empty list.
        to_end: float or list of float or DataNode, default [1.0]. End of the second box; 1 for
            an empty list.
        absolute: bool, default False. Swap start and end if the start is greater.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        on_error: str, optional. What happens to a sample that the operator fails for: "raise",
            "skip" or "replace"; by default what the pipeline's `on_error` says.

    Returns:
        DataNode: The transform, float32, shape (ndim, ndim + 1).
    """

def rotation(
    matrix: DataNode | None = None,
    /,
    *,
    angle: float | DataNode,
    reverse_order: bool | None = False,
    axis: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    center: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> DataNode:
    """An affine transform that rotates points, alone or after that of the input: in 2-D, or with
    `axis` in 3-D. Positive angles rotate x towards y.

    Takes frame sequences (layouts with F).

    Args:
        matrix: DataNode. An affine transform to combine with: shape (ndim, ndim + 1), any
            element type; or one per frame, with a layout such as "F**". Optional.
        angle: float or DataNode, required. Angle in degrees.
        reverse_order: bool, default False. With an input: apply this transform before that of
            the input, instead of after it.
        axis: float or list of float or DataNode, optional. Axis of a 3-D rotation: x, y, z, of
            any length except 0. The opposite axis corresponds to the opposite angle.
        center: float or list of float or DataNode, optional. The fixed point, one number for
            each dimension or one for all; the origin by default.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        on_error: str, optional. What happens to a sample that the operator fails for: "raise",
            "skip" or "replace"; by default what the pipeline's `on_error` says.

    Returns:
        DataNode: The transform, float32, shape (ndim, ndim + 1).
    """

def scale(
    matrix: DataNode | None = None,
    /,
    *,
    scale: float | Sequence[float] | NDArray[Any] | DataNode,
    reverse_order: bool | None = False,
    center: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    ndim: int | None = None,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> DataNode:
    """An affine transform that scales coordinates, alone or after that of the input.

    Takes frame sequences (layouts with F).

    Args:
        matrix: DataNode. An affine transform to combine with: shape (ndim, ndim + 1), any
            element type; or one per frame, with a layout such as "F**". Optional.
        scale: float or list of float or DataNode, required. Factors, one for each dimension; a
            single one is for all dimensions of the input, or `ndim`.
        reverse_order: bool, default False. With an input: apply this transform before that of
            the input, instead of after it.
        center: float or list of float or DataNode, optional. The fixed point, one number for
            each dimension or one for all; the origin by default.
        ndim: int, optional. Number of dimensions if `scale` is one number and there is no
            input; 1 by default.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        on_error: str, optional. What happens to a sample that the operator fails for: "raise",
            "skip" or "replace"; by default what the pipeline's `on_error` says.

    Returns:
        DataNode: The transform, float32, shape (ndim, ndim + 1).
    """

def shear(
    matrix: DataNode | None = None,
    /,
    *,
    reverse_order: bool | None = False,
    shear: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    angles: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    center: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> DataNode:
    """An affine transform that shears, alone or after that of the input: it moves points along
    each axis in proportion to their position on the others.

    Takes frame sequences (layouts with F).

    Args:
        matrix: DataNode. An affine transform to combine with: shape (ndim, ndim + 1), any
            element type; or one per frame, with a layout such as "F**". Optional.
        reverse_order: bool, default False. With an input: apply this transform before that of
            the input, instead of after it.
        shear: float or list of float or DataNode, optional. Factors: x by y, y by x in 2-D; xy,
            xz, yx, yz, zx, zy in 3-D. Their number determines the number of dimensions.
            Excludes `angles`.
        angles: float or list of float or DataNode, optional. Angles in degrees, -90 to 90,
            whose tangents are the factors. Excludes `shear`.
        center: float or list of float or DataNode, optional. The fixed point, one number for
            each dimension or one for all; the origin by default.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        on_error: str, optional. What happens to a sample that the operator fails for: "raise",
            "skip" or "replace"; by default what the pipeline's `on_error` says.

    Returns:
        DataNode: The transform, float32, shape (ndim, ndim + 1).
    """

def translation(
    matrix: DataNode | None = None,
    /,
    *,
    offset: float | Sequence[float] | NDArray[Any] | DataNode,
    reverse_order: bool | None = False,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> DataNode:
    """An affine transform that moves points by an offset, alone or after that of the input.

    Takes frame sequences (layouts with F).

    Args:
        matrix: DataNode. An affine transform to combine with: shape (ndim, ndim + 1), any
            element type; or one per frame, with a layout such as "F**". Optional.
        offset: float or list of float or DataNode, required. The offset, one number for each
            dimension.
        reverse_order: bool, default False. With an input: apply this transform before that of
            the input, instead of after it.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        on_error: str, optional. What happens to a sample that the operator fails for: "raise",
            "skip" or "replace"; by default what the pipeline's `on_error` says.

    Returns:
        DataNode: The transform, float32, shape (ndim, ndim + 1).
    """
