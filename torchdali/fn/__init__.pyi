# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any, overload

import torch
from numpy.typing import NDArray

from torchdali import types
from torchdali.external_source import external_source as external_source
from torchdali.fn import decoders as decoders
from torchdali.fn import random as random
from torchdali.fn import readers as readers
from torchdali.graph import DataNode

__all__ = [
    "cast",
    "copy",
    "crop",
    "crop_mirror_normalize",
    "decoders",
    "external_source",
    "flip",
    "peek_image_shape",
    "random",
    "readers",
]

@overload
def cast(
    data: DataNode,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any],
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
) -> DataNode:
    """Converts the elements to another type. To an integer they are rounded to the nearest, halves
    away from zero, and saturate; NaN becomes 0. To bool, what rounds to 0 is false. To float16
    they are rounded to nearest even, and become infinite past 65504.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Any layout, any element type.
        dtype: types.DALIDataType, required. Element type of the output.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Shape and layout of the input.
    """

@overload
def cast(
    data: list[DataNode],
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any],
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
) -> list[DataNode]: ...
@overload
def copy(
    data: DataNode,
    /,
    *,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
) -> DataNode:
    """Copies the input. Costs nothing where nobody can tell the copy from the original.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Any layout, any element type.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Shape, element type and layout of the input.
    """

@overload
def copy(
    data: list[DataNode],
    /,
    *,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
) -> list[DataNode]: ...
@overload
def crop(
    data: DataNode,
    /,
    *,
    crop: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    crop_d: float | DataNode | None = 0.0,
    crop_h: float | DataNode | None = 0.0,
    crop_w: float | DataNode | None = 0.0,
    crop_pos_x: float | DataNode | None = 0.5,
    crop_pos_y: float | DataNode | None = 0.5,
    crop_pos_z: float | DataNode | None = 0.5,
    rounding: str | os.PathLike[str] | None = "round",
    out_of_bounds_policy: str | os.PathLike[str] | None = "error",
    fill_values: float | Sequence[float] | NDArray[Any] | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    image_type: Any = None,  # deprecated
    output_dtype: Any = None,  # deprecated
) -> DataNode:
    """Cuts a window out of each sample. Without a size the window is the whole sample. Fractions
    are cut off and values saturate where `dtype` asks for uint8 or float16 (fn.cast rounds).

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Images, volumes or sequences; any element type. Layouts: HWC, CHW, DHWC,
            CDHW, FHWC, FCHW, CFHW, FDHWC, FCDHW, CFDHW.
        crop: float or list of float or DataNode, optional. Size of the window, in pixels:
            (height, width) or (depth, height, width); fractions are cut off. Less than 1 keeps
            the whole axis. Excludes `crop_h`, `crop_w` and `crop_d`.
        crop_d: float or DataNode, default 0.0. Depth of the window, in slices (or frames, where
            the sample has no depth); needs `crop_h` and `crop_w`. 0 keeps the whole axis.
        crop_h: float or DataNode, default 0.0. Height of the window, in pixels; goes with
            `crop_w`. 0: all.
        crop_w: float or DataNode, default 0.0. Width of the window, in pixels; goes with
            `crop_h`. 0: all.
        crop_pos_x: float or DataNode, default 0.5. Horizontal position of the window, 0 (left)
            to 1 (right): the first column is crop_pos_x * (width - crop_w), rounded as
            `rounding` says.
        crop_pos_y: float or DataNode, default 0.5. Vertical position of the window, 0 (top) to
            1 (bottom).
        crop_pos_z: float or DataNode, default 0.5. Position of the window along depth (or
            frames), 0 to 1.
        rounding: str, default "round". How the first pixel of the window is made an integer:
            "round" (to the nearest, halves away from zero) or "truncate".
        out_of_bounds_policy: str, default "error". What to do where the window reaches outside
            the sample: "error", "pad" (fill with `fill_values`) or "trim_to_shape" (make the
            window smaller).
        fill_values: float or list of float, default [0.0]. Values of what lies outside the
            sample, with the policy "pad": one for all, or one a channel of the output. Integers
            cut off fractions and saturate.
        dtype: types.DALIDataType, optional. Element type of the output: uint8, float16, float32
            or the input's type, which is the default.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        image_type: deprecated, without effect.
        output_dtype: deprecated; use `dtype`.

    Returns:
        DataNode: The window, in the input's layout.
    """

