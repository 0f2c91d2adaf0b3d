# Made by `make generate` from the engine's registry; do not edit.
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
) -> DataNode:
    """One affine transform that does what several do one after the other.

    Takes frame sequences (layouts with F).

    Args:
        first: DataNode. An affine transform: shape (ndim, ndim + 1), any element type; or one a
            frame, with a layout such as "F**".
        second: DataNode. Another, of as many dimensions.
        more: DataNode. Further ones. Optional.
        reverse_order: bool, default False. Apply the last input first, instead of the first
            input first.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

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
) -> DataNode:
    """An affine transform that takes the box `from_start` to `from_end` to the box `to_start` to
    `to_end`, alone or behind the input's. Each is a point: one number for each dimension, or
    one for all. A box without extent gives infinite factors.

    Takes frame sequences (layouts with F).

    Args:
        matrix: DataNode. An affine transform to combine with: shape (ndim, ndim + 1), any
            element type; or one a frame, with a layout such as "F**". Optional.
        reverse_order: bool, default False. With an input: apply this transform first and the
            input's then, instead of the other way round.
        from_start: float or list of float or DataNode, default [0.0]. Where the first box
            begins; 0 for an empty list.
        from_end: float or list of float or DataNode, default [1.0]. Where the first box ends; 1
            for an empty list.
        to_start: float or list of float or DataNode, default [0.0]. Where the second box
            begins; 0 for an empty list.
        to_end: float or list of float or DataNode, default [1.0]. Where the second box ends; 1
            for an empty list.
        absolute: bool, default False. Swap start and end where the start is greater.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

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
) -> DataNode:
    """An affine transform that rotates points, alone or behind the input's: in the plane, or in
    space where `axis` is given. Positive angles turn x towards y.

    Takes frame sequences (layouts with F).

    Args:
        matrix: DataNode. An affine transform to combine with: shape (ndim, ndim + 1), any
            element type; or one a frame, with a layout such as "F**". Optional.
        angle: float or DataNode, required. Angle in degrees.
        reverse_order: bool, default False. With an input: apply this transform first and the
            input's then, instead of the other way round.
        axis: float or list of float or DataNode, optional. Axis of a rotation in space: x, y,
            z; of any length but 0. The opposite axis is the opposite angle.
        center: float or list of float or DataNode, optional. The point that stays where it is,
            one number for each dimension or one for all; the origin by default.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

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
) -> DataNode:
    """An affine transform that scales coordinates, alone or behind the input's.

    Takes frame sequences (layouts with F).

    Args:
        matrix: DataNode. An affine transform to combine with: shape (ndim, ndim + 1), any
            element type; or one a frame, with a layout such as "F**". Optional.
        scale: float or list of float or DataNode, required. Factors, one for each dimension;
            one alone serves all dimensions of the input, or `ndim`.
        reverse_order: bool, default False. With an input: apply this transform first and the
            input's then, instead of the other way round.
        center: float or list of float or DataNode, optional. The point that stays where it is,
            one number for each dimension or one for all; the origin by default.
        ndim: int, optional. Number of dimensions where `scale` is one number and there is no
            input; 1 by default.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

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
) -> DataNode:
    """An affine transform that shears, alone or behind the input's: it moves points along one axis
    by a factor of their position on another.

    Takes frame sequences (layouts with F).

    Args:
        matrix: DataNode. An affine transform to combine with: shape (ndim, ndim + 1), any
            element type; or one a frame, with a layout such as "F**". Optional.
        reverse_order: bool, default False. With an input: apply this transform first and the
            input's then, instead of the other way round.
        shear: float or list of float or DataNode, optional. Factors: x by y, y by x in the
            plane; xy, xz, yx, yz, zx, zy in space. Their number gives that of the dimensions.
            Excludes `angles`.
        angles: float or list of float or DataNode, optional. The factors as angles in degrees,
            -90 to 90, of which they are the tangents. Excludes `shear`.
        center: float or list of float or DataNode, optional. The point that stays where it is,
            one number for each dimension or one for all; the origin by default.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

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
) -> DataNode:
    """An affine transform that moves points by an offset, alone or behind the input's.

    Takes frame sequences (layouts with F).

    Args:
        matrix: DataNode. An affine transform to combine with: shape (ndim, ndim + 1), any
            element type; or one a frame, with a layout such as "F**". Optional.
        offset: float or list of float or DataNode, required. What is added, one number for each
            dimension; there are as many dimensions.
        reverse_order: bool, default False. With an input: apply this transform first and the
            input's then, instead of the other way round.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: The transform, float32, shape (ndim, ndim + 1).
    """
