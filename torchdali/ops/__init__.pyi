# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Callable, Sequence
from typing import Any, overload

import torch
from numpy.typing import NDArray

from torchdali import types
from torchdali._callables import _Operator
from torchdali.data_node import DataNode
from torchdali.external_source import ExternalSource as ExternalSource
from torchdali.ops import decoders as decoders
from torchdali.ops import experimental as experimental
from torchdali.ops import random as random
from torchdali.ops import readers as readers
from torchdali.ops import reductions as reductions

__all__ = [
    "Brightness",
    "BrightnessContrast",
    "Cast",
    "CastLike",
    "Cat",
    "ColorSpaceConversion",
    "ColorTwist",
    "Constant",
    "Contrast",
    "Copy",
    "Crop",
    "CropMirrorNormalize",
    "DLTensorPythonFunction",
    "ElementExtract",
    "Equalize",
    "Erase",
    "ExpandDims",
    "ExternalSource",
    "Flip",
    "Full",
    "FullLike",
    "GetProperty",
    "Hsv",
    "Hue",
    "LookupTable",
    "Normalize",
    "OneHot",
    "Ones",
    "OnesLike",
    "Pad",
    "PeekImageShape",
    "PerFrame",
    "PythonFunction",
    "RandomResizedCrop",
    "Reinterpret",
    "Reshape",
    "Resize",
    "ResizeCropMirror",
    "Rotate",
    "Saturation",
    "Shapes",
    "Slice",
    "Squeeze",
    "Stack",
    "SubscriptDimCheck",
    "TensorSubscript",
    "TorchPythonFunction",
    "Transpose",
    "WarpAffine",
    "Zeros",
    "ZerosLike",
    "decoders",
    "experimental",
    "random",
    "readers",
    "reductions",
]