@overload
def crop(
    data: list[DataNode],
    /,
    *,
    crop: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    crop_d: float | DataNode | None = 0.0,
    crop_h: float | DataNode | None = 0.0,
    crop_w: float | DataNode | None = 0.0,
    crop_pos_x: float | DataNode | None = 0.5,
    crop_pos_y: float | DataNode | None = 0.5,
    crop_pos_z: float | DataNode | None = 0.5,
    rounding: str | os.PathLike[str] | None = "round",
    out_of_bounds_policy: str | os.PathLike[str] | None = "error",
    fill_values: float | Sequence[float] | NDArray[Any] | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    image_type: Any = None,  # deprecated
    output_dtype: Any = None,  # deprecated
) -> list[DataNode]: ...
@overload
def crop_mirror_normalize(
    data: DataNode,
    /,
    *,
    crop: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    crop_d: float | DataNode | None = 0.0,
    crop_h: float | DataNode | None = 0.0,
    crop_w: float | DataNode | None = 0.0,
    crop_pos_x: float | DataNode | None = 0.5,
    crop_pos_y: float | DataNode | None = 0.5,
    crop_pos_z: float | DataNode | None = 0.5,
    rounding: str | os.PathLike[str] | None = "round",
    out_of_bounds_policy: str | os.PathLike[str] | None = "error",
    fill_values: float | Sequence[float] | NDArray[Any] | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    mean: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    std: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    scale: float | None = 1.0,
    shift: float | None = 0.0,
    mirror: int | DataNode | None = 0,
    output_layout: str | None = "CHW",
    pad_output: bool | None = False,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    image_type: Any = None,  # deprecated
    output_dtype: Any = None,  # deprecated
) -> DataNode:
    """Crops, mirrors left to right, normalises, converts and changes the layout in one pass: scale
    * (x - mean) / std + shift, computed in float. Results for integers are rounded to the
    nearest, halves away from zero, and saturate. Without a size the window is the whole sample.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Images, volumes or sequences; any element type. Layouts: HWC, CHW, DHWC,
            CDHW, FHWC, FCHW, CFHW, FDHWC, FCDHW, CFDHW.
        crop: float or list of float or DataNode, optional. Size of the window, in pixels:
            (height, width) or (depth, height, width); fractions are cut off. Less than 1 keeps
            the whole axis. Excludes `crop_h`, `crop_w` and `crop_d`.
        crop_d: float or DataNode, default 0.0. Depth of the window, in slices (or frames, where
            the sample has no depth); needs `crop_h` and `crop_w`. 0 keeps the whole axis.
        crop_h: float or DataNode, default 0.0. Height of the window, in pixels; goes with
            `crop_w`. 0: all.
        crop_w: float or DataNode, default 0.0. Width of the window, in pixels; goes with
            `crop_h`. 0: all.
        crop_pos_x: float or DataNode, default 0.5. Horizontal position of the window, 0 (left)
            to 1 (right): the first column is crop_pos_x * (width - crop_w), rounded as
            `rounding` says.
        crop_pos_y: float or DataNode, default 0.5. Vertical position of the window, 0 (top) to
            1 (bottom).
        crop_pos_z: float or DataNode, default 0.5. Position of the window along depth (or
            frames), 0 to 1.
        rounding: str, default "round". How the first pixel of the window is made an integer:
            "round" (to the nearest, halves away from zero) or "truncate".
        out_of_bounds_policy: str, default "error". What to do where the window reaches outside
            the sample: "error", "pad" (fill with `fill_values`) or "trim_to_shape" (make the
            window smaller).
        fill_values: float or list of float, default [0.0]. Values of what lies outside the
            sample, with the policy "pad": one for all, or one a channel of the output. Integers
            cut off fractions and saturate.
        dtype: types.DALIDataType, default types.DALIDataType.FLOAT. Element type of the output:
            float32, float16, int8 or uint8.
        mean: float or list of float or DataNode, default [0.0]. Mean to subtract: one for all
            channels or one each.
        std: float or list of float or DataNode, default [1.0]. Standard deviation to divide by:
            one for all channels or one each.
        scale: float, default 1.0. Factor of the result.
        shift: float, default 0.0. Added to the result.
        mirror: int or DataNode, default 0. Mirror the W axis where not 0.
        output_layout: layout str, default "CHW". Order of the output's axes, an order of those
            of the input; empty: the input's. For sequences and volumes it must be given, e.g.
            "FCHW".
        pad_output: bool, default False. Add channels up to a power of two; they hold
            `fill_values` with the policy "pad", else 0.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        image_type: deprecated, without effect.
        output_dtype: deprecated; use `dtype`.

    Returns:
        DataNode: The window, with `dtype` and `output_layout`.
    """

