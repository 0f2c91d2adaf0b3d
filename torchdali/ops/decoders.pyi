# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any, overload

import torch
from numpy.typing import NDArray

from torchdali import types
from torchdali.data_node import DataNode
from torchdali.fn._callables import _Operator

__all__ = [
    "Audio",
    "Image",
    "ImageCrop",
    "ImageRandomCrop",
    "ImageSlice",
    "Inflate",
    "Numpy",
    "Video",
]

class Audio(_Operator):
    """Decodes audio files: WAV and FLAC; with libsndfile, if it is installed, also Ogg Vorbis,
    Opus, MP3, AIFF and others. `start` and `duration` decode a part of the file, at little more
    than its share of the cost.

    Args:
        data: DataNode. Encoded audio files, uint8, 1-D.
        downmix: bool, default False. Whether the result is the mean of the channels, without an
            axis of channels.
        dtype: types.DALIDataType, default types.DALIDataType.FLOAT. Element type of the audio:
            float32, in [-1, 1], or int16 or int32, with their full range. To a narrower
            integer, bits are dropped; from floats, as of Vorbis or after resampling, values are
            rounded and saturate.
        quality: float, default 50.0. Quality of resampling, from 0 to 100: 0 has 3 lobes of the
            sinc filter, 50 has 16, 100 has 64.
        antialias: bool, default False. Whether to remove frequencies that a lower sampling rate
            cannot represent. They are mirrored otherwise, as by DALI, which has no such
            argument.
        sample_rate: float or DataNode, default 0.0. Frames per second of the result; 0 keeps
            those of the file.
        start: float or DataNode, default 0.0. Where the part begins, in seconds, rounded to the
            nearest frame of the file. It is an error if it is after the end.
        duration: float or DataNode, optional. Length of the part, in seconds, rounded to the
            nearest number of frames of the file; the part is shorter if the file ends before.
            By default up to the end.
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
        List of DataNode: `audio`, `sample_rate`.
            audio: Samples: [frames, channels], or [frames] with `downmix`.
            sample_rate: Frames per second of the audio, float32, a scalar.
    """

    def __init__(
        self,
        *,
        downmix: bool | None = False,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
        quality: float | None = 50.0,
        antialias: bool | None = False,
        sample_rate: float | DataNode | None = 0.0,
        start: float | DataNode | None = 0.0,
        duration: float | DataNode | None = None,
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
    ) -> list[DataNode]: ...
    @overload
    def __call__(
        self,
        data: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[list[DataNode]]: ...

class Image(_Operator):
    """Decodes images: JPEG, PNG, BMP, PNM, TIFF, WebP, JPEG 2000, AVIF and JPEG XL.

    Args:
        data: DataNode. The bytes of an image file, uint8, 1-D.
        output_type: types.DALIImageType, default types.DALIImageType.RGB. Colors of the output.
            RGB, BGR, GRAY and YCbCr (limited range, ITU-R BT.601) drop alpha; ANY_DATA keeps
            the channels of the file: gray, gray and alpha, RGB, RGBA, or CMYK as coverage of
            ink (0: none).
        dtype: types.DALIDataType, default types.DALIDataType.UINT8. Type of the output: uint8,
            int8, uint16, int16, uint32, int32 or float32. Full intensity is the largest integer
            of the type, or 1.0.
        adjust_orientation: bool, default True. Rotate the image by its EXIF orientation.
        use_fast_idct: bool, default False. JPEG: a faster inverse cosine transform that is
            slightly less exact.
        jpeg_fancy_upsampling: bool, default False. The CPU always upsamples JPEG's chroma
            smoothly, so this changes nothing here.
        jpeg_index: str, default "". Where to store the index, positions in JPEG files at which
            decoding can begin: "memory"; the path of a file that later runs reuse, or of a
            folder for such a file; or "cache", a file in TORCHDALI_CACHE_DIR, by default
            ~/.cache/torchdali. Epochs after the first skip most of the file outside a window,
            and decode two rows at once; pixels are the same. Not for nvJPEG. Takes about 2 KB
            per image. torchdali only.
        jpeg_index_size: int, default 1073741824. Limit of the memory of `jpeg_index` in this
            process, in bytes. Further images are decoded without the index.
        max_pixels: int, default 268435456. Largest number of pixels that the header of a file
            may claim; a file of a few kilobytes can claim gigabytes. Files with more are
            errors, also if only a window is decoded. torchdali only.
        affine: bool, default True. For decoding with nvJPEG (docs/design/gpu_jpeg.md);
            otherwise without effect.
        device_memory_padding: int, default 16777216. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        device_memory_padding_jpeg2k: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        host_memory_padding: int, default 8388608. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        host_memory_padding_jpeg2k: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        hw_decoder_load: float, default 0.65. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        hybrid_huffman_threshold: int, default 1000000. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        preallocate_height_hint: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        preallocate_width_hint: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        scaled_margin: float, default 0.0. JPEG: allows decoding at 1/2, 1/4 or 1/8 of the size,
            if the decoded region is still at least this many times as large as the result of
            the following resize, along both axes. 0 (the default) decodes at full size. Values
            from 1 on are faster and change the result slightly; 1.5 is a good choice (the guide
            on benchmarks has figures). The image must be used by one operator only, which
            resizes it, with at most crops and slices before it; otherwise this is an error.
            Other formats, filters that do not average (nearest neighbor, `antialias=False`) and
            operators that run one by one (eagerly, in debug mode) decode at full size.
        cache_batch_copy: bool, default True. For the GPU's cache of decoded images. Has no
            effect.
        cache_debug: bool, default False. For the GPU's cache of decoded images. Has no effect.
        cache_size: int, default 0. For the GPU's cache of decoded images. Has no effect.
        cache_threshold: int, default 0. For the GPU's cache of decoded images. Has no effect.
        cache_type: str, default "". For the GPU's cache of decoded images. Has no effect.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        on_error: str, optional. What happens to a sample that the operator fails for: "raise",
            "skip" or "replace"; by default what the pipeline's `on_error` says.
        memory_stats: deprecated, without effect.
        split_stages: deprecated, without effect.
        use_chunk_allocator: deprecated, without effect.

    Returns:
        DataNode: The image, layout "HWC".
    """

    def __init__(
        self,
        *,
        output_type: types.DALIImageType | None = types.DALIImageType.RGB,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.UINT8,
        adjust_orientation: bool | None = True,
        use_fast_idct: bool | None = False,
        jpeg_fancy_upsampling: bool | None = False,
        jpeg_index: str | os.PathLike[str] | None = "",
        jpeg_index_size: int | None = 1073741824,
        max_pixels: int | None = 268435456,
        affine: bool | None = True,
        device_memory_padding: int | None = 16777216,
        device_memory_padding_jpeg2k: int | None = 0,
        host_memory_padding: int | None = 8388608,
        host_memory_padding_jpeg2k: int | None = 0,
        hw_decoder_load: float | None = 0.65,
        hybrid_huffman_threshold: int | None = 1000000,
        preallocate_height_hint: int | None = 0,
        preallocate_width_hint: int | None = 0,
        scaled_margin: float | None = 0.0,
        cache_batch_copy: bool | None = True,
        cache_debug: bool | None = False,
        cache_size: int | None = 0,
        cache_threshold: int | None = 0,
        cache_type: str | os.PathLike[str] | None = "",
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
        memory_stats: Any = None,  # deprecated
        split_stages: Any = None,  # deprecated
        use_chunk_allocator: Any = None,  # deprecated
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

class ImageCrop(_Operator):
    """Decodes a window of an image. Equal to decoders.image and crop, without decoding what is cut
    off.

    Args:
        data: DataNode. The bytes of an image file, uint8, 1-D.
        output_type: types.DALIImageType, default types.DALIImageType.RGB. Colors of the output.
            RGB, BGR, GRAY and YCbCr (limited range, ITU-R BT.601) drop alpha; ANY_DATA keeps
            the channels of the file: gray, gray and alpha, RGB, RGBA, or CMYK as coverage of
            ink (0: none).
        dtype: types.DALIDataType, default types.DALIDataType.UINT8. Type of the output: uint8,
            int8, uint16, int16, uint32, int32 or float32. Full intensity is the largest integer
            of the type, or 1.0.
        adjust_orientation: bool, default True. Rotate the image by its EXIF orientation.
        use_fast_idct: bool, default False. JPEG: a faster inverse cosine transform that is
            slightly less exact.
        jpeg_fancy_upsampling: bool, default False. The CPU always upsamples JPEG's chroma
            smoothly, so this changes nothing here.
        jpeg_index: str, default "". Where to store the index, positions in JPEG files at which
            decoding can begin: "memory"; the path of a file that later runs reuse, or of a
            folder for such a file; or "cache", a file in TORCHDALI_CACHE_DIR, by default
            ~/.cache/torchdali. Epochs after the first skip most of the file outside a window,
            and decode two rows at once; pixels are the same. Not for nvJPEG. Takes about 2 KB
            per image. torchdali only.
        jpeg_index_size: int, default 1073741824. Limit of the memory of `jpeg_index` in this
            process, in bytes. Further images are decoded without the index.
        max_pixels: int, default 268435456. Largest number of pixels that the header of a file
            may claim; a file of a few kilobytes can claim gigabytes. Files with more are
            errors, also if only a window is decoded. torchdali only.
        affine: bool, default True. For decoding with nvJPEG (docs/design/gpu_jpeg.md);
            otherwise without effect.
        device_memory_padding: int, default 16777216. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        device_memory_padding_jpeg2k: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        host_memory_padding: int, default 8388608. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        host_memory_padding_jpeg2k: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        hw_decoder_load: float, default 0.65. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        hybrid_huffman_threshold: int, default 1000000. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        preallocate_height_hint: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        preallocate_width_hint: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        crop: float or list of float or DataNode, optional. Size of the window, in pixels:
            (height, width) or (depth, height, width); fractions are truncated. Less than 1
            keeps the whole axis. Excludes `crop_h`, `crop_w` and `crop_d`.
        crop_d: float or DataNode, default 0.0. Depth of the window, in slices (or frames, if
            the sample has no depth); requires `crop_h` and `crop_w`. 0 keeps the whole axis.
        crop_h: float or DataNode, default 0.0. Height of the window, in pixels; requires
            `crop_w`. 0: all.
        crop_w: float or DataNode, default 0.0. Width of the window, in pixels; requires
            `crop_h`. 0: all.
        crop_pos_x: float or DataNode, default 0.5. Horizontal position of the window, 0 (left)
            to 1 (right): the first column is crop_pos_x * (width - crop_w), rounded by
            `rounding`.
        crop_pos_y: float or DataNode, default 0.5. Vertical position of the window, 0 (top) to
            1 (bottom).
        crop_pos_z: float or DataNode, default 0.5. Position of the window along depth (or
            frames), 0 to 1.
        rounding: str, default "round". How the position of the first pixel is rounded: "round"
            (to the nearest, halves away from zero), "truncate" or, torchdali only,
            "torchvision": as its CenterCrop, halves to even, and toward zero if the window
            exceeds the sample.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        on_error: str, optional. What happens to a sample that the operator fails for: "raise",
            "skip" or "replace"; by default what the pipeline's `on_error` says.
        memory_stats: deprecated, without effect.
        split_stages: deprecated, without effect.
        use_chunk_allocator: deprecated, without effect.

    Returns:
        DataNode: The window, layout "HWC".
    """

    def __init__(
        self,
        *,
        output_type: types.DALIImageType | None = types.DALIImageType.RGB,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.UINT8,
        adjust_orientation: bool | None = True,
        use_fast_idct: bool | None = False,
        jpeg_fancy_upsampling: bool | None = False,
        jpeg_index: str | os.PathLike[str] | None = "",
        jpeg_index_size: int | None = 1073741824,
        max_pixels: int | None = 268435456,
        affine: bool | None = True,
        device_memory_padding: int | None = 16777216,
        device_memory_padding_jpeg2k: int | None = 0,
        host_memory_padding: int | None = 8388608,
        host_memory_padding_jpeg2k: int | None = 0,
        hw_decoder_load: float | None = 0.65,
        hybrid_huffman_threshold: int | None = 1000000,
        preallocate_height_hint: int | None = 0,
        preallocate_width_hint: int | None = 0,
        crop: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
        crop_d: float | DataNode | None = 0.0,
        crop_h: float | DataNode | None = 0.0,
        crop_w: float | DataNode | None = 0.0,
        crop_pos_x: float | DataNode | None = 0.5,
        crop_pos_y: float | DataNode | None = 0.5,
        crop_pos_z: float | DataNode | None = 0.5,
        rounding: str | os.PathLike[str] | None = "round",
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
        memory_stats: Any = None,  # deprecated
        split_stages: Any = None,  # deprecated
        use_chunk_allocator: Any = None,  # deprecated
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

class ImageRandomCrop(_Operator):
    """Decodes a window of an image with random position, area and aspect ratio, without decoding
    what is cut off.

    Args:
        data: DataNode. The bytes of an image file, uint8, 1-D.
        output_type: types.DALIImageType, default types.DALIImageType.RGB. Colors of the output.
            RGB, BGR, GRAY and YCbCr (limited range, ITU-R BT.601) drop alpha; ANY_DATA keeps
            the channels of the file: gray, gray and alpha, RGB, RGBA, or CMYK as coverage of
            ink (0: none).
        dtype: types.DALIDataType, default types.DALIDataType.UINT8. Type of the output: uint8,
            int8, uint16, int16, uint32, int32 or float32. Full intensity is the largest integer
            of the type, or 1.0.
        adjust_orientation: bool, default True. Rotate the image by its EXIF orientation.
        use_fast_idct: bool, default False. JPEG: a faster inverse cosine transform that is
            slightly less exact.
        jpeg_fancy_upsampling: bool, default False. The CPU always upsamples JPEG's chroma
            smoothly, so this changes nothing here.
        jpeg_index: str, default "". Where to store the index, positions in JPEG files at which
            decoding can begin: "memory"; the path of a file that later runs reuse, or of a
            folder for such a file; or "cache", a file in TORCHDALI_CACHE_DIR, by default
            ~/.cache/torchdali. Epochs after the first skip most of the file outside a window,
            and decode two rows at once; pixels are the same. Not for nvJPEG. Takes about 2 KB
            per image. torchdali only.
        jpeg_index_size: int, default 1073741824. Limit of the memory of `jpeg_index` in this
            process, in bytes. Further images are decoded without the index.
        max_pixels: int, default 268435456. Largest number of pixels that the header of a file
            may claim; a file of a few kilobytes can claim gigabytes. Files with more are
            errors, also if only a window is decoded. torchdali only.
        affine: bool, default True. For decoding with nvJPEG (docs/design/gpu_jpeg.md);
            otherwise without effect.
        device_memory_padding: int, default 16777216. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        device_memory_padding_jpeg2k: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        host_memory_padding: int, default 8388608. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        host_memory_padding_jpeg2k: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        hw_decoder_load: float, default 0.65. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        hybrid_huffman_threshold: int, default 1000000. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        preallocate_height_hint: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        preallocate_width_hint: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        random_area: float or list of float, default [0.08, 1.0]. Range of the window's area, as
            a fraction of the image.
        random_aspect_ratio: float or list of float, default [0.75, 1.333333]. Range of the
            window's width over its height; drawn uniformly on a logarithmic scale.
        num_attempts: int, default 10. Draws of area and aspect ratio, a million at most, before
            the largest window with a permitted ratio is used, at a random position.
        window_rule: str, default "dali". How windows are drawn: "dali", or "torchvision": as
            its RandomResizedCrop does, which also takes windows whose ratio leaves the range by
            rounding, and in the end the largest one with a permitted ratio, in the center.
            torchdali only.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        seed: int, default -1. Seed of the operator's random values; -1 derives it from the seed
            of the pipeline. Operators with the same seed draw the same values.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        on_error: str, optional. What happens to a sample that the operator fails for: "raise",
            "skip" or "replace"; by default what the pipeline's `on_error` says.
        memory_stats: deprecated, without effect.
        split_stages: deprecated, without effect.
        use_chunk_allocator: deprecated, without effect.

    Returns:
        DataNode: The window, layout "HWC".
    """

    def __init__(
        self,
        *,
        output_type: types.DALIImageType | None = types.DALIImageType.RGB,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.UINT8,
        adjust_orientation: bool | None = True,
        use_fast_idct: bool | None = False,
        jpeg_fancy_upsampling: bool | None = False,
        jpeg_index: str | os.PathLike[str] | None = "",
        jpeg_index_size: int | None = 1073741824,
        max_pixels: int | None = 268435456,
        affine: bool | None = True,
        device_memory_padding: int | None = 16777216,
        device_memory_padding_jpeg2k: int | None = 0,
        host_memory_padding: int | None = 8388608,
        host_memory_padding_jpeg2k: int | None = 0,
        hw_decoder_load: float | None = 0.65,
        hybrid_huffman_threshold: int | None = 1000000,
        preallocate_height_hint: int | None = 0,
        preallocate_width_hint: int | None = 0,
        random_area: float | Sequence[float] | NDArray[Any] | None = ...,
        random_aspect_ratio: float | Sequence[float] | NDArray[Any] | None = ...,
        num_attempts: int | None = 10,
        window_rule: str | os.PathLike[str] | None = "dali",
        device: str | None = "cpu",
        name: str | None = None,
        seed: int | None = -1,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
        memory_stats: Any = None,  # deprecated
        split_stages: Any = None,  # deprecated
        use_chunk_allocator: Any = None,  # deprecated
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

class ImageSlice(_Operator):
    """Decodes a window of an image. Equal to decoders.image and slice, without decoding what is
    cut off. The axes are 0 or "H", and 1 or "W".

    Args:
        data: DataNode. The bytes of an image file, uint8, 1-D.
        anchor: DataNode. First pixel of the window, one value per axis. Optional.
        extent: DataNode. Extent of the window, one value per axis. Optional.
        output_type: types.DALIImageType, default types.DALIImageType.RGB. Colors of the output.
            RGB, BGR, GRAY and YCbCr (limited range, ITU-R BT.601) drop alpha; ANY_DATA keeps
            the channels of the file: gray, gray and alpha, RGB, RGBA, or CMYK as coverage of
            ink (0: none).
        dtype: types.DALIDataType, default types.DALIDataType.UINT8. Type of the output: uint8,
            int8, uint16, int16, uint32, int32 or float32. Full intensity is the largest integer
            of the type, or 1.0.
        adjust_orientation: bool, default True. Rotate the image by its EXIF orientation.
        use_fast_idct: bool, default False. JPEG: a faster inverse cosine transform that is
            slightly less exact.
        jpeg_fancy_upsampling: bool, default False. The CPU always upsamples JPEG's chroma
            smoothly, so this changes nothing here.
        jpeg_index: str, default "". Where to store the index, positions in JPEG files at which
            decoding can begin: "memory"; the path of a file that later runs reuse, or of a
            folder for such a file; or "cache", a file in TORCHDALI_CACHE_DIR, by default
            ~/.cache/torchdali. Epochs after the first skip most of the file outside a window,
            and decode two rows at once; pixels are the same. Not for nvJPEG. Takes about 2 KB
            per image. torchdali only.
        jpeg_index_size: int, default 1073741824. Limit of the memory of `jpeg_index` in this
            process, in bytes. Further images are decoded without the index.
        max_pixels: int, default 268435456. Largest number of pixels that the header of a file
            may claim; a file of a few kilobytes can claim gigabytes. Files with more are
            errors, also if only a window is decoded. torchdali only.
        affine: bool, default True. For decoding with nvJPEG (docs/design/gpu_jpeg.md);
            otherwise without effect.
        device_memory_padding: int, default 16777216. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        device_memory_padding_jpeg2k: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        host_memory_padding: int, default 8388608. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        host_memory_padding_jpeg2k: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        hw_decoder_load: float, default 0.65. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        hybrid_huffman_threshold: int, default 1000000. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        preallocate_height_hint: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        preallocate_width_hint: int, default 0. For decoding with nvJPEG
            (docs/design/gpu_jpeg.md); otherwise without effect.
        axes: int or list of int or DataNode, default [1, 0]. Axes of the coordinates, as
            numbers; negative ones count from the end. Excludes `axis_names`.
        axis_names: layout str, default "WH". Axes of the coordinates, as letters of the layout.
        start: int or list of int or DataNode, optional. First element of the window, one value
            per axis.
        rel_start: float or list of float or DataNode, optional. `start` as a fraction of the
            extent.
        end: int or list of int or DataNode, optional. Element after the last of the window, one
            value per axis. Without `end` and `shape`, the window extends to the end of the
            sample.
        rel_end: float or list of float or DataNode, optional. `end` as a fraction of the
            extent.
        shape: int or list of int or DataNode, optional. Extent of the window, one value per
            axis.
        rel_shape: float or list of float or DataNode, optional. `shape` as a fraction of the
            extent.
        normalized_anchor: bool, default True. Whether a floating-point input `anchor` is in
            fractions of the extent; integers are always elements.
        normalized_shape: bool, default True. Whether a floating-point input `extent` is in
            fractions of the extent.
        device: str, default "cpu". Where the operator runs: "cpu", or for operators that have a
            GPU implementation "gpu" or "mixed" (CPU inputs, GPU outputs).
        name: str, optional. Name of the operator in its pipeline, for `reader_meta`,
            `feed_input` and messages; by default made from the operator and a number.
        preserve: bool, default False. Run the operator even if nothing uses its outputs.
        bytes_per_sample_hint: int or list of int, default [0]. Accepted for compatibility;
            memory is sized by what samples need.
        on_error: str, optional. What happens to a sample that the operator fails for: "raise",
            "skip" or "replace"; by default what the pipeline's `on_error` says.
        memory_stats: deprecated, without effect.
        split_stages: deprecated, without effect.
        use_chunk_allocator: deprecated, without effect.

    Returns:
        DataNode: The window, layout "HWC".
    """

    def __init__(
        self,
        *,
        output_type: types.DALIImageType | None = types.DALIImageType.RGB,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.UINT8,
        adjust_orientation: bool | None = True,
        use_fast_idct: bool | None = False,
        jpeg_fancy_upsampling: bool | None = False,
        jpeg_index: str | os.PathLike[str] | None = "",
        jpeg_index_size: int | None = 1073741824,
        max_pixels: int | None = 268435456,
        affine: bool | None = True,
        device_memory_padding: int | None = 16777216,
        device_memory_padding_jpeg2k: int | None = 0,
        host_memory_padding: int | None = 8388608,
        host_memory_padding_jpeg2k: int | None = 0,
        hw_decoder_load: float | None = 0.65,
        hybrid_huffman_threshold: int | None = 1000000,
        preallocate_height_hint: int | None = 0,
        preallocate_width_hint: int | None = 0,
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
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
        memory_stats: Any = None,  # deprecated
        split_stages: Any = None,  # deprecated
        use_chunk_allocator: Any = None,  # deprecated
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

class Inflate(_Operator):
    """Decompresses LZ4 blocks (not frames): a sample is one block or, with `chunk_offsets` or
    `chunk_sizes`, several that decompress to the same shape and are stacked.

    On the GPU a thread decompresses a block, so samples should have many blocks. Damaged blocks
    are no error there: what follows the damage is 0.

    Args:
        data: DataNode. Compressed bytes, uint8, 1-D.
        shape: int or list of int or DataNode, required. Shape of a decompressed block.
        dtype: types.DALIDataType, default types.DALIDataType.UINT8. Element type of the
            decompressed data.
        chunk_offsets: int or list of int or DataNode, optional. Where each block begins, in
            bytes. Without `chunk_sizes`, a block ends where the next one begins, and the last
            one at the end of the sample.
        chunk_sizes: int or list of int or DataNode, optional. Size of each block, in bytes.
            Without `chunk_offsets`, the blocks follow one another from the beginning of the
            sample.
        algorithm: str, default "LZ4". The only one.
        layout: layout str, default "". Layout of a decompressed block.
        sequence_axis_name: layout str, default "F". Letter of the axis of blocks, which
            precedes `layout` if there are chunks.
        check_output_size: bool, default False. A block with less data than `shape` is an error.
            Otherwise the rest is 0. More data is always an error. Not supported on the GPU.
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
        DataNode: `shape`, or with chunks [number of chunks, *`shape`], of `dtype`.
    """

    def __init__(
        self,
        *,
        shape: int | Sequence[int] | NDArray[Any] | DataNode | None = None,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.UINT8,
        chunk_offsets: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        chunk_sizes: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        algorithm: str | os.PathLike[str] | None = "LZ4",
        layout: str | None = "",
        sequence_axis_name: str | None = "F",
        check_output_size: bool | None = False,
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

class Numpy(_Operator):
    """Decodes arrays in the format of .npy files, as numpy.save writes them.

    Args:
        data: DataNode. The bytes of a .npy file, uint8, 1-D.
        dtype: types.DALIDataType, optional. Element type of the output, converted as fn.cast
            does; by default that of the array.
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
        DataNode: The array, in C order, without a layout.
    """

    def __init__(
        self,
        *,
        dtype: types.DALIDataType | torch.dtype | type[Any] | None = None,
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

class Video(_Operator):
    """Decodes videos, or chosen frames of them, to RGB, with FFmpeg's libraries: whatever
    containers and codecs the installed ones know. The frames are exact, also with variable
    rates, B-frames and cut files; only the packets that they depend on are decoded. With
    `device="mixed"`, the CPU decodes and frames are copied, unless the environment variable
    TORCHDALI_NVDEC asks for the GPU's decoder (docs/guide/video.md).

    Args:
        encoded: DataNode. Encoded video files, uint8, 1-D.
        start_frame: int or DataNode, optional. The first frame; by default 0.
        end_frame: int or DataNode, optional. The frame before which the sequence ends; by
            default the end of the video. Not together with `sequence_length`.
        sequence_length: int or DataNode, optional. Number of frames; by default as many as
            there are up to `end_frame`.
        stride: int or DataNode, optional. Distance of the frames: 2 takes every other one; by
            default 1.
        frames: int or list of int or DataNode, optional. The numbers of the frames, in any
            order; they may repeat. Instead of the arguments above.
        pad_mode: str or DataNode, default "constant". What follows the last frame, if the
            sequence is longer than the video: "none", which makes it shorter; "constant",
            `fill_value`; "edge" or "repeat", the last frame; "reflect_1001" or "symmetric", the
            frames of the video in reverse order with the last one again; "reflect_101" or
            "reflect", without it. A value for each sample is text as uint8.
        fill_value: int or list of int, default [0]. The color of frames that "constant" adds, 0
            to 255: one value, or one for each channel.
        build_index: bool, default True. Look at all packets first, which makes the numbers of
            frames exact. Otherwise frames are found by their time, and the average rate that
            the file claims; that is faster for long videos of which little is decoded.
        adjust_orientation: bool, default True. Turn the frames by the rotation that the file
            asks for, as players do. DALI does not. torchdali only.
        affine: bool, default True. For DALI's threads that feed the GPU's decoder. Has no
            effect.
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
        DataNode: Frames, uint8, layout "FHWC", RGB.
    """

    def __init__(
        self,
        *,
        start_frame: int | DataNode | None = None,
        end_frame: int | DataNode | None = None,
        sequence_length: int | DataNode | None = None,
        stride: int | DataNode | None = None,
        frames: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
        pad_mode: str | os.PathLike[str] | DataNode | None = "constant",
        fill_value: int | Sequence[int] | NDArray[Any] | None = ...,
        build_index: bool | None = True,
        adjust_orientation: bool | None = True,
        affine: bool | None = True,
        device: str | None = "cpu",
        name: str | None = None,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        encoded: DataNode,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
    @overload
    def __call__(
        self,
        encoded: list[DataNode],
        /,
        **kwargs: Any,
    ) -> list[DataNode]: ...
