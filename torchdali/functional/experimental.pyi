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
    "dilate",
    "erode",
    "median_blur",
    "remap",
    "resize",
    "warp_perspective",
]

@overload
def dilate(
    data: Sample,
    /,
    *,
    mask_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    anchor: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    border_mode: str | os.PathLike[str] | None = "constant",
    iterations: int | None = 1,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Dilates bright regions of an image: each element becomes the largest one of a rectangle
    around it, for each channel.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. Images or sequences of bool, uint8, uint16, int16, int32 or
            float32. Layouts: HW, HWC, FHWC, CHW, FCHW.
        mask_size: int or list of int or one value for each sample (tensor, Batch), default [3,
            3]. Width and height of the rectangle, or one number for both.
        anchor: int or list of int or one value for each sample (tensor, Batch), default [-1,
            -1]. The element of the rectangle, x and y, that is placed on the pixel. -1: the
            middle (size / 2).
        border_mode: str, default "constant". Values outside of the image: "constant" (they do
            not count), "replicate" (aaa|abcd|ddd), "reflect" (cba|abcd|dcb), "reflect_101"
            (dcb|abcd|cba) or "wrap" (bcd|abcd|abc).
        iterations: int, default 1. How often the operation is done, at once: by a rectangle
            that is larger by size - 1 for each iteration after the first, with its anchor at
            `anchor` * `iterations`. 0: not at all.
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
def dilate(
    data: Samples,
    /,
    *,
    mask_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    anchor: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    border_mode: str | os.PathLike[str] | None = "constant",
    iterations: int | None = 1,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def erode(
    data: Sample,
    /,
    *,
    mask_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    anchor: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    border_mode: str | os.PathLike[str] | None = "constant",
    iterations: int | None = 1,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Erodes bright regions of an image: each element becomes the smallest one of a rectangle
    around it, for each channel.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. Images or sequences of bool, uint8, uint16, int16, int32 or
            float32. Layouts: HW, HWC, FHWC, CHW, FCHW.
        mask_size: int or list of int or one value for each sample (tensor, Batch), default [3,
            3]. Width and height of the rectangle, or one number for both.
        anchor: int or list of int or one value for each sample (tensor, Batch), default [-1,
            -1]. The element of the rectangle, x and y, that is placed on the pixel. -1: the
            middle (size / 2).
        border_mode: str, default "constant". Values outside of the image: "constant" (they do
            not count), "replicate" (aaa|abcd|ddd), "reflect" (cba|abcd|dcb), "reflect_101"
            (dcb|abcd|cba) or "wrap" (bcd|abcd|abc).
        iterations: int, default 1. How often the operation is done, at once: by a rectangle
            that is larger by size - 1 for each iteration after the first, with its anchor at
            `anchor` * `iterations`. 0: not at all.
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
def erode(
    data: Samples,
    /,
    *,
    mask_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    anchor: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    border_mode: str | os.PathLike[str] | None = "constant",
    iterations: int | None = 1,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def median_blur(
    data: Sample,
    /,
    *,
    window_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Replaces each element by the median of a rectangle around it, for each channel. Elements
    outside of the image are those of its edge.

    Takes frame sequences (layouts with F).

    Args:
        data: Sample or batch. Images or sequences of uint8, uint16, int16, int32 or float32.
            Layouts: HW, HWC, FHWC, CHW, FCHW.
        window_size: int or list of int or one value for each sample (tensor, Batch), default
            [3, 3]. Width and height of the rectangle, or one number for both: odd, at most
            32767.
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
def median_blur(
    data: Samples,
    /,
    *,
    window_size: int | Sequence[int] | NDArray[Any] | Values | None = ...,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def remap(
    input: Sample,
    mapx: Any,
    mapy: Any,
    /,
    *,
    interp: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
    pixel_origin: str | os.PathLike[str] | None = "corner",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Takes each pixel of the result from the position in two maps: result(x, y) = input(mapx(x,
    y), mapy(x, y)). What is outside the input, or not a number, is 0.

    Takes frame sequences (layouts with F).

    Args:
        input: Sample or batch. Images or sequences; any number of channels and element type.
            Layouts: HWC, FHWC.
        mapx: Sample or batch. Horizontal positions, in pixels: [height, width] of the result.
            Layouts: HWC, HW, FHWC, FHW, F***, F**.
        mapy: Sample or batch. Vertical positions, in pixels; shape of `mapx`. Layouts: HWC, HW,
            FHWC, FHW, F***, F**.
        interp: types.DALIInterpType, default types.DALIInterpType.INTERP_LINEAR. Interpolation:
            INTERP_LINEAR, INTERP_NN, INTERP_CUBIC or INTERP_LANCZOS3.
        pixel_origin: str, default "corner". The meaning of position (0, 0): the "corner" of the
            first pixel, or its "center", as in OpenCV.
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Layout and element type of the input, extents of the maps.
    """

@overload
def remap(
    input: Samples,
    mapx: Any,
    mapy: Any,
    /,
    *,
    interp: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
    pixel_origin: str | os.PathLike[str] | None = "corner",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
@overload
def resize(
    data: Sample,
    /,
    *,
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    resize_x: float | Values | None = 0.0,
    resize_y: float | Values | None = 0.0,
    resize_z: float | Values | None = 0.0,
    resize_shorter: float | Values | None = 0.0,
    resize_longer: float | Values | None = 0.0,
    mode: str | os.PathLike[str] | None = "default",
    max_size: float | Sequence[float] | NDArray[Any] | None = ...,
    subpixel_scale: bool | None = True,
    size_rounding: str | os.PathLike[str] | None = "round",
    roi_start: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_end: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_relative: bool | None = False,
    interp_type: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    min_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    mag_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    antialias: bool | None = True,
    filter_edges: str | os.PathLike[str] | None = "extend",
    minibatch_size: int | None = 32,
    temp_buffer_hint: int | None = 0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    save_attrs: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    image_type: Any = None,
) -> Any:
    """The same as fn.resize, under the name that DALI has on the GPU only.

    Takes frame sequences (layouts with F) and takes volumes (layouts with D).

    Args:
        data: Sample or batch. Images, volumes or sequences; uint8, int16, uint16 or float32.
            Layouts: HWC, FHWC, CHW, FCHW, CFHW, DHWC, FDHWC, CDHW, FCDHW, CFDHW.
        size: float or list of float or one value for each sample (tensor, Batch), optional.
            Size of the result in pixels, one value per spatial axis in the order of the layout,
            or one value for all. 0: follows from the others and `mode`. Negative: mirrored.
            Fractions: see `subpixel_scale`.
        resize_x: float or one value for each sample (tensor, Batch), default 0.0. Width of the
            result; excludes `size`. 0 and below as in `size`.
        resize_y: float or one value for each sample (tensor, Batch), default 0.0. Height of the
            result; excludes `size`. 0 and below as in `size`.
        resize_z: float or one value for each sample (tensor, Batch), default 0.0. Depth of the
            result; excludes `size`. Ignored for images.
        resize_shorter: float or one value for each sample (tensor, Batch), default 0.0. Length
            of the shortest spatial axis of the result, keeping the aspect ratio. Equivalent to
            the same `size` along all axes with `mode` "not_smaller".
        resize_longer: float or one value for each sample (tensor, Batch), default 0.0. Length
            of the longest spatial axis of the result, keeping the aspect ratio. Equivalent to
            the same `size` along all axes with `mode` "not_larger".
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
        roi_start: float or list of float or one value for each sample (tensor, Batch),
            optional. First corner of the region of interest, one value per spatial axis or one
            for all; requires `roi_end`. Pixel i covers [i, i + 1). If the start exceeds the
            end, the result is mirrored.
        roi_end: float or list of float or one value for each sample (tensor, Batch), optional.
            Opposite corner of the region of interest.
        roi_relative: bool, default False. Whether the corners are fractions of the input's
            extents.
        interp_type: types.DALIInterpType or one value for each sample (tensor, Batch), default
            types.DALIInterpType.INTERP_LINEAR. Filter along every axis, unless `min_filter` or
            `mag_filter` is given: nearest neighbor, linear (triangular is the same), cubic
            (Catmull-Rom), Lanczos with 3 lobes or Gaussian.
        min_filter: types.DALIInterpType or one value for each sample (tensor, Batch), default
            types.DALIInterpType.INTERP_LINEAR. Filter along axes that shrink.
        mag_filter: types.DALIInterpType or one value for each sample (tensor, Batch), default
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
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.
        image_type: deprecated, without effect.

    Returns:
        Sample or batch, or a list of them; the number depends on the arguments.
            resized: Layout of the input; element type `dtype`.
            attrs: With `save_attrs`: the input's spatial extents, (D,) H, W, int32. Otherwise
                absent.
    """

@overload
def resize(
    data: Samples,
    /,
    *,
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    resize_x: float | Values | None = 0.0,
    resize_y: float | Values | None = 0.0,
    resize_z: float | Values | None = 0.0,
    resize_shorter: float | Values | None = 0.0,
    resize_longer: float | Values | None = 0.0,
    mode: str | os.PathLike[str] | None = "default",
    max_size: float | Sequence[float] | NDArray[Any] | None = ...,
    subpixel_scale: bool | None = True,
    size_rounding: str | os.PathLike[str] | None = "round",
    roi_start: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_end: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    roi_relative: bool | None = False,
    interp_type: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    min_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    mag_filter: types.DALIInterpType | Values | None = types.DALIInterpType.INTERP_LINEAR,
    antialias: bool | None = True,
    filter_edges: str | os.PathLike[str] | None = "extend",
    minibatch_size: int | None = 32,
    temp_buffer_hint: int | None = 0,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
    save_attrs: bool | None = False,
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
    image_type: Any = None,
) -> Any: ...
@overload
def warp_perspective(
    input: Sample,
    matrix_input: Any | None = None,
    /,
    *,
    matrix: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    inverse_map: bool | None = True,
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
    border_mode: str | os.PathLike[str] | None = "constant",
    fill_value: float | Sequence[float] | NDArray[Any] | None = ...,
    pixel_origin: str | os.PathLike[str] | None = "corner",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> torch.Tensor:
    """Warps images by a perspective map: with (x', y', w') = matrix (x, y, 1), result(x, y) =
    input(x' / w', y' / w'). Linear interpolation is computed in float32; for uint8 in fixed
    point, which differs by at most 1.

    Takes frame sequences (layouts with F).

    Args:
        input: Sample or batch. Images or sequences; any element type. Layouts: HW, HWC, FHWC,
            CHW, FCHW.
        matrix_input: Sample or batch. Replaces the argument `matrix`: [3, 3]. Optional.
        matrix: float or list of float or one value for each sample (tensor, Batch), default [].
            The map from positions in the result to positions in the input: a 3 x 3 matrix, or
            its 9 numbers row by row.
        inverse_map: bool, default True. False where the matrix maps the input to the result; it
            is inverted then.
        size: float or list of float or one value for each sample (tensor, Batch), default [].
            Size of the result in pixels, without channels: (height, width), or (depth, height,
            width) of volumes; rounded to whole numbers.
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
        layout: layout str, optional. Letters of the axes of a sample of the inputs, such as
            "CHW"; by default what a batch knows, or the layout of `set_default_layout`. Results
            have it too.
        batched: bool, default False. The first axis of a tensor or array is the samples; the
            result is one tensor, too.
        device: str, optional. Where the operator runs: "cpu", "gpu" or "cuda", also with a
            number ("cuda:1"), or "mixed"; by default where the inputs are.

    Returns:
        Sample or batch: Layout and element type of the input, extents `size`.
    """

@overload
def warp_perspective(
    input: Samples,
    matrix_input: Any | None = None,
    /,
    *,
    matrix: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    inverse_map: bool | None = True,
    size: float | Sequence[float] | NDArray[Any] | Values | None = ...,
    interp_type: types.DALIInterpType | None = types.DALIInterpType.INTERP_LINEAR,
    border_mode: str | os.PathLike[str] | None = "constant",
    fill_value: float | Sequence[float] | NDArray[Any] | None = ...,
    pixel_origin: str | os.PathLike[str] | None = "corner",
    layout: str | None = None,
    batched: bool | None = False,
    device: str | os.PathLike[str] | None = None,
) -> Batch: ...
