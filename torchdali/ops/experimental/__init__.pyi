# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any, overload

import torch
from numpy.typing import NDArray

from torchdali import types
from torchdali.data_node import DataNode
from torchdali.fn._callables import _Operator
from torchdali.ops.experimental import inputs as inputs
from torchdali.ops.experimental import readers as readers

__all__ = [
    "Dilate",
    "Erode",
    "MedianBlur",
    "Remap",
    "Resize",
    "WarpPerspective",
    "inputs",
    "readers",
]

class Dilate(_Operator):
    """Dilates bright regions of an image: each element becomes the largest one of a rectangle
    around it, for each channel.

    Takes frame sequences (layouts with F).

    Args:
        data: DataNode. Images or sequences of bool, uint8, uint16, int16, int32 or float32.
            Layouts: HW, HWC, FHWC, CHW, FCHW.
        mask_size: int or list of int or DataNode, default [3, 3]. Width and height of the
            rectangle, or one number for both.
        anchor: int or list of int or DataNode, default [-1, -1]. The element of the rectangle,
            x and y, that is placed on the pixel. -1: the middle (size / 2).
        border_mode: str, default "constant". Values outside of the image: "constant" (they do
            not count), "replicate" (aaa|abcd|ddd), "reflect" (cba|abcd|dcb), "reflect_101"
            (dcb|abcd|cba) or "wrap" (bcd|abcd|abc).
        iterations: int, default 1. How often the operation is done, at once: by a rectangle
            that is larger by size - 1 for each iteration after the first, with its anchor at
            `anchor` * `iterations`. 0: not at all.
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
        DataNode: Shape, element type and layout of the input.
    """

    def __init__(
        self,
        *,
        mask_size: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        anchor: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        border_mode: str | os.PathLike[str] | None = "constant",
        iterations: int | None = 1,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
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

class Erode(_Operator):
    """Erodes bright regions of an image: each element becomes the smallest one of a rectangle
    around it, for each channel.

    Takes frame sequences (layouts with F).

    Args:
        data: DataNode. Images or sequences of bool, uint8, uint16, int16, int32 or float32.
            Layouts: HW, HWC, FHWC, CHW, FCHW.
        mask_size: int or list of int or DataNode, default [3, 3]. Width and height of the
            rectangle, or one number for both.
        anchor: int or list of int or DataNode, default [-1, -1]. The element of the rectangle,
            x and y, that is placed on the pixel. -1: the middle (size / 2).
        border_mode: str, default "constant". Values outside of the image: "constant" (they do
            not count), "replicate" (aaa|abcd|ddd), "reflect" (cba|abcd|dcb), "reflect_101"
            (dcb|abcd|cba) or "wrap" (bcd|abcd|abc).
        iterations: int, default 1. How often the operation is done, at once: by a rectangle
            that is larger by size - 1 for each iteration after the first, with its anchor at
            `anchor` * `iterations`. 0: not at all.
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
        DataNode: Shape, element type and layout of the input.
    """

    def __init__(
        self,
        *,
        mask_size: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        anchor: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        border_mode: str | os.PathLike[str] | None = "constant",
        iterations: int | None = 1,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
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

class MedianBlur(_Operator):
    """Replaces each element by the median of a rectangle around it, for each channel. Elements
    outside of the image are those of its edge.

    Takes frame sequences (layouts with F).

    Args:
        data: DataNode. Images or sequences of uint8, uint16, int16, int32 or float32. Layouts:
            HW, HWC, FHWC, CHW, FCHW.
        window_size: int or list of int or DataNode, default [3, 3]. Width and height of the
            rectangle, or one number for both: odd, at most 32767.
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
        DataNode: Shape, element type and layout of the input.
    """

    def __init__(
        self,
        *,
        window_size: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
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

class Remap(_Operator):
    """Takes each pixel of the result from the position in two maps: result(x, y) = input(mapx(x,
    y), mapy(x, y)). What is outside the input, or not a number, is 0.

    Takes frame sequences (layouts with F).

    Args:
        input: DataNode. Images or sequences; any number of channels and element type. Layouts:
            HWC, FHWC.
        mapx: DataNode. Horizontal positions, in pixels: [height, width] of the result. Layouts:
            HWC, HW, FHWC, FHW, F***, F**.
        mapy: DataNode. Vertical positions, in pixels; shape of `mapx`. Layouts: HWC, HW, FHWC,
            FHW, F***, F**.
        interp: types.DALIInterpType, default types.DALIInterpType.INTERP_LINEAR. Interpolation:
            INTERP_LINEAR, INTERP_NN, INTERP_CUBIC or INTERP_LANCZOS3.
        pixel_origin: str, default "corner". The meaning of position (0, 0): the "corner" of the
            first pixel, or its "center", as in OpenCV.
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
        DataNode: Layout and element type of the input, extents of the maps.
    """

    def __init__(
        self,
        *,
        interp: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
        pixel_origin: str | os.PathLike[str] | None = "corner",
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        input: DataNode,
        mapx: DataNode,
        mapy: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        input: list[DataNode],
        mapx: Any,
        mapy: Any,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...

class Resize(_Operator):
    """The same as fn.resize, under the name that DALI has on the GPU only.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: DataNode. Images, volumes or sequences; uint8, int16, uint16 or float32. Layouts:
            HWC, FHWC, CHW, FCHW, CFHW, DHWC, FDHWC, CDHW, FCDHW, CFDHW.
        size: float or list of float or DataNode, optional. Size of the result in pixels, one
            value per spatial axis in the order of the layout, or one value for all. 0: follows
            from the others and `mode`. Negative: mirrored. Fractions: see `subpixel_scale`.
        resize_x: float or DataNode, default 0.0. Width of the result; excludes `size`. 0 and
            below as in `size`.
        resize_y: float or DataNode, default 0.0. Height of the result; excludes `size`. 0 and
            below as in `size`.
        resize_z: float or DataNode, default 0.0. Depth of the result; excludes `size`. Ignored
            for images.
        resize_shorter: float or DataNode, default 0.0. Length of the shortest spatial axis of
            the result, keeping the aspect ratio. Equivalent to the same `size` along all axes
            with `mode` "not_smaller".
        resize_longer: float or DataNode, default 0.0. Length of the longest spatial axis of the
            result, keeping the aspect ratio. Equivalent to the same `size` along all axes with
            `mode` "not_larger".
        mode: str, default "default". "default": `size` as given; absent axes are scaled by the
            geometric mean of the other scales. "stretch": absent axes are not scaled.
            "not_larger": the aspect ratio is kept and no axis exceeds `size`. "not_smaller":
            the aspect ratio is kept and no axis falls below `size`. Excludes `resize_shorter`
            and `resize_longer`.
        max_size: float or list of float, optional. Upper limit of the extents of the result,
            one for all or one per spatial axis; 0: no limit. If the aspect ratio is kept, the
            whole result shrinks.
        subpixel_scale: bool, default True. Fractional sizes are rounded. True: the region of
            interest grows or shrinks accordingly, so that the scale is exact. False: the region
            is kept and the scale changes.
        size_rounding: str, default "round". How extents that follow from `resize_shorter` or
            `resize_longer` are rounded: "round" (to the nearest), or "truncate": as torchvision
            does, which also keeps the region, whatever `subpixel_scale` is, and applies
            `max_size`, one number, to the rounded extents. torchdali only.
        roi_start: float or list of float or DataNode, optional. First corner of the region of
            interest, one value per spatial axis or one for all; requires `roi_end`. Pixel i
            covers [i, i + 1). If the start exceeds the end, the result is mirrored.
        roi_end: float or list of float or DataNode, optional. Opposite corner of the region of
            interest.
        roi_relative: bool, default False. Whether the corners are fractions of the input's
            extents.
        interp_type: types.DALIInterpType or DataNode, default
            types.DALIInterpType.INTERP_LINEAR. Filter along every axis, unless `min_filter` or
            `mag_filter` is given: nearest neighbor, linear (triangular is the same), cubic
            (Catmull-Rom), Lanczos with 3 lobes or Gaussian.
        min_filter: types.DALIInterpType or DataNode, default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that shrink.
        mag_filter: types.DALIInterpType or DataNode, default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that grow or keep their size.
        antialias: bool, default True. Widen the filter by the scale along axes that shrink, so
            that every input pixel counts. Nearest neighbor is never widened.
        filter_edges: str, default "extend". What filters read beyond the edges of the region.
            "extend": the input's pixels, or its border pixel. "cut": nothing, as if the region
            had been cut out before, and outside the input; this is what Pillow and torchvision
            do. torchdali only.
        minibatch_size: int, default 32. A hint for the GPU; without effect on the CPU.
        temp_buffer_hint: int, default 0. A hint for the GPU; without effect on the CPU.
        dtype: types.DALIDataType, optional. Element type of the result: that of the input (the
            default) or float. Integers are rounded and saturate.
        save_attrs: bool, default False. Return the spatial extents of the input as a second
            output.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        on_error: str, optional. What happens to a sample that the operator fails for: "raise",
            "skip" or "replace"; by default what the pipeline's `on_error` says.
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
        size_rounding: str | os.PathLike[str] | None = "round",
        roi_start: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        roi_end: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        roi_relative: bool | None = False,
        interp_type: types.DALIInterpType | DataNode | None = types.DALIInterpType.INTERP_LINEAR,
        min_filter: types.DALIInterpType | DataNode | None = types.DALIInterpType.INTERP_LINEAR,
        mag_filter: types.DALIInterpType | DataNode | None = types.DALIInterpType.INTERP_LINEAR,
        antialias: bool | None = True,
        filter_edges: str | os.PathLike[str] | None = "extend",
        minibatch_size: int | None = 32,
        temp_buffer_hint: int | None = 0,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
        save_attrs: bool | None = False,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
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

class WarpPerspective(_Operator):
    """Warps images by a perspective map: with (x', y', w') = matrix (x, y, 1), result(x, y) =
    input(x' / w', y' / w'). Linear interpolation is computed in float32; for uint8 in fixed
    point, which differs by at most 1.

    Takes frame sequences (layouts with F).

    Args:
        input: DataNode. Images or sequences; any element type. Layouts: HW, HWC, FHWC, CHW,
            FCHW.
        matrix_input: DataNode. Replaces the argument `matrix`: [3, 3]. Optional.
        matrix: float or list of float or DataNode, default []. The map from positions in the
            result to positions in the input: a 3 x 3 matrix, or its 9 numbers row by row.
        inverse_map: bool, default True. False where the matrix maps the input to the result; it
            is inverted then.
        size: float or list of float or DataNode, default []. Size of the result in pixels,
            without channels: (height, width), or (depth, height, width) of volumes; rounded to
            whole numbers.
        interp_type: types.DALIInterpType, default types.DALIInterpType.INTERP_LINEAR.
            Interpolation: INTERP_LINEAR, INTERP_NN, INTERP_CUBIC (Keys, a = -0.5) or
            INTERP_LANCZOS3.
        border_mode: str, default "constant". Values outside the input: "constant"
            (`fill_value`), "replicate" (aaa|abcd|ddd), "reflect" (cba|abcd|dcb), "reflect_101"
            (dcb|abcd|cba) or "wrap" (bcd|abcd|abc).
        fill_value: float or list of float, default []. Value of the constant border: one
            number, or one for each channel; 0 by default.
        pixel_origin: str, default "corner". The meaning of position (0, 0): the "corner" of the
            first pixel, or its "center", as in OpenCV.
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
        DataNode: Layout and element type of the input, extents `size`.
    """

    def __init__(
        self,
        *,
        matrix: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        inverse_map: bool | None = True,
        size: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
        border_mode: str | os.PathLike[str] | None = "constant",
        fill_value: float | Sequence[float] | NDArray[Any] | None = ...,
        pixel_origin: str | os.PathLike[str] | None = "corner",
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        input: DataNode,
        matrix_input: DataNode | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        input: list[DataNode],
        matrix_input: Any | None = None,
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...