class Brightness(_Operator):
    """Adjusts brightness: brightness_shift * range + brightness * x, where range is the greatest
    value of the output's type, or 1 for floating types.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Images, volumes or sequences; any element type. Layouts: FHWC, DHWC,
            HWC.
        dtype: types.DALIDataType, optional. Element type of the output; the input's by default.
        brightness: float or DataNode, default 1.0. Factor of the brightness; 1 changes nothing,
            0 gives black.
        brightness_shift: float or DataNode, default 0.0. Added to the result, in units of the
            greatest value of the output's type (1 for floating types).
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Shape and layout of the input, of type `dtype`. Computed in float32; integers
            are rounded, halves away from zero, and saturate.
    """

    def __init__(
        self,
        *,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        brightness: float | DataNode | None = 1.0,
        brightness_shift: float | DataNode | None = 0.0,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class BrightnessContrast(_Operator):
    """Adjusts brightness and contrast: brightness_shift * range + brightness * (contrast_center +
    contrast * (x - contrast_center)), where range is the greatest value of the output's type,
    or 1 for floating types.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Images, volumes or sequences; any element type. Layouts: FHWC, DHWC,
            HWC.
        dtype: types.DALIDataType, optional. Element type of the output; the input's by default.
        brightness: float or DataNode, default 1.0. Factor of the brightness; 1 changes nothing,
            0 gives black.
        brightness_shift: float or DataNode, default 0.0. Added to the result, in units of the
            greatest value of the output's type (1 for floating types).
        contrast: float or DataNode, default 1.0. Factor of the contrast; 1 changes nothing, 0
            gives uniform gray.
        contrast_center: float or DataNode, default 0.5. The value that contrast leaves as it
            is. Where it is not given: half the range of the input's type, which is 128 for
            uint8, 0.5 for floating types.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Shape and layout of the input, of type `dtype`. Computed in float32; integers
            are rounded, halves away from zero, and saturate.
    """

    def __init__(
        self,
        *,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        brightness: float | DataNode | None = 1.0,
        brightness_shift: float | DataNode | None = 0.0,
        contrast: float | DataNode | None = 1.0,
        contrast_center: float | DataNode | None = 0.5,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Cast(_Operator):
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

    def __init__(
        self,
        *,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class CastLike(_Operator):
    """Converts the elements to the type of another input, as fn.cast does.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Any layout, any element type.
        like: DataNode. Whose element type the output has; its values do not matter.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Shape and layout of `data`.
    """

    def __init__(
        self,
        *,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        like: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        like: Any,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Cat(_Operator):
    """Puts the inputs together along an axis that they have. Their shapes may differ along this
    axis only.

    Args:
        input: DataNode. Any layout, any element type.
        inputs: DataNode. More of them, of the same type. Optional.
        axis: int, default 0. The axis; negative numbers count from the end. Excludes
            `axis_name`.
        axis_name: str, optional. The axis as a letter of the first input's layout.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Layout and element type of the first input.
    """

    def __init__(
        self,
        *,
        axis: int | None = 0,
        axis_name: str | os.PathLike[str] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        input: DataNode,
        /,
        *inputs: Any,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        input: list[DataNode],
        /,
        *inputs: Any,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class ColorSpaceConversion(_Operator):
    """Converts images between colour spaces. YCbCr is that of ITU-R BT.601 in its limited range
    (luma 16 to 235, colour differences 16 to 240); gray is the luma of BT.601 in the full range
    0 to 255. Results are rounded to the nearest and saturate.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Images, volumes or sequences of uint8, with the channels of
            `image_type`. Layouts: FDHWC, FHWC, DHWC, HWC.
        image_type: types.DALIImageType, required. Colour space of the input.
        output_type: types.DALIImageType, required. Colour space of the output; the same as
            `image_type` changes nothing.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Layout of the input, uint8, with the channels of `output_type`: one for GRAY,
            else three.
    """

    def __init__(
        self,
        *,
        image_type: types.DALIImageType | None = None,
        output_type: types.DALIImageType | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class ColorTwist(_Operator):
    """Adjusts hue, saturation, contrast and brightness at once: rotates and scales the colour
    plane of YIQ, then brightness * (center + contrast * (x - center)), where center is 128 for
    integers and 0.5 for floating types.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. RGB images, volumes or sequences, with three channels; any element type.
            Layouts: HWC, FHWC, DHWC.
        hue: float or DataNode, default 0.0. Rotation of the hue, in degrees.
        saturation: float or DataNode, default 1.0. Factor of the saturation; 1 changes nothing,
            0 gives shades of gray.
        contrast: float or DataNode, default 1.0. Factor of the contrast; 1 changes nothing, 0
            gives uniform gray.
        brightness: float or DataNode, default 1.0. Factor of all channels; 1 changes nothing, 0
            gives black.
        dtype: types.DALIDataType, optional. Element type of the output; the input's by default.
        image_type: types.DALIImageType, default types.DALIImageType.RGB. Has no effect: the
            channels are red, green, blue.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Shape and layout of the input, of type `dtype`. Computed in float32; integers
            are rounded, halves away from zero, and saturate.
    """

    def __init__(
        self,
        *,
        hue: float | DataNode | None = 0.0,
        saturation: float | DataNode | None = 1.0,
        contrast: float | DataNode | None = 1.0,
        brightness: float | DataNode | None = 1.0,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        image_type: types.DALIImageType | None = types.DALIImageType.RGB,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Constant(_Operator):
    """Gives one tensor for every sample. types.Constant makes it from numbers, lists and arrays,
    which is easier.

    Args:
        fdata: float or list of float, optional. The elements as numbers, in C order. One number
            fills the whole shape.
        idata: int or list of int, optional. The elements as integers, in C order. One number
            fills the whole shape.
        data: bytes, optional. The elements as the bytes of an array in C order, of the type
            `data_dtype`.
        data_dtype: types.DALIDataType, optional. Element type of `data`.
        shape: int or list of int, optional. Shape of the output; by default one dimension, as
            long as there are elements.
        dtype: types.DALIDataType, optional. Element type of the output, to which the elements
            are converted as by fn.cast; by default FLOAT for `fdata`, INT32 for `idata`,
            `data_dtype` for `data`.
        layout: layout str, optional. Letters of the axes, one a dimension.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: The tensor, with the shape, element type and layout that were asked for.
    """

    def __init__(
        self,
        *,
        fdata: float | Sequence[float] | NDArray[Any] | None = ...,
        idata: int | Sequence[int] | NDArray[Any] | None = ...,
        data: bytes | None = None,
        data_dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        shape: int | Sequence[int] | NDArray[Any] | None = ...,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        layout: str | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> DataNode: ...

class Contrast(_Operator):
    """Adjusts contrast: contrast_center + contrast * (x - contrast_center).

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Images, volumes or sequences; any element type. Layouts: FHWC, DHWC,
            HWC.
        dtype: types.DALIDataType, optional. Element type of the output; the input's by default.
        contrast: float or DataNode, default 1.0. Factor of the contrast; 1 changes nothing, 0
            gives uniform gray.
        contrast_center: float or DataNode, default 0.5. The value that contrast leaves as it
            is. Where it is not given: half the range of the input's type, which is 128 for
            uint8, 0.5 for floating types.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Shape and layout of the input, of type `dtype`. Computed in float32; integers
            are rounded, halves away from zero, and saturate.
    """

    def __init__(
        self,
        *,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        contrast: float | DataNode | None = 1.0,
        contrast_center: float | DataNode | None = 0.5,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Copy(_Operator):
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

    def __init__(
        self,
        *,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Crop(_Operator):
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

    def __init__(
        self,
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
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class CropMirrorNormalize(_Operator):
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

    def __init__(
        self,
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
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class DLTensorPythonFunction(_Operator):
    """Calls a Python function with the samples as DLPack capsules, for which every array library
    has a from_dlpack(), and takes capsules or objects with ``__dlpack__`` from it.

    The inputs are views of the pipeline's memory, which stays as long as the function keeps
    them; it must not write to them (with the environment variable TORCHDALI_CHECK_FUNCTIONS=1
    that is an error). What it returns may have any strides, and samples of a batch may differ
    in shape, not in type and number of dimensions. What it raises ends the iteration with an
    error that has it as its cause; the pipeline goes on.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        inputs: DataNode. Passed to the function, one DLPack capsule each. Optional.
        function: function, required. Called as function(input, ...). Returns the output, or a
            tuple of `num_outputs` of them. Is called exactly once for each sample (or batch),
            in their order, by one thread at a time.
        batch_processing: bool, default True. Call the function once for a batch, with a list of
            samples for each input. Each output is then a list of samples, or one array with the
            samples as its first axis.
        num_outputs: int, default 1. Number of outputs; with 0 the function returns None.
        output_layouts: layout str or list of layout str, optional. Axes of the outputs, such as
            "HWC"; a list gives one to each of the first outputs.
        workers: str, optional. "threads": call the function from all threads of the pipeline,
            for functions that release the GIL; not in order any more, and samples of different
            batches at the same time. "processes": call it in `py_num_workers` processes of its
            own, for functions that are worth a copy of their inputs; it is sent there as the
            source of a parallel fn.external_source is (`py_start_method`,
            `py_callback_pickler`), and its inputs are there for the time of the call.
        seed_generators: bool, default False. Seed the global generators of random, NumPy and
            torch before each call, and give them back as they were after the batch. Until then
            other threads that draw from them see it; torchdali.current_sample() has generators
            that nobody else sees. With workers="processes" they are those of the worker.
        synchronize_stream: bool, default True. On the GPU, wait for the pipeline's stream
            before the call. On the CPU there is nothing to wait for.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        seed: int, default -1. Seed of the operator's random values; -1 derives it from the seed
            of the pipeline. Operators with the same seed draw the same values.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode, or a list of them; the number depends on the arguments.
            outputs: What the function returned.
    """

    def __init__(
        self,
        *,
        function: Callable[..., Any] | None = None,
        batch_processing: bool | None = True,
        num_outputs: int | None = 1,
        output_layouts: str | Sequence[str] | None = ...,
        workers: str | os.PathLike[str] | None = None,
        seed_generators: bool | None = False,
        synchronize_stream: bool | None = True,
        device: str | None = "cpu",
        name: str | None = None,
        seed: int | None = -1,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    def __call__(
        self,
        *inputs: Any,
        **kwargs: Any,
    ) -> Any: ...

class ElementExtract(_Operator):
    """Gives frames of a sequence as outputs of their own. Views: nothing is copied.

    Args:
        sequence: DataNode. A sequence: at least two axes, the first of which is that of the
            frames.
        element_map: int or list of int, required. Numbers of the frames, from 0.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode, or a list of them; the number depends on the arguments.
            element: The frame of each number in `element_map`, one output each.
    """

    def __init__(
        self,
        *,
        element_map: int | Sequence[int] | NDArray[Any] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        sequence: DataNode,
        /,
        **kwargs: Any,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        sequence: list[DataNode],
        /,
        **kwargs: Any,
    ) -> Any: ...

class Equalize(_Operator):
    """Equalises the histogram of each channel of an image: values are mapped so that all
    intensities from 0 to 255 occur about equally often. A channel of one value stays as it is.

    Takes frame sequences (layouts with F).

    Args:
        data: DataNode. Images or sequences of uint8, with any number of channels. Layouts: HW,
            HWC, CHW, FHW, FHWC, FCHW.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Shape and layout of the input, uint8.
    """

    def __init__(
        self,
        *,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Erase(_Operator):
    """Fills regions of each sample. `anchor` and `shape` have a value for each axis, one region
    after the other; what lies outside the sample is left out. A region reaches from the element
    that its anchor lies in to the one before that where it ends. A view where there is nothing
    to erase.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Any layout, any element type.
        anchor: float or list of float or DataNode, default []. Where the regions begin; empty:
            at the origin. Elements, or fractions of the extent with `normalized` or
            `normalized_anchor`.
        shape: float or list of float or DataNode, default []. Extents of the regions; empty:
            nothing is erased. Elements, or fractions of the extent with `normalized` or
            `normalized_shape`.
        axes: int or list of int, default [1, 0]. Axes that `anchor` and `shape` are for, as
            numbers; negative ones count from the end. Without this and `axis_names` they are
            for all axes but that of the channels.
        axis_names: str, default "HW". The axes as letters of the layout; given, it wins over
            `axes`.
        fill_value: float or list of float or DataNode, default [0.0]. Value to fill with, one
            or one a channel. Integers cut off fractions and saturate.
        normalized: bool, default False. Coordinates are fractions of the extents; excludes the
            two arguments below.
        normalized_anchor: bool, default False. `anchor` holds fractions of the extents.
        normalized_shape: bool, default False. `shape` holds fractions of the extents.
        centered_anchor: bool, default False. `anchor` is the middle of a region.
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

    def __init__(
        self,
        *,
        anchor: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        shape: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        axes: int | Sequence[int] | NDArray[Any] | None = ...,
        axis_names: str | os.PathLike[str] | None = "HW",
        fill_value: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        normalized: bool | None = False,
        normalized_anchor: bool | None = False,
        normalized_shape: bool | None = False,
        centered_anchor: bool | None = False,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class ExpandDims(_Operator):
    """Inserts axes of extent 1. A view: nothing is copied.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Any layout, any element type.
        axes: int or list of int, required. Where the new axes are in the output; numbers below
            0 count from its end.
        new_axis_names: layout str, default "". Letters of the new axes in the layout, in the
            order of `axes`; the input needs a layout then.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: The input with the new axes. It has a layout only where `new_axis_names` are
            given.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | NDArray[Any] | None = None,
        new_axis_names: str | None = "",
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Flip(_Operator):
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

    def __init__(
        self,
        *,
        horizontal: int | DataNode | None = 1,
        vertical: int | DataNode | None = 0,
        depthwise: int | DataNode | None = 0,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Full(_Operator):
    """Repeats a value until it fills a shape, by NumPy's rules for broadcasting.

    Args:
        fill_value: DataNode. A scalar or a tensor; extents that differ from those of `shape`
            are 1.
        shape: int or list of int or DataNode, optional. Shape of the output; by default that of
            the fill value, or a scalar.
        layout: layout str, optional. Letters of the axes, one a dimension.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Of the type of `fill_value`.
    """

    def __init__(
        self,
        *,
        shape: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        layout: str | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        fill_value: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        fill_value: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class FullLike(_Operator):
    """Repeats a value until it fills the shape of an input, by NumPy's rules for broadcasting.

    Args:
        data_like: DataNode. Whose shape, layout and type the output has.
        fill_value: DataNode. A scalar or a tensor, converted to that type as by fn.cast.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Shape, layout and type of `data_like`.
    """

    def __init__(
        self,
        *,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data_like: DataNode,
        fill_value: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data_like: list[DataNode],
        fill_value: Any,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class GetProperty(_Operator):
    """Gives what is known about each sample beside its elements: `x.property(key)` makes it of
    `x`.

    Args:
        data: DataNode. Any layout, any element type.
        key: str, required. "source_info": the path or key that the sample was made from,
            relative to the reader's root; "layout": the letters of its axes.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: The text as bytes, uint8; of length 0 where there is none.
    """

    def __init__(
        self,
        *,
        key: str | os.PathLike[str] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Hsv(_Operator):
    """Adjusts hue, saturation and value (brightness): rotates and scales the colour plane of YIQ,
    then scales all channels. No conversion to HSV happens.

    Takes frame sequences (layouts with F).

    Args:
        data: DataNode. RGB images, volumes or sequences, with three channels; any element type.
            Layouts: HWC, FHWC, DHWC.
        hue: float or DataNode, default 0.0. Rotation of the hue, in degrees.
        saturation: float or DataNode, default 1.0. Factor of the saturation; 1 changes nothing,
            0 gives shades of gray.
        value: float or DataNode, default 1.0. Factor of all channels; 1 changes nothing, 0
            gives black.
        dtype: types.DALIDataType, default types.DALIDataType.UINT8. Element type of the output,
            whatever the input's is.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Shape and layout of the input, of type `dtype`. Computed in float32; integers
            are rounded, halves away from zero, and saturate.
    """

    def __init__(
        self,
        *,
        hue: float | DataNode | None = 0.0,
        saturation: float | DataNode | None = 1.0,
        value: float | DataNode | None = 1.0,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.UINT8,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Hue(_Operator):
    """Rotates the hue, in the colour plane of YIQ.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. RGB images, volumes or sequences, with three channels; any element type.
            Layouts: HWC, FHWC, DHWC.
        hue: float or DataNode, default 0.0. Rotation of the hue, in degrees.
        dtype: types.DALIDataType, optional. Element type of the output; the input's by default.
        image_type: types.DALIImageType, default types.DALIImageType.RGB. Has no effect: the
            channels are red, green, blue.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Shape and layout of the input, of type `dtype`. Computed in float32; integers
            are rounded, halves away from zero, and saturate.
    """

    def __init__(
        self,
        *,
        hue: float | DataNode | None = 0.0,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        image_type: types.DALIImageType | None = types.DALIImageType.RGB,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class LookupTable(_Operator):
    """Replaces each element by the value that belongs to it as a key, or by `default_value`. A key
    that is listed twice has the later value.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Integers or bool, of any shape and layout.
        keys: int or list of int, default []. Keys, 0 to 65535.
        values: float or list of float, default []. Values, one a key, converted to `dtype` as
            fn.cast does: integers are rounded and saturate.
        default_value: float, default 0.0. Value of what is not in `keys`.
        dtype: types.DALIDataType, default types.DALIDataType.FLOAT. Element type of the output.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        output_dtype: deprecated; use `dtype`.

    Returns:
        DataNode: Shape and layout of the input, of type `dtype`.
    """

    def __init__(
        self,
        *,
        keys: int | Sequence[int] | NDArray[Any] | None = ...,
        values: float | Sequence[float] | NDArray[Any] | None = ...,
        default_value: float | None = 0.0,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        output_dtype: Any = None,  # deprecated
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Normalize(_Operator):
    """scale * (x - mean) / stddev + shift, in float, with a mean and a standard deviation that are
    given or computed along axes, of each sample or of the batch. Where the standard deviation
    is 0, the result is `shift`.

    Takes volumes (layouts with D).

    Args:
        data: DataNode. Samples; any element type, any layout.
        axes: int or list of int, optional. Axes along which mean and standard deviation are
            taken. By default those along which the tensors given for `mean` or `stddev` have
            extent 1, else all. Negative ones count from the back; none may come twice.
        axis_names: layout str, optional. The axes by their letters in the layout, e.g. "HW";
            excludes `axes`.
        batch: bool, default False. Take mean and standard deviation over all samples of the
            batch, which must agree in the other axes.
        mean: float or DataNode, optional. The mean: a number, or a tensor a sample, with extent
            1 along `axes` and that of the input along the others, or of one value. Computed by
            default.
        stddev: float or DataNode, optional. The standard deviation, like `mean`. Computed by
            default, with `mean` where that is given.
        ddof: int, default 0. Delta degrees of freedom of the computed variance: divisor N -
            ddof.
        epsilon: float, default 0.0. Added to the variance (a given standard deviation's
            square).
        scale: float, default 1.0. Factor of the result.
        shift: float, default 0.0. Added to the result: what the mean becomes.
        dtype: types.DALIDataType, default types.DALIDataType.FLOAT. Element type of the output.
            For integers results are rounded to the nearest, halves away from zero, and
            saturate.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Shape and layout of the input, element type `dtype`.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | NDArray[Any] | None = ...,
        axis_names: str | None = None,
        batch: bool | None = False,
        mean: float | DataNode | None = None,
        stddev: float | DataNode | None = None,
        ddof: int | None = 0,
        epsilon: float | None = 0.0,
        scale: float | None = 1.0,
        shift: float | None = 0.0,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class OneHot(_Operator):
    """Makes of each class number a vector of `num_classes` values: `on_value` at the class,
    `off_value` elsewhere. Numbers that are no class are "off" everywhere, fractions are cut
    off. Where every sample of the batch has one element and `axis` is -1, samples are taken as
    scalars.

    Args:
        classes: DataNode. Class numbers, any layout, any element type.
        axis: int, default -1. Where the axis of the classes is in the output; -1: behind all
            others.
        axis_name: str, optional. Letter of that axis in the layout; an input that is no scalar
            needs one then. Without it the output has no layout.
        dtype: types.DALIDataType, default types.DALIDataType.FLOAT. Element type of the output.
        num_classes: int, default 0. Number of classes: the length of the axis.
        on_value: float, default 1.0. Value at the class. Integers cut off fractions and
            saturate.
        off_value: float, default 0.0. Value elsewhere.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: The input's axes and the one of the classes.
    """

    def __init__(
        self,
        *,
        axis: int | None = -1,
        axis_name: str | os.PathLike[str] | None = None,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
        num_classes: int | None = 0,
        on_value: float | None = 1.0,
        off_value: float | None = 0.0,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        classes: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        classes: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Ones(_Operator):
    """Gives tensors of ones.

    Args:
        shape: int or list of int or DataNode, optional. Shape of the output; by default that of
            the fill value, or a scalar.
        layout: layout str, optional. Letters of the axes, one a dimension.
        dtype: types.DALIDataType, default types.DALIDataType.INT32. Element type of the output.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Ones, of the shape and type that were asked for.
    """

    def __init__(
        self,
        *,
        shape: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        layout: str | None = None,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT32,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> DataNode: ...

class OnesLike(_Operator):
    """Gives ones in the shape of the input.

    Args:
        data_like: DataNode. Whose shape, layout and type the output has.
        dtype: types.DALIDataType, optional. Element type of the output, by default the input's.
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

    def __init__(
        self,
        *,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data_like: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data_like: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Pad(_Operator):
    """Pads samples at the end of their axes: to `shape`, to a multiple of `align`, or, where no
    shape is given, to the largest sample of the batch. A view where there is nothing to pad.

    Takes volumes (layouts with D).

    Args:
        data: DataNode. Any layout, any element type.
        axes: int or list of int or DataNode, optional. Axes to pad, as numbers; negative ones
            count from the end. By default, or where the list is empty, all. Excludes
            `axis_names`.
        axis_names: layout str, optional. Axes to pad, as letters of the layout.
        shape: int or list of int or DataNode, optional. Extents to pad to, one for each axis or
            one for all; what is larger stays as it is. 0 or less: the largest extent in the
            batch.
        align: int or list of int or DataNode, optional. The extents become multiples of these
            numbers (above 0), one for each axis or one for all.
        fill_value: float or DataNode, default 0.0. Value of what is added. Integers cut off
            fractions and saturate.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Layout and element type of the input.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        axis_names: str | None = None,
        shape: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        align: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        fill_value: float | DataNode | None = 0.0,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class PeekImageShape(_Operator):
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

    def __init__(
        self,
        *,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT64,
        image_type: types.DALIImageType | None = types.DALIImageType.RGB,
        adjust_orientation: bool | None = True,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class PerFrame(_Operator):
    """Marks a tensor as a sequence: given as an argument of an operator that takes sequences, it
    has one value for each frame. A view: nothing is copied.

    Args:
        data: DataNode. One value a frame: at least one axis, which is that of the frames.
        replace: bool, default False. Replaces the first letter of the layout by "F" where it is
            another one; otherwise such an input is an error.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: The input with a layout that begins with "F"; axes without a letter become
            "*".
    """

    def __init__(
        self,
        *,
        replace: bool | None = False,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class PythonFunction(_Operator):
    """Calls a Python function with the samples as NumPy arrays, and takes NumPy arrays from it (or
    torch tensors, or objects with DLPack).

    The inputs are views of the pipeline's memory, which stays as long as the function keeps
    them; it must not write to them (with the environment variable TORCHDALI_CHECK_FUNCTIONS=1
    that is an error). What it returns may have any strides, and samples of a batch may differ
    in shape, not in type and number of dimensions. What it raises ends the iteration with an
    error that has it as its cause; the pipeline goes on.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        inputs: DataNode. Passed to the function, one NumPy array each. Optional.
        function: function, required. Called as function(input, ...). Returns the output, or a
            tuple of `num_outputs` of them. Is called exactly once for each sample (or batch),
            in their order, by one thread at a time.
        batch_processing: bool, default False. Call the function once for a batch, with a list
            of samples for each input. Each output is then a list of samples, or one array with
            the samples as its first axis.
        num_outputs: int, default 1. Number of outputs; with 0 the function returns None.
        output_layouts: layout str or list of layout str, optional. Axes of the outputs, such as
            "HWC"; a list gives one to each of the first outputs.
        workers: str, optional. "threads": call the function from all threads of the pipeline,
            for functions that release the GIL; not in order any more, and samples of different
            batches at the same time. "processes": call it in `py_num_workers` processes of its
            own, for functions that are worth a copy of their inputs; it is sent there as the
            source of a parallel fn.external_source is (`py_start_method`,
            `py_callback_pickler`), and its inputs are there for the time of the call.
        seed_generators: bool, default False. Seed the global generators of random, NumPy and
            torch before each call, and give them back as they were after the batch. Until then
            other threads that draw from them see it; torchdali.current_sample() has generators
            that nobody else sees. With workers="processes" they are those of the worker.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        seed: int, default -1. Seed of the operator's random values; -1 derives it from the seed
            of the pipeline. Operators with the same seed draw the same values.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode, or a list of them; the number depends on the arguments.
            outputs: What the function returned.
    """

    def __init__(
        self,
        *,
        function: Callable[..., Any] | None = None,
        batch_processing: bool | None = False,
        num_outputs: int | None = 1,
        output_layouts: str | Sequence[str] | None = ...,
        workers: str | os.PathLike[str] | None = None,
        seed_generators: bool | None = False,
        device: str | None = "cpu",
        name: str | None = None,
        seed: int | None = -1,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    def __call__(
        self,
        *inputs: Any,
        **kwargs: Any,
    ) -> Any: ...

class RandomResizedCrop(_Operator):
    """Crops a window of random area, aspect ratio and position and resizes it to a fixed size.
    Frames of a sequence share the window. Filters read around the window where the input has
    pixels there.

    Takes frame sequences (layouts with F).

    Args:
        data: DataNode. Images or sequences; uint8, int16, uint16 or float32. Layouts: HWC, CHW,
            FHWC, FCHW, CFHW.
        size: int or list of int, required. Size of the result in pixels: (height, width), or
            one number for both.
        random_area: float or list of float, default [0.08, 1.0]. Range of the window's area, as
            a fraction of the image.
        random_aspect_ratio: float or list of float, default [0.75, 1.333333]. Range of the
            window's width over its height; drawn evenly on a logarithmic scale.
        num_attempts: int, default 10. Draws of area and aspect ratio before the largest window
            with a permitted ratio is taken, from a random place.
        interp_type: types.DALIInterpType or DataNode, default
            types.DALIInterpType.INTERP_LINEAR. Filter along every axis, unless `min_filter` or
            `mag_filter` is given: nearest neighbour, linear (triangular is the same), cubic
            (Catmull-Rom), Lanczos with 3 lobes or Gaussian.
        min_filter: types.DALIInterpType or DataNode, default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that shrink.
        mag_filter: types.DALIInterpType or DataNode, default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that grow or keep their size.
        antialias: bool, default True. Widen the filter by the scale along axes that shrink, so
            that every input pixel counts. Nearest neighbour is never widened.
        dtype: types.DALIDataType, optional. Element type of the result: that of the input (the
            default) or float. Integers are rounded and saturate.
        minibatch_size: int, default 32. A hint for the GPU; without effect on the CPU.
        temp_buffer_hint: int, default 0. A hint for the GPU; without effect on the CPU.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        seed: int, default -1. Seed of the operator's random values; -1 derives it from the seed
            of the pipeline. Operators with the same seed draw the same values.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Layout of the input; element type `dtype`.
    """

    def __init__(
        self,
        *,
        size: int | Sequence[int] | NDArray[Any] | None = None,
        random_area: float | Sequence[float] | NDArray[Any] | None = ...,
        random_aspect_ratio: float | Sequence[float] | NDArray[Any] | None = ...,
        num_attempts: int | None = 10,
        interp_type: types.DALIInterpType | DataNode | None = types.DALIInterpType.INTERP_LINEAR,
        min_filter: types.DALIInterpType | DataNode | None = types.DALIInterpType.INTERP_LINEAR,
        mag_filter: types.DALIInterpType | DataNode | None = types.DALIInterpType.INTERP_LINEAR,
        antialias: bool | None = True,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        minibatch_size: int | None = 32,
        temp_buffer_hint: int | None = 0,
        device: str | None = "cpu",
        name: str | None = None,
        seed: int | None = -1,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Reinterpret(_Operator):
    """Takes the bytes of the input as elements of another type, and gives them other extents as
    fn.reshape does. Without a shape the last axis becomes longer or shorter. Bytes that become
    bool are false where they are 0. A view where the memory allows it.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Any layout, any element type.
        shape_input: DataNode. Extents of the output, integers, as `shape` has them. Optional.
        shape: int or list of int or DataNode, optional. Extents of the output; one of them may
            be negative and follows from the rest.
        rel_shape: float or list of float or DataNode, optional. Extents of the output as
            multiples of those of the input (or of the axes that `src_dims` names), rounded to
            the nearest; one of them may be negative and follows from the rest.
        src_dims: int or list of int or DataNode, optional. Which axis of the input each axis of
            the output takes its extent from; -1 is a new axis of extent 1. The elements keep
            their order. Without effect where `shape` is given.
        layout: layout str, optional. Layout of the output, "" for none. By default the input's,
            where the number of dimensions stays, else none.
        dtype: types.DALIDataType, optional. Element type of the output, by default the input's.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: The bytes of the input.
    """

    def __init__(
        self,
        *,
        shape: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        rel_shape: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        src_dims: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        layout: str | None = None,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        shape_input: DataNode | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        shape_input: Any | None = None,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Reshape(_Operator):
    """Gives the elements other extents, in the same order: by `shape`, by factors, from another
    input; or only another layout. A view: nothing is copied.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Any layout, any element type.
        shape_input: DataNode. Extents of the output, integers, as `shape` has them. Optional.
        shape: int or list of int or DataNode, optional. Extents of the output; one of them may
            be negative and follows from the rest.
        rel_shape: float or list of float or DataNode, optional. Extents of the output as
            multiples of those of the input (or of the axes that `src_dims` names), rounded to
            the nearest; one of them may be negative and follows from the rest.
        src_dims: int or list of int or DataNode, optional. Which axis of the input each axis of
            the output takes its extent from; -1 is a new axis of extent 1. The elements keep
            their order. Without effect where `shape` is given.
        layout: layout str, optional. Layout of the output, "" for none. By default the input's,
            where the number of dimensions stays, else none.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: The elements of the input.
    """

    def __init__(
        self,
        *,
        shape: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        rel_shape: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        src_dims: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        layout: str | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        shape_input: DataNode | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        shape_input: Any | None = None,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Resize(_Operator):
    """Resizes images, volumes and sequences, or a region of interest of them, with a filter of
    choice. Pixels outside the region are read where the filter reaches them; outside the input
    its border repeats. An empty input stays empty.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Images, volumes or sequences; uint8, int16, uint16 or float32. Layouts:
            HWC, FHWC, CHW, FCHW, CFHW, DHWC, FDHWC, CDHW, FCDHW, CFDHW.
        size: float or list of float or DataNode, optional. Size of the result in pixels, one
            value a spatial axis in the order of the layout, or one value for all. 0: follows
            from the others and `mode`. Negative: mirrored. Fractions: see `subpixel_scale`.
        resize_x: float or DataNode, default 0.0. Width of the result; excludes `size`. 0 and
            below as in `size`.
        resize_y: float or DataNode, default 0.0. Height of the result; excludes `size`. 0 and
            below as in `size`.
        resize_z: float or DataNode, default 0.0. Depth of the result; excludes `size`. Ignored
            for images.
        resize_shorter: float or DataNode, default 0.0. Length of the shortest spatial axis of
            the result, keeping the aspect ratio; stands for the same `size` along all axes with
            `mode` "not_smaller".
        resize_longer: float or DataNode, default 0.0. Length of the longest spatial axis of the
            result, keeping the aspect ratio; stands for the same `size` along all axes with
            `mode` "not_larger".
        mode: str, default "default". "default": `size` as given; absent axes are scaled by the
            geometric mean of the other scales. "stretch": absent axes are not scaled.
            "not_larger": the aspect ratio is kept and no axis exceeds `size`. "not_smaller":
            the aspect ratio is kept and no axis falls below `size`. Excludes `resize_shorter`
            and `resize_longer`.
        max_size: float or list of float, optional. Upper limit of the result's extents, one for
            all or one a spatial axis; 0: no limit. Where the aspect ratio is kept, the whole
            result shrinks.
        subpixel_scale: bool, default True. Sizes that are no whole numbers are rounded. True:
            the region of interest grows or shrinks with them, so that the scale is what was
            asked for; False: the region stays and the scale changes.
        roi_start: float or list of float or DataNode, optional. First corner of the region of
            interest, one value a spatial axis or one for all; goes with `roi_end`. Pixel i
            covers [i, i + 1). Where the start exceeds the end, the result is mirrored.
        roi_end: float or list of float or DataNode, optional. Opposite corner of the region of
            interest.
        roi_relative: bool, default False. Whether the corners are fractions of the input's
            extents.
        interp_type: types.DALIInterpType or DataNode, default
            types.DALIInterpType.INTERP_LINEAR. Filter along every axis, unless `min_filter` or
            `mag_filter` is given: nearest neighbour, linear (triangular is the same), cubic
            (Catmull-Rom), Lanczos with 3 lobes or Gaussian.
        min_filter: types.DALIInterpType or DataNode, default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that shrink.
        mag_filter: types.DALIInterpType or DataNode, default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that grow or keep their size.
        antialias: bool, default True. Widen the filter by the scale along axes that shrink, so
            that every input pixel counts. Nearest neighbour is never widened.
        dtype: types.DALIDataType, optional. Element type of the result: that of the input (the
            default) or float. Integers are rounded and saturate.
        minibatch_size: int, default 32. A hint for the GPU; without effect on the CPU.
        temp_buffer_hint: int, default 0. A hint for the GPU; without effect on the CPU.
        save_attrs: bool, default False. Give the input's spatial extents as a second output.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        image_type: deprecated, without effect.

    Returns:
        DataNode, or a list of them; the number depends on the arguments.
            resized: Layout of the input; element type `dtype`.
            attrs: With `save_attrs`: the input's spatial extents, (D,) H, W, int32. Otherwise
                absent.
    """

    def __init__(
        self,
        *,
        size: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        resize_x: float | DataNode | None = 0.0,
        resize_y: float | DataNode | None = 0.0,
        resize_z: float | DataNode | None = 0.0,
        resize_shorter: float | DataNode | None = 0.0,
        resize_longer: float | DataNode | None = 0.0,
        mode: str | os.PathLike[str] | None = "default",
        max_size: float | Sequence[float] | NDArray[Any] | None = ...,
        subpixel_scale: bool | None = True,
        roi_start: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        roi_end: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        roi_relative: bool | None = False,
        interp_type: types.DALIInterpType | DataNode | None = types.DALIInterpType.INTERP_LINEAR,
        min_filter: types.DALIInterpType | DataNode | None = types.DALIInterpType.INTERP_LINEAR,
        mag_filter: types.DALIInterpType | DataNode | None = types.DALIInterpType.INTERP_LINEAR,
        antialias: bool | None = True,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        minibatch_size: int | None = 32,
        temp_buffer_hint: int | None = 0,
        save_attrs: bool | None = False,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        image_type: Any = None,  # deprecated
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> Any: ...

class ResizeCropMirror(_Operator):
    """Resizes, crops and mirrors in one operation: the result of resize, crop and flip one after
    another, but only the pixels of the window are computed. A window that reaches outside the
    resized sample repeats its border.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Images, volumes or sequences; uint8, int16, uint16 or float32. Layouts:
            HWC, FHWC, CHW, FCHW, CFHW, DHWC, FDHWC, CDHW, FCDHW, CFDHW.
        size: float or list of float or DataNode, optional. Size of the result in pixels, one
            value a spatial axis in the order of the layout, or one value for all. 0: follows
            from the others and `mode`. Negative: mirrored. Fractions: see `subpixel_scale`.
        resize_x: float or DataNode, default 0.0. Width of the result; excludes `size`. 0 and
            below as in `size`.
        resize_y: float or DataNode, default 0.0. Height of the result; excludes `size`. 0 and
            below as in `size`.
        resize_z: float or DataNode, default 0.0. Depth of the result; excludes `size`. Ignored
            for images.
        resize_shorter: float or DataNode, default 0.0. Length of the shortest spatial axis of
            the result, keeping the aspect ratio; stands for the same `size` along all axes with
            `mode` "not_smaller".
        resize_longer: float or DataNode, default 0.0. Length of the longest spatial axis of the
            result, keeping the aspect ratio; stands for the same `size` along all axes with
            `mode` "not_larger".
        mode: str, default "default". "default": `size` as given; absent axes are scaled by the
            geometric mean of the other scales. "stretch": absent axes are not scaled.
            "not_larger": the aspect ratio is kept and no axis exceeds `size`. "not_smaller":
            the aspect ratio is kept and no axis falls below `size`. Excludes `resize_shorter`
            and `resize_longer`.
        max_size: float or list of float, optional. Upper limit of the result's extents, one for
            all or one a spatial axis; 0: no limit. Where the aspect ratio is kept, the whole
            result shrinks.
        subpixel_scale: bool, default True. Sizes that are no whole numbers are rounded. True:
            the region of interest grows or shrinks with them, so that the scale is what was
            asked for; False: the region stays and the scale changes.
        roi_start: float or list of float or DataNode, optional. First corner of the region of
            interest, one value a spatial axis or one for all; goes with `roi_end`. Pixel i
            covers [i, i + 1). Where the start exceeds the end, the result is mirrored.
        roi_end: float or list of float or DataNode, optional. Opposite corner of the region of
            interest.
        roi_relative: bool, default False. Whether the corners are fractions of the input's
            extents.
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
        mirror: int or DataNode, default 0. Axes to mirror: 1 horizontal, 2 vertical, 4
            depthwise, or a sum of these.
        interp_type: types.DALIInterpType or DataNode, default
            types.DALIInterpType.INTERP_LINEAR. Filter along every axis, unless `min_filter` or
            `mag_filter` is given: nearest neighbour, linear (triangular is the same), cubic
            (Catmull-Rom), Lanczos with 3 lobes or Gaussian.
        min_filter: types.DALIInterpType or DataNode, default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that shrink.
        mag_filter: types.DALIInterpType or DataNode, default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that grow or keep their size.
        antialias: bool, default True. Widen the filter by the scale along axes that shrink, so
            that every input pixel counts. Nearest neighbour is never widened.
        dtype: types.DALIDataType, optional. Element type of the result: that of the input (the
            default) or float. Integers are rounded and saturate.
        minibatch_size: int, default 32. A hint for the GPU; without effect on the CPU.
        temp_buffer_hint: int, default 0. A hint for the GPU; without effect on the CPU.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Layout of the input; element type `dtype`.
    """

    def __init__(
        self,
        *,
        size: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        resize_x: float | DataNode | None = 0.0,
        resize_y: float | DataNode | None = 0.0,
        resize_z: float | DataNode | None = 0.0,
        resize_shorter: float | DataNode | None = 0.0,
        resize_longer: float | DataNode | None = 0.0,
        mode: str | os.PathLike[str] | None = "default",
        max_size: float | Sequence[float] | NDArray[Any] | None = ...,
        subpixel_scale: bool | None = True,
        roi_start: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        roi_end: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        roi_relative: bool | None = False,
        crop: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        crop_d: float | DataNode | None = 0.0,
        crop_h: float | DataNode | None = 0.0,
        crop_w: float | DataNode | None = 0.0,
        crop_pos_x: float | DataNode | None = 0.5,
        crop_pos_y: float | DataNode | None = 0.5,
        crop_pos_z: float | DataNode | None = 0.5,
        rounding: str | os.PathLike[str] | None = "round",
        mirror: int | DataNode | None = 0,
        interp_type: types.DALIInterpType | DataNode | None = types.DALIInterpType.INTERP_LINEAR,
        min_filter: types.DALIInterpType | DataNode | None = types.DALIInterpType.INTERP_LINEAR,
        mag_filter: types.DALIInterpType | DataNode | None = types.DALIInterpType.INTERP_LINEAR,
        antialias: bool | None = True,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        minibatch_size: int | None = 32,
        temp_buffer_hint: int | None = 0,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Rotate(_Operator):
    """Turns images and volumes about their middle. The canvas grows to hold the whole result,
    unless `size` or `keep_size` says otherwise; that of a sequence holds all of its frames.
    Precision as of fn.warp_affine.

    Takes volumes (layouts with D).

    Args:
        data: DataNode. Images, volumes or sequences; any element type. Layouts: HWC, FHWC,
            DHWC, FDHWC.
        angle: float or DataNode, required. Degrees. Images turn counter-clockwise (the first
            row is on top), volumes about `axis`. May have a value for each frame.
        axis: float or list of float or DataNode, optional. What volumes turn about: a vector
            (x, y, z) of any length but 0. Ignored for images. May have a value for each frame.
        keep_size: bool, default False. Keep the extents of the input, where there is no `size`.
        size: float or list of float or DataNode, default []. Size of the result in pixels,
            without channels: (height, width), or (depth, height, width) of volumes; rounded to
            whole numbers.
        interp_type: types.DALIInterpType, default types.DALIInterpType.INTERP_LINEAR.
            Interpolation: INTERP_LINEAR or INTERP_NN.
        fill_value: float, optional. What is outside the input, after conversion to its type and
            the result's. Without it the input's border repeats.
        dtype: types.DALIDataType, optional. Element type of the result; values are rounded and
            saturate. Default: that of the input.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        output_dtype: deprecated; use `dtype`.

    Returns:
        DataNode: Layout of the input, element type `dtype`.
    """

    def __init__(
        self,
        *,
        angle: float | DataNode | None = None,
        axis: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        keep_size: bool | None = False,
        size: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
        fill_value: float | None = None,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        output_dtype: Any = None,  # deprecated
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Saturation(_Operator):
    """Scales the saturation, in the colour plane of YIQ.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. RGB images, volumes or sequences, with three channels; any element type.
            Layouts: HWC, FHWC, DHWC.
        saturation: float or DataNode, default 1.0. Factor of the saturation; 1 changes nothing,
            0 gives shades of gray.
        dtype: types.DALIDataType, optional. Element type of the output; the input's by default.
        image_type: types.DALIImageType, default types.DALIImageType.RGB. Has no effect: the
            channels are red, green, blue.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Shape and layout of the input, of type `dtype`. Computed in float32; integers
            are rounded, halves away from zero, and saturate.
    """

    def __init__(
        self,
        *,
        saturation: float | DataNode | None = 1.0,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        image_type: types.DALIImageType | None = types.DALIImageType.RGB,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Shapes(_Operator):
    """Gives the shape of each sample: `x.shape()` makes it of `x`.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Any layout, any element type.
        dtype: types.DALIDataType, default types.DALIDataType.INT64. Type of the output: INT32,
            UINT32, INT64, UINT64, FLOAT or FLOAT64.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        type: deprecated; use `dtype`.

    Returns:
        DataNode: The extents: as many numbers as the sample has dimensions.
    """

    def __init__(
        self,
        *,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT64,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        type: Any = None,  # deprecated
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Slice(_Operator):
    """Cuts a window out of each sample. Its coordinates are the inputs `anchor` and `extent`, or
    the arguments `start` with `end` or `shape` or their `rel_` forms, along `axes` or
    `axis_names`; other axes are kept whole. Coordinates that are no integers are rounded to the
    nearest, halves away from zero. Fractions are cut off and values saturate where `dtype` asks
    for uint8 or float16 (fn.cast rounds).

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Any layout, any element type.
        anchor: DataNode. First element of the window, one value an axis. Optional.
        extent: DataNode. Extent of the window, one value an axis. Optional.
        axes: int or list of int or DataNode, default [1, 0]. Axes that the coordinates are for,
            as numbers; negative ones count from the end. Excludes `axis_names`.
        axis_names: layout str, default "WH". Axes that the coordinates are for, as letters of
            the layout.
        start: int or list of int or DataNode, optional. First element of the window, one value
            an axis.
        rel_start: float or list of float or DataNode, optional. `start` as a fraction of the
            extent.
        end: int or list of int or DataNode, optional. Element after the last of the window, one
            value an axis. Without `end` and `shape` the window reaches to the end of the
            sample.
        rel_end: float or list of float or DataNode, optional. `end` as a fraction of the
            extent.
        shape: int or list of int or DataNode, optional. Extent of the window, one value an
            axis.
        rel_shape: float or list of float or DataNode, optional. `shape` as a fraction of the
            extent.
        normalized_anchor: bool, default True. Whether a floating-point input `anchor` holds
            fractions of the extent; integers are always elements.
        normalized_shape: bool, default True. Whether a floating-point input `extent` holds
            fractions of the extent.
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

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        axis_names: str | None = "WH",
        start: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        rel_start: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        end: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        rel_end: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        shape: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        rel_shape: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        normalized_anchor: bool | None = True,
        normalized_shape: bool | None = True,
        out_of_bounds_policy: str | os.PathLike[str] | None = "error",
        fill_values: float | Sequence[float] | NDArray[Any] | None = ...,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        image_type: Any = None,  # deprecated
        output_dtype: Any = None,  # deprecated
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        anchor: DataNode | None = None,
        extent: DataNode | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        anchor: Any | None = None,
        extent: Any | None = None,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Squeeze(_Operator):
    """Removes axes of extent 1. A view: nothing is copied.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Any layout, any element type.
        axes: int or list of int or DataNode, optional. Axes to remove, as numbers; negative
            ones count from the end. Excludes `axis_names`, and one of both must be given.
        axis_names: layout str, optional. Axes to remove, as letters of the layout.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: The input without these axes; its layout is without their letters.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        axis_names: str | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Stack(_Operator):
    """Puts the inputs, which have one shape, together along a new axis.

    Args:
        input: DataNode. Any layout, any element type.
        inputs: DataNode. More of them, of the same type and shape. Optional.
        axis: int, default 0. Where the new axis is in the output; negative numbers count from
            its end.
        axis_name: str, optional. Letter of the new axis in the layout; inputs that are no
            scalars need one then.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: As many dimensions as the inputs and one. It has a layout only where
            `axis_name` is given.
    """

    def __init__(
        self,
        *,
        axis: int | None = 0,
        axis_name: str | os.PathLike[str] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        input: DataNode,
        /,
        *inputs: Any,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        input: list[DataNode],
        /,
        *inputs: Any,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class SubscriptDimCheck(_Operator):
    """Gives the input as it is, where it has enough dimensions: `x[:, :]` makes it of `x`.

    Args:
        data: DataNode. Any layout, any element type.
        num_subscripts: int, required. The least number of dimensions.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: The input as it is.
    """

    def __init__(
        self,
        *,
        num_subscripts: int | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class TensorSubscript(_Operator):
    """Takes positions and ranges of axes: `x[1, 2:5]` makes it of `x`. Numbers below 0 count from
    the end, ranges are cut to what is there, as in Python. A view where the elements lie next
    to each other.

    Args:
        data: DataNode. Any layout, any element type.
        at_0: int or DataNode, optional. Subscript 0: the position that is taken; the axis goes
            away.
        lo_0: int or DataNode, optional. Subscript 0: where its range begins.
        hi_0: int or DataNode, optional. Subscript 0: where its range ends, which does not
            belong to it.
        step_0: int or DataNode, optional. Subscript 0: the step of its range, of either sign.
        at_1: int or DataNode, optional. Subscript 1: the position that is taken; the axis goes
            away.
        lo_1: int or DataNode, optional. Subscript 1: where its range begins.
        hi_1: int or DataNode, optional. Subscript 1: where its range ends, which does not
            belong to it.
        step_1: int or DataNode, optional. Subscript 1: the step of its range, of either sign.
        at_2: int or DataNode, optional. Subscript 2: the position that is taken; the axis goes
            away.
        lo_2: int or DataNode, optional. Subscript 2: where its range begins.
        hi_2: int or DataNode, optional. Subscript 2: where its range ends, which does not
            belong to it.
        step_2: int or DataNode, optional. Subscript 2: the step of its range, of either sign.
        at_3: int or DataNode, optional. Subscript 3: the position that is taken; the axis goes
            away.
        lo_3: int or DataNode, optional. Subscript 3: where its range begins.
        hi_3: int or DataNode, optional. Subscript 3: where its range ends, which does not
            belong to it.
        step_3: int or DataNode, optional. Subscript 3: the step of its range, of either sign.
        at_4: int or DataNode, optional. Subscript 4: the position that is taken; the axis goes
            away.
        lo_4: int or DataNode, optional. Subscript 4: where its range begins.
        hi_4: int or DataNode, optional. Subscript 4: where its range ends, which does not
            belong to it.
        step_4: int or DataNode, optional. Subscript 4: the step of its range, of either sign.
        at_5: int or DataNode, optional. Subscript 5: the position that is taken; the axis goes
            away.
        lo_5: int or DataNode, optional. Subscript 5: where its range begins.
        hi_5: int or DataNode, optional. Subscript 5: where its range ends, which does not
            belong to it.
        step_5: int or DataNode, optional. Subscript 5: the step of its range, of either sign.
        at_6: int or DataNode, optional. Subscript 6: the position that is taken; the axis goes
            away.
        lo_6: int or DataNode, optional. Subscript 6: where its range begins.
        hi_6: int or DataNode, optional. Subscript 6: where its range ends, which does not
            belong to it.
        step_6: int or DataNode, optional. Subscript 6: the step of its range, of either sign.
        at_7: int or DataNode, optional. Subscript 7: the position that is taken; the axis goes
            away.
        lo_7: int or DataNode, optional. Subscript 7: where its range begins.
        hi_7: int or DataNode, optional. Subscript 7: where its range ends, which does not
            belong to it.
        step_7: int or DataNode, optional. Subscript 7: the step of its range, of either sign.
        at_8: int or DataNode, optional. Subscript 8: the position that is taken; the axis goes
            away.
        lo_8: int or DataNode, optional. Subscript 8: where its range begins.
        hi_8: int or DataNode, optional. Subscript 8: where its range ends, which does not
            belong to it.
        step_8: int or DataNode, optional. Subscript 8: the step of its range, of either sign.
        at_9: int or DataNode, optional. Subscript 9: the position that is taken; the axis goes
            away.
        lo_9: int or DataNode, optional. Subscript 9: where its range begins.
        hi_9: int or DataNode, optional. Subscript 9: where its range ends, which does not
            belong to it.
        step_9: int or DataNode, optional. Subscript 9: the step of its range, of either sign.
        at_10: int or DataNode, optional. Subscript 10: the position that is taken; the axis
            goes away.
        lo_10: int or DataNode, optional. Subscript 10: where its range begins.
        hi_10: int or DataNode, optional. Subscript 10: where its range ends, which does not
            belong to it.
        step_10: int or DataNode, optional. Subscript 10: the step of its range, of either sign.
        at_11: int or DataNode, optional. Subscript 11: the position that is taken; the axis
            goes away.
        lo_11: int or DataNode, optional. Subscript 11: where its range begins.
        hi_11: int or DataNode, optional. Subscript 11: where its range ends, which does not
            belong to it.
        step_11: int or DataNode, optional. Subscript 11: the step of its range, of either sign.
        at_12: int or DataNode, optional. Subscript 12: the position that is taken; the axis
            goes away.
        lo_12: int or DataNode, optional. Subscript 12: where its range begins.
        hi_12: int or DataNode, optional. Subscript 12: where its range ends, which does not
            belong to it.
        step_12: int or DataNode, optional. Subscript 12: the step of its range, of either sign.
        at_13: int or DataNode, optional. Subscript 13: the position that is taken; the axis
            goes away.
        lo_13: int or DataNode, optional. Subscript 13: where its range begins.
        hi_13: int or DataNode, optional. Subscript 13: where its range ends, which does not
            belong to it.
        step_13: int or DataNode, optional. Subscript 13: the step of its range, of either sign.
        at_14: int or DataNode, optional. Subscript 14: the position that is taken; the axis
            goes away.
        lo_14: int or DataNode, optional. Subscript 14: where its range begins.
        hi_14: int or DataNode, optional. Subscript 14: where its range ends, which does not
            belong to it.
        step_14: int or DataNode, optional. Subscript 14: the step of its range, of either sign.
        at_15: int or DataNode, optional. Subscript 15: the position that is taken; the axis
            goes away.
        lo_15: int or DataNode, optional. Subscript 15: where its range begins.
        hi_15: int or DataNode, optional. Subscript 15: where its range ends, which does not
            belong to it.
        step_15: int or DataNode, optional. Subscript 15: the step of its range, of either sign.
        num_subscripts: int, optional. How many subscripts there are, full ranges at the end
            included.
        ellipsis: int, optional. Subscripts from this number on belong to the last axes instead
            of the next.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: The elements that were asked for; the layout keeps the letters of its axes.
    """

    def __init__(
        self,
        *,
        at_0: int | DataNode | None = None,
        lo_0: int | DataNode | None = None,
        hi_0: int | DataNode | None = None,
        step_0: int | DataNode | None = None,
        at_1: int | DataNode | None = None,
        lo_1: int | DataNode | None = None,
        hi_1: int | DataNode | None = None,
        step_1: int | DataNode | None = None,
        at_2: int | DataNode | None = None,
        lo_2: int | DataNode | None = None,
        hi_2: int | DataNode | None = None,
        step_2: int | DataNode | None = None,
        at_3: int | DataNode | None = None,
        lo_3: int | DataNode | None = None,
        hi_3: int | DataNode | None = None,
        step_3: int | DataNode | None = None,
        at_4: int | DataNode | None = None,
        lo_4: int | DataNode | None = None,
        hi_4: int | DataNode | None = None,
        step_4: int | DataNode | None = None,
        at_5: int | DataNode | None = None,
        lo_5: int | DataNode | None = None,
        hi_5: int | DataNode | None = None,
        step_5: int | DataNode | None = None,
        at_6: int | DataNode | None = None,
        lo_6: int | DataNode | None = None,
        hi_6: int | DataNode | None = None,
        step_6: int | DataNode | None = None,
        at_7: int | DataNode | None = None,
        lo_7: int | DataNode | None = None,
        hi_7: int | DataNode | None = None,
        step_7: int | DataNode | None = None,
        at_8: int | DataNode | None = None,
        lo_8: int | DataNode | None = None,
        hi_8: int | DataNode | None = None,
        step_8: int | DataNode | None = None,
        at_9: int | DataNode | None = None,
        lo_9: int | DataNode | None = None,
        hi_9: int | DataNode | None = None,
        step_9: int | DataNode | None = None,
        at_10: int | DataNode | None = None,
        lo_10: int | DataNode | None = None,
        hi_10: int | DataNode | None = None,
        step_10: int | DataNode | None = None,
        at_11: int | DataNode | None = None,
        lo_11: int | DataNode | None = None,
        hi_11: int | DataNode | None = None,
        step_11: int | DataNode | None = None,
        at_12: int | DataNode | None = None,
        lo_12: int | DataNode | None = None,
        hi_12: int | DataNode | None = None,
        step_12: int | DataNode | None = None,
        at_13: int | DataNode | None = None,
        lo_13: int | DataNode | None = None,
        hi_13: int | DataNode | None = None,
        step_13: int | DataNode | None = None,
        at_14: int | DataNode | None = None,
        lo_14: int | DataNode | None = None,
        hi_14: int | DataNode | None = None,
        step_14: int | DataNode | None = None,
        at_15: int | DataNode | None = None,
        lo_15: int | DataNode | None = None,
        hi_15: int | DataNode | None = None,
        step_15: int | DataNode | None = None,
        num_subscripts: int | None = None,
        ellipsis: int | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class TorchPythonFunction(_Operator):
    """Calls a Python function with the samples as torch tensors, under torch.no_grad(), and takes
    torch tensors from it.

    The inputs are views of the pipeline's memory, which stays as long as the function keeps
    them; it must not write to them (with the environment variable TORCHDALI_CHECK_FUNCTIONS=1
    that is an error). What it returns may have any strides, and samples of a batch may differ
    in shape, not in type and number of dimensions. What it raises ends the iteration with an
    error that has it as its cause; the pipeline goes on.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        inputs: DataNode. Passed to the function, one torch tensor each. Optional.
        function: function, required. Called as function(input, ...). Returns the output, or a
            tuple of `num_outputs` of them. Is called exactly once for each sample (or batch),
            in their order, by one thread at a time.
        batch_processing: bool, default False. Call the function once for a batch, with a list
            of samples for each input. Each output is then a list of samples, or one array with
            the samples as its first axis.
        num_outputs: int, default 1. Number of outputs; with 0 the function returns None.
        output_layouts: layout str or list of layout str, optional. Axes of the outputs, such as
            "HWC"; a list gives one to each of the first outputs.
        workers: str, optional. "threads": call the function from all threads of the pipeline,
            for functions that release the GIL; not in order any more, and samples of different
            batches at the same time. "processes": call it in `py_num_workers` processes of its
            own, for functions that are worth a copy of their inputs; it is sent there as the
            source of a parallel fn.external_source is (`py_start_method`,
            `py_callback_pickler`), and its inputs are there for the time of the call.
        seed_generators: bool, default False. Seed the global generators of random, NumPy and
            torch before each call, and give them back as they were after the batch. Until then
            other threads that draw from them see it; torchdali.current_sample() has generators
            that nobody else sees. With workers="processes" they are those of the worker.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        seed: int, default -1. Seed of the operator's random values; -1 derives it from the seed
            of the pipeline. Operators with the same seed draw the same values.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode, or a list of them; the number depends on the arguments.
            outputs: What the function returned.
    """

    def __init__(
        self,
        *,
        function: Callable[..., Any] | None = None,
        batch_processing: bool | None = False,
        num_outputs: int | None = 1,
        output_layouts: str | Sequence[str] | None = ...,
        workers: str | os.PathLike[str] | None = None,
        seed_generators: bool | None = False,
        device: str | None = "cpu",
        name: str | None = None,
        seed: int | None = -1,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    def __call__(
        self,
        *inputs: Any,
        **kwargs: Any,
    ) -> Any: ...

class Transpose(_Operator):
    """Changes the order of the axes. A view where no element moves.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Any layout, any element type.
        perm: int or list of int, optional. Order of the axes, e.g. [2, 0, 1] from "HWC" to
            "CHW". By default, or where the list is empty, they are reversed.
        transpose_layout: bool, default True. The letters of the layout move with their axes;
            otherwise the output has the input's layout.
        output_layout: layout str, optional. Layout of the output, whatever `transpose_layout`
            says. It does not choose the order of the axes.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Axis i is axis perm[i] of the input.
    """

    def __init__(
        self,
        *,
        perm: int | Sequence[int] | NDArray[Any] | None = ...,
        transpose_layout: bool | None = True,
        output_layout: str | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class WarpAffine(_Operator):
    """Warps images and volumes by an affine map: result(x, y) = data(M11 x + M12 y + M13, M21 x +
    M22 y + M23). (0, 0) is the corner of the first pixel, so that pixel i has its middle at i +
    0.5. Linear interpolation is done in float32; uint8 stays in fixed point, within 1 of that.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Images, volumes or sequences; any element type. Layouts: HWC, FHWC,
            DHWC, FDHWC.
        mtx: DataNode. Takes the place of `matrix`: [2, 3], or [3, 4] for volumes. Optional.
        matrix: float or list of float or DataNode, default []. The map from positions in the
            result to positions in the input: 2 x 3 numbers (M11, M12, M13, M21, M22, M23), or 3
            x 4 for volumes; coordinates are x, y, z.
        inverse_map: bool, default True. False where the matrix maps the input to the result; it
            is inverted then.
        size: float or list of float or DataNode, default []. Size of the result in pixels,
            without channels: (height, width), or (depth, height, width) of volumes; rounded to
            whole numbers.
        interp_type: types.DALIInterpType, default types.DALIInterpType.INTERP_LINEAR.
            Interpolation: INTERP_LINEAR or INTERP_NN.
        fill_value: float, optional. What is outside the input, after conversion to its type and
            the result's. Without it the input's border repeats.
        dtype: types.DALIDataType, optional. Element type of the result; values are rounded and
            saturate. Default: that of the input.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        output_dtype: deprecated; use `dtype`.

    Returns:
        DataNode: Layout of the input, extents `size`, element type `dtype`.
    """

    def __init__(
        self,
        *,
        matrix: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        inverse_map: bool | None = True,
        size: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
        fill_value: float | None = None,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        output_dtype: Any = None,  # deprecated
    ) -> None: ...
    @overload
    def __call__(
        self,
        data: DataNode,
        mtx: DataNode | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        mtx: Any | None = None,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Zeros(_Operator):
    """Gives tensors of zeros.

    Args:
        shape: int or list of int or DataNode, optional. Shape of the output; by default that of
            the fill value, or a scalar.
        layout: layout str, optional. Letters of the axes, one a dimension.
        dtype: types.DALIDataType, default types.DALIDataType.INT32. Element type of the output.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even where nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.

    Returns:
        DataNode: Zeros, of the shape and type that were asked for.
    """

    def __init__(
        self,
        *,
        shape: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        layout: str | None = None,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.INT32,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> DataNode: ...

class ZerosLike(_Operator):
    """Gives zeros in the shape of the input.

    Args:
        data_like: DataNode. Whose shape, layout and type the output has.
        dtype: types.DALIDataType, optional. Element type of the output, by default the input's.
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

    def __init__(
        self,
        *,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    ) -> None: ...
    @overload
    def __call__(
        self,
        data_like: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        data_like: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...
