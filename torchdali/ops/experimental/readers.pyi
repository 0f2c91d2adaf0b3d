# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Sequence
from typing import Any

import torch
from numpy.typing import NDArray

from torchdali import types
from torchdali.fn._callables import _Operator

__all__ = [
    "Fits",
    "Video",
]

class Fits(_Operator):
    """Reads images from FITS files: the image HDUs `hdu_indices` of each file, one output for
    each. Values are scaled by BSCALE and BZERO; their type is the smallest that holds the
    scaled values of all elements, by the rules of CFITSIO. BLANK has no effect. Tables with an
    image that is compressed by RICE_1, GZIP_1, GZIP_2, PLIO_1, HCOMPRESS_1 or NOCOMPRESS count
    as images; what ZBLANK marks is NaN.

    The files come from `file_root`, a folder; from `file_list`, a text file of paths; or from
    `files`, paths given here. With device="gpu" they are read on the host and copied, not read
    by GPUDirect Storage.

    Args:
        hdu_indices: int or list of int, default [2]. Which HDUs to read; 1 is the primary one.
            One output for each.
        dtypes: DALIDataType or list of DALIDataType, optional. Element types of the outputs,
            one for each; other types are an error. By default those of the files.
        file_root: str, optional. Folder whose files, and those of its subfolders, are read; or,
            with `file_list` or `files`, the folder that paths are relative to.
        file_list: str, optional. Text file with one path per line, relative to `file_root`, or
            without it to the folder of the list. Blank lines are skipped.
        files: str or list of str, optional. Paths of the files, relative to `file_root`, or
            without it to the working directory.
        file_filter: str, default "*.fits". Glob pattern (`*`, `?`, `[a-z]`, `[!a-z]`,
            case-sensitive); under `file_root`, files whose names do not match it are ignored,
            as are hidden ones unless the pattern begins with a dot.
        num_shards: int, default 1. Number of parts that the data set is divided into. Shard i
            has samples floor(i * size / num_shards) to floor((i + 1) * size / num_shards) - 1.
        shard_id: int, default 0. The shard to start with, 0 to `num_shards` - 1.
        stick_to_shard: bool, default False. Stay with shard `shard_id`. Otherwise each epoch
            continues with the next shard.
        pad_last_batch: bool, default False. Fill up each epoch to whole batches, and to as many
            as the largest shard has, by repeating its last sample. Otherwise a batch may have
            the end of one epoch and the beginning of the next.
        random_shuffle: bool, default False. Make a new permutation of the shard's samples in
            each epoch. All permutations are possible, whatever `initial_fill` is. To make
            shards similar, the data set is mixed once before it is divided, in the same way for
            every seed; the shards are DALI's.
        shuffle_after_epoch: bool, default False. Make a new permutation of the whole data set
            in each epoch, the same on all ranks, and divide that into shards; the reader takes
            shard `shard_id` of it. Excludes `random_shuffle` and `stick_to_shard`.
        shuffle_after_epoch_seed: int, optional. Seed of `shuffle_after_epoch`, the same on all
            ranks; a constant by default. `seed` has no effect on these permutations.
        initial_fill: int, default 1024. Size of DALI's shuffle buffer. No effect: a permutation
            of the whole shard is at least as random and needs no buffer.
        lazy_init: bool, default False. Find the samples when they are first needed, not when
            the pipeline is built.
        read_ahead: bool, default False. Always read ahead. By default, data is read ahead if it
            is remote, and while threads wait for storage, not while it is in the system's page
            cache.
        prefetch_queue_depth: int, default 1. Number of batches that are read ahead, in addition
            to those that are scheduled, into at most 256 MB of memory, and at most 65536
            samples. More batches help if storage is slow but serves many requests at a time. Of
            remote files (URLs), as many samples are read ahead as keep the connections busy, if
            that is more.
        dont_use_mmap: bool, default False. Do not map files into memory. By default,
            containers, and files of which regions are read, are mapped unless reading waits for
            a disk. Truncating a mapped file is an error, as it is otherwise, and does not end
            the process.
        skip_cached_images: bool, default False. No effect: it belongs to the image cache of
            DALI's GPU decoder, which torchdali does not have.
        tensor_init_bytes: int, default 1048576. No effect: each sample is allocated at its
            size.
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

    Returns:
        DataNode, or a list of them; the number depends on the arguments.
            data: An image, in C order (NAXIS1 is the last axis), without a layout.
    """

    def __init__(
        self,
        *,
        hdu_indices: int | Sequence[int] | NDArray[Any] | None = ...,
        dtypes: types.DALIDataType | torch.dtype | type[Any] | Sequence[Any] | None = ...,
        file_root: str | os.PathLike[str] | None = None,
        file_list: str | os.PathLike[str] | None = None,
        files: str | Sequence[str] | None = ...,
        file_filter: str | os.PathLike[str] | None = "*.fits",
        num_shards: int | None = 1,
        shard_id: int | None = 0,
        stick_to_shard: bool | None = False,
        pad_last_batch: bool | None = False,
        random_shuffle: bool | None = False,
        shuffle_after_epoch: bool | None = False,
        shuffle_after_epoch_seed: int | None = None,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        read_ahead: bool | None = False,
        prefetch_queue_depth: int | None = 1,
        dont_use_mmap: bool | None = False,
        skip_cached_images: bool | None = False,
        tensor_init_bytes: int | None = 1048576,
        device: str | None = "cpu",
        name: str | None = None,
        seed: int | None = -1,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> Any: ...

class Video(_Operator):
    """Reads sequences of frames from videos: fn.readers.video with other arguments for ranges and
    padding.

    The defaults of `file_list` differ from fn.readers.video: the numbers are seconds, and the
    frame of the end is part of the range.

    Args:
        sequence_length: int, required. Frames of a sequence, 1 or more.
        filenames: str or list of str, default []. Paths of the videos, relative to the working
            directory.
        file_root: str, default "". Folder with one folder for each label (0, 1, ... in the
            order of the folders' names), with the videos right inside of these. Files whose
            names do not end like those of videos (.mp4, .mkv, .webm, .avi, ...) are ignored.
        file_list: str, default "". Text file of lines "path label", "path label start" or "path
            label start end": a range of a video, from the start to the end. Negative numbers
            count from the end of the video, and what is outside of it is ignored. Paths are
            relative to the working directory and have no white space.
        labels: int or list of int, optional. Labels of `filenames`, one for each. An empty
            list: the position in `filenames`. If it is not given, there is no output of labels.
        stride: int, default 1. Distance of the frames of a sequence: 2 takes every other one.
        step: int, default -1. Distance from the first frame of a sequence to that of the next
            one. 0 or less: sequences follow one another without overlap (`sequence_length` *
            `stride`).
        clips_per_video: int, default 0. If it is not 0: instead of all sequences, each range of
            a video has this many per epoch, at random places, which are others in each epoch.
            torchdali only.
        jitter: int, default 0. Each sequence begins up to this many frames later, as far as the
            range permits: a random number, another one in each epoch. torchdali only.
        enable_frame_num: str, default "none". Output of frame numbers, from 0: "none", "scalar"
            (of the first frame of a sequence; True means the same) or "sequence" (of all).
        enable_timestamps: bool, default False. Output the presentation times of frames.
        seek_mode: str, default "exact". How frames are found. "exact": by the presentation
            times of all frames, for which each file is indexed once. "approximate": by the
            average frame rate, without an index; wrong where frames are not equally far apart.
            torchdali only.
        adjust_orientation: bool, default True. Turn the frames by the rotation that the file
            asks for, as players do. DALI does not. torchdali only.
        num_shards: int, default 1. Number of parts that the data set is divided into. Shard i
            has samples floor(i * size / num_shards) to floor((i + 1) * size / num_shards) - 1.
        shard_id: int, default 0. The shard to start with, 0 to `num_shards` - 1.
        stick_to_shard: bool, default False. Stay with shard `shard_id`. Otherwise each epoch
            continues with the next shard.
        pad_last_batch: bool, default False. Fill up each epoch to whole batches, and to as many
            as the largest shard has, by repeating its last sample. Otherwise a batch may have
            the end of one epoch and the beginning of the next.
        random_shuffle: bool, default False. Make a new permutation of the shard's samples in
            each epoch. All permutations are possible, whatever `initial_fill` is. To make
            shards similar, the data set is mixed once before it is divided, in the same way for
            every seed; the shards are DALI's.
        shuffle_after_epoch: bool, default False. Make a new permutation of the whole data set
            in each epoch, the same on all ranks, and divide that into shards; the reader takes
            shard `shard_id` of it. Excludes `random_shuffle` and `stick_to_shard`.
        shuffle_after_epoch_seed: int, optional. Seed of `shuffle_after_epoch`, the same on all
            ranks; a constant by default. `seed` has no effect on these permutations.
        initial_fill: int, default 1024. Size of DALI's shuffle buffer. No effect: a permutation
            of the whole shard is at least as random and needs no buffer.
        lazy_init: bool, default False. Find the samples when they are first needed, not when
            the pipeline is built.
        read_ahead: bool, default False. Always read ahead. By default, data is read ahead if it
            is remote, and while threads wait for storage, not while it is in the system's page
            cache.
        prefetch_queue_depth: int, default 1. Number of batches that are read ahead, in addition
            to those that are scheduled, into at most 256 MB of memory, and at most 65536
            samples. More batches help if storage is slow but serves many requests at a time. Of
            remote files (URLs), as many samples are read ahead as keep the connections busy, if
            that is more.
        dont_use_mmap: bool, default False. Do not map files into memory. By default,
            containers, and files of which regions are read, are mapped unless reading waits for
            a disk. Truncating a mapped file is an error, as it is otherwise, and does not end
            the process.
        skip_cached_images: bool, default False. No effect: it belongs to the image cache of
            DALI's GPU decoder, which torchdali does not have.
        tensor_init_bytes: int, default 1048576. No effect: each sample is allocated at its
            size.
        image_type: types.DALIImageType, default types.DALIImageType.RGB. Color space of the
            frames: RGB, YCbCr (BT.601 of limited range) or GRAY.
        file_list_format: str, default "timestamps". What the numbers in `file_list` are:
            "timestamps" (seconds) or "frames", from 0.
        file_list_rounding: str, default "start_down_end_up". Of times between two frames, to
            which of them the start and the end are rounded: "start_down_end_up",
            "start_up_end_down", "all_down" or "all_up".
        file_list_include_end: bool, default True. The frame of the end is part of the range.
        pad_mode: str, default "none". What completes a sequence that the range has not enough
            frames for. "none": there is no such sequence. "constant": frames of `fill_value`.
            "edge" ("repeat"): the last frame. "reflect_1001" ("symmetric"): the frames
            backwards from the last one. "reflect_101" ("reflect"): those from the one before
            it. Unless it is "none", sequences begin at all multiples of `step`.
        fill_value: int or list of int, default [0]. Values of the channels of padded frames, or
            one for all; 0 to 255.
        uniform_sample: bool, default False. Take one sequence of each range, with frames
            equally far apart from its first to its last; if it has fewer than
            `sequence_length`, some repeat. Excludes `stride` and `step`.
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

    Returns:
        DataNode, or a list of them; the number depends on the arguments.
            frames: The frames, layout "FHWC".
            label: With `file_root`, `file_list` or `labels`: the label; int32.
            frame_num: With `enable_frame_num`: the number of the first frame in its video,
                int32; or those of all frames, int32 [F]. -1: padding.
            timestamps: With `enable_timestamps`: the presentation times of the frames in
                seconds; float64 [F]. -1: padding.
    """

    def __init__(
        self,
        *,
        sequence_length: int | None = None,
        filenames: str | Sequence[str] | None = ...,
        file_root: str | os.PathLike[str] | None = "",
        file_list: str | os.PathLike[str] | None = "",
        labels: int | Sequence[int] | NDArray[Any] | None = ...,
        stride: int | None = 1,
        step: int | None = -1,
        clips_per_video: int | None = 0,
        jitter: int | None = 0,
        enable_frame_num: str | os.PathLike[str] | None = "none",
        enable_timestamps: bool | None = False,
        seek_mode: str | os.PathLike[str] | None = "exact",
        adjust_orientation: bool | None = True,
        num_shards: int | None = 1,
        shard_id: int | None = 0,
        stick_to_shard: bool | None = False,
        pad_last_batch: bool | None = False,
        random_shuffle: bool | None = False,
        shuffle_after_epoch: bool | None = False,
        shuffle_after_epoch_seed: int | None = None,
        initial_fill: int | None = 1024,
        lazy_init: bool | None = False,
        read_ahead: bool | None = False,
        prefetch_queue_depth: int | None = 1,
        dont_use_mmap: bool | None = False,
        skip_cached_images: bool | None = False,
        tensor_init_bytes: int | None = 1048576,
        image_type: types.DALIImageType | None = types.DALIImageType.RGB,
        file_list_format: str | os.PathLike[str] | None = "timestamps",
        file_list_rounding: str | os.PathLike[str] | None = "start_down_end_up",
        file_list_include_end: bool | None = True,
        pad_mode: str | os.PathLike[str] | None = "none",
        fill_value: int | Sequence[int] | NDArray[Any] | None = ...,
        uniform_sample: bool | None = False,
        device: str | None = "cpu",
        name: str | None = None,
        seed: int | None = -1,
        preserve: bool | None = False,
        bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
        on_error: str | os.PathLike[str] | None = None,
    ) -> None: ...
    def __call__(
        self,
        **kwargs: Any,
    ) -> Any: ...