@overload
def crop_mirror_normalize(
    data: list[DataNode],
    /,
    *,
    crop: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    crop_d: float | DataNode | None = 0.0,
    crop_h: float | DataNode | None = 0.0,
    crop_w: float | DataNode | None = 0.0,
    crop_pos_x: float | DataNode | None = 0.5,
    crop_pos_y: float | DataNode | None = 0.5,
    crop_pos_z: float | DataNode | None = 0.5,
    rounding: str | os.PathLike[str] | None = "round",
    out_of_bounds_policy: str | os.PathLike[str] | None = "error",
    fill_values: float | Sequence[float] | NDArray[Any] | None = ...,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    mean: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    std: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    scale: float | None = 1.0,
    shift: float | None = 0.0,
    mirror: int | DataNode | None = 0,
    output_layout: str | None = "CHW",
    pad_output: bool | None = False,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    image_type: Any = None,  # deprecated
    output_dtype: Any = None,  # deprecated
) -> list[DataNode]: ...
@overload
def flip(
    data: DataNode,
    /,
    *,
    horizontal: int | DataNode | None = 1,
    vertical: int | DataNode | None = 0,
    depthwise: int | DataNode | None = 0,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
) -> DataNode:
    """Mirrors each sample along the chosen spatial axes.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Images, volumes or sequences; any element type. Layouts: FDHWC, FHWC,
            DHWC, HWC, FCDHW, FCHW, CDHW, CHW.
        horizontal: int or DataNode, default 1. Mirror the W axis (left to right) where not 0.
        vertical: int or DataNode, default 0. Mirror the H axis (top to bottom) where not 0.
        depthwise: int or DataNode, default 0. Mirror the D axis where not 0; ignored where
            there is none.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Shape, element type and layout of the input.
    """

@overload
def flip(
    data: list[DataNode],
    /,
    *,
    horizontal: int | DataNode | None = 1,
    vertical: int | DataNode | None = 0,
    depthwise: int | DataNode | None = 0,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
) -> list[DataNode]: ...
@overload
def peek_image_shape(
    data: DataNode,
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT64,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
    adjust_orientation: bool | None = True,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
) -> DataNode:
    """Reads height, width and channels from the header of an encoded image, without decoding it:
    the shape that decoders.image gives.

    Args:
        data: DataNode. The bytes of one image file a sample, uint8.
        dtype: types.DALIDataType, default types.DALIDataType.INT64. Type of the output.
        image_type: types.DALIImageType, default types.DALIImageType.RGB. The `output_type` that
            the image would be decoded to.
        adjust_orientation: bool, default True. Swap height and width where EXIF says so.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Height, width and channels: 3 numbers of `dtype`.
    """

@overload
def peek_image_shape(
    data: list[DataNode],
    /,
    *,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT64,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
    adjust_orientation: bool | None = True,
    device: str | None = "cpu",
    name: str | None = None,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
) -> list[DataNode]: ...
