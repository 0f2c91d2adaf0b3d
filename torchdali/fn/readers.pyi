# Made by `make generate` from the engine's registry; do not edit.
import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from numpy.typing import NDArray

from torchdali import types
from torchdali.data_node import DataNode
from torchdali.tfrecord import Feature

__all__ = [
    "arrow",
    "caffe",
    "caffe2",
    "coco",
    "file",
    "mxnet",
    "nemo_asr",
    "numpy",
    "parquet",
    "sequence",
    "tfrecord",
    "video",
    "video_resize",
    "webdataset",
]

def arrow(
    *,
    table: Any,
    columns: str | Sequence[str],
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
) -> Any:
    """Reads rows of a table in memory, or of a Hugging Face dataset, without Python for each
    sample. Needs the package pyarrow.

    Encoded images go from the table's buffers to the decoders. A dataset that was shuffled,
    filtered or selected from gives the rows that it has, in its order; `random_shuffle`
    permutes them.

    Args:
        table: object, required. A pyarrow.Table, a datasets.Dataset, or an object with
            __arrow_c_stream__(), as those of Polars and pandas. A pipeline with it cannot be
            serialized.
        columns: str or list of str, required. Names of the columns. "a.b" is the field b of the
            structs in column a.
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
            values: One output for each column. Bytes, strings, and images of Hugging Face
                datasets (structs of bytes and path): uint8 [size]. Numbers and booleans: [].
                Lists of them: [n]; nested lists, if they are rectangular, [n, m, ...].
    """

def caffe(
    *,
    path: str | Sequence[str],
    image_available: bool | None = True,
    label_available: bool | None = True,
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
) -> Any:
    """Reads images and labels from LMDB databases of Caffe, in the order of the keys.

    Encoded images are returned as they are stored. If a Datum says that its image is not
    encoded, the output has the shape [height, width, channels], as in DALI. The pixels are as
    they are stored, though, and Caffe stores one plane for each channel: reshape them to
    [channels, height, width].

    Args:
        path: str or list of str, required. Paths or URLs of LMDB databases: folders with a
            `data.mdb`, or such files. They must not be written to while they are read.
        image_available: bool, default True. The database has images, and the reader returns
            them.
        label_available: bool, default True. The database has labels, and the reader returns
            them.
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
            data: The image; uint8 [size], or [height, width, channels]. Missing without
                `image_available`.
            label: The label; int32 [1], or [0] of a Datum without one. Missing without
                `label_available`.
    """

def caffe2(
    *,
    path: str | Sequence[str],
    image_available: bool | None = True,
    label_type: int | None = 0,
    num_labels: int | None = 1,
    additional_inputs: int | None = 0,
    bbox: bool | None = False,
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
) -> Any:
    """Reads images, labels and tensors from LMDB databases of Caffe2, in the order of the keys.

    A value of the database has the image, the label (of weighted labels, the indices and then
    the weights), the additional inputs, and the bounding box, as far as there are any.

    Args:
        path: str or list of str, required. Paths or URLs of LMDB databases: folders with a
            `data.mdb`, or such files. They must not be written to while they are read.
        image_available: bool, default True. The database has images, and the reader returns
            them.
        label_type: int, default 0. 0: one label. 1: indices of the labels that hold; the output
            is int32 [num_labels], 0 or 1. 2: a vector. 3: indices and weights; the output is
            float32 [num_labels]. 4: none.
        num_labels: int, default 1. Number of classes, for the label types 1 and 3.
        additional_inputs: int, default 0. Number of additional tensors of a sample.
        bbox: bool, default False. The database has bounding boxes, and the reader returns them.
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
            data: The image; uint8 [size], or [height, width, channels] if it is stored as
                pixels. Missing without `image_available`.
            label: The label; int32 or float32, [1] or [labels]. Missing with `label_type=4`.
            additional: The additional inputs, if there are any; float32, int32 or int64 [size].
            bbox: The bounding box, with `bbox`; int32 [4].
    """

def coco(
    *,
    file_root: str | os.PathLike[str] | None = None,
    annotations_file: str | os.PathLike[str] | None = "",
    images: str | Sequence[str] | None = ...,
    ltrb: bool | None = False,
    ratio: bool | None = False,
    size_threshold: float | None = 0.1,
    skip_empty: bool | None = False,
    include_iscrowd: bool | None = True,
    avoid_class_remapping: bool | None = False,
    polygon_masks: bool | None = False,
    masks: bool | None = False,
    pixelwise_masks: bool | None = False,
    image_ids: bool | None = False,
    preprocessed_annotations: str | os.PathLike[str] | None = "",
    save_preprocessed_annotations: bool | None = False,
    save_preprocessed_annotations_dir: str | os.PathLike[str] | None = "",
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
    save_img_ids: Any = None,  # deprecated
    meta_files_path: Any = None,  # deprecated
    dump_meta_files: Any = None,  # deprecated
    dump_meta_files_path: Any = None,  # deprecated
) -> Any:
    """Reads images and the annotations of their objects: boxes, labels and masks, from a JSON file
    in [COCO's format](https://cocodataset.org/#format-data).

    Samples are in the order of the images' ids, or in that of `images`. Objects are in the
    order of the file. After the first three outputs come those that are asked for:
    `polygon_masks`, two outputs, or `pixelwise_masks`, and then `image_ids`.

    Masks are those of pycocotools, bit for bit.

    Args:
        file_root: str, optional. Required: the folder that file names are relative to.
        annotations_file: str, default "". The JSON file.
        images: str or list of str, optional. The images to read, in this order, by their
            `file_name`s in the JSON file. By default, all are read.
        ltrb: bool, default False. Boxes are left, top, right, bottom. Otherwise they are x, y,
            width, height.
        ratio: bool, default False. Boxes and vertices are fractions of the width and the height
            of the image. Pixelwise masks do not depend on it.
        size_threshold: float, default 0.1. Objects whose box has a smaller width or height, in
            pixels, are left out.
        skip_empty: bool, default False. Leave out images without objects.
        include_iscrowd: bool, default True. Otherwise, objects with `iscrowd` are left out.
        avoid_class_remapping: bool, default False. Labels are the ids of the categories.
            Otherwise they are the positions of the categories in the JSON file, from 1 on.
        polygon_masks: bool, default False. Return the polygons of the objects. Masks of run
            lengths have none.
        masks: bool, default False. Deprecated: like `polygon_masks`, but the first and the last
            vertex of a polygon are given as numbers of coordinates, two for each vertex.
        pixelwise_masks: bool, default False. Return the labels of the objects at each pixel.
        image_ids: bool, default False. Return the ids of the images.
        preprocessed_annotations: str, default "". Folder of files that
            `save_preprocessed_annotations` wrote, here or in DALI, instead of the JSON file.
            The arguments that select and convert objects are those with which they were
            written, and cannot be given.
        save_preprocessed_annotations: bool, default False. Write the annotations to
            `save_preprocessed_annotations_dir`, in DALI's format.
        save_preprocessed_annotations_dir: str, default "". An existing folder.
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
        save_img_ids: deprecated; use `image_ids`.
        meta_files_path: deprecated; use `preprocessed_annotations`.
        dump_meta_files: deprecated; use `save_preprocessed_annotations`.
        dump_meta_files_path: deprecated; use `save_preprocessed_annotations_dir`.

    Returns:
        DataNode, or a list of them; the number depends on the arguments.
            images: Contents of the image file; uint8 [size].
            boxes: A box for each object; float32 [objects, 4].
            labels: A label for each object; int32 [objects].
            polygons_or_masks: With `polygon_masks`, the index of the object, the first vertex,
                and one past the last vertex of each polygon; int32 [polygons, 3]. With
                `pixelwise_masks`, the label of the object at each pixel, the greatest one if
                there are several, or 0; int32 [height, width, 1].
            vertices: Only with `polygon_masks`: x and y of each; float32 [vertices, 2].
            image_ids: Only with `image_ids`: the id of the image; int32 [1].
    """

def file(
    *,
    file_root: str | os.PathLike[str] | None = None,
    file_list: str | os.PathLike[str] | None = None,
    files: str | Sequence[str] | None = ...,
    labels: int | Sequence[int] | NDArray[Any] | None = ...,
    file_filters: str | Sequence[str] | None = ...,
    dir_filters: str | Sequence[str] | None = ...,
    case_sensitive_filter: bool | None = False,
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
    bucket_by: str | os.PathLike[str] | None = None,
    bucket_window: int | None = 100,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> list[DataNode]:
    """Reads files and returns their bytes and labels.

    The files come from `file_root`, a folder with one folder for each label (0, 1, ... in the
    order of the folders' names); from `file_list`, a text file of lines "path label"; or from
    `files`, paths given here. All of them may be URLs (s3://bucket/folder), and the lists may
    have URLs.

    The reader never ends: an epoch (one pass over a shard) is followed by the next one, in the
    same batch unless `pad_last_batch` is given. Worker threads read the files, each into its
    own memory.

    Args:
        file_root: str, optional. Folder with one folder for each label; or, with `file_list` or
            `files`, the folder that paths are relative to.
        file_list: str, optional. Text file with one "path label" per line. The label is the
            last word; the path may contain spaces. Paths are relative to `file_root`, or
            without it to the folder of the list. Blank lines are skipped.
        files: str or list of str, optional. Paths of the files, relative to `file_root`, or
            without it to the working directory.
        labels: int or list of int, optional. Labels of `files`, one for each; by default the
            position in `files`.
        file_filters: str or list of str, default ["*.jpg", "*.jpeg", "*.png", "*.bmp", "*.tif",
            "*.tiff", "*.pnm", "*.ppm", "*.pgm", "*.pbm", "*.jp2", "*.webp", "*.flac", "*.ogg",
            "*.wav"]. Glob patterns (`*`, `?`, `[a-z]`, `[!a-z]`); under `file_root`, files
            whose names match none of them are ignored.
        dir_filters: str or list of str, optional. Glob patterns; folders in `file_root` whose
            names match none of them are ignored and get no label.
        case_sensitive_filter: bool, default False. Upper and lower case differ in the patterns.
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
        bucket_by: str, optional. Make batches of samples of like length, so that little is
            padded. "size": the size of the file, for which the reader asks the file system when
            it lists the files; not of remote files. The order of an epoch, shuffled or not, is
            cut into windows of `bucket_window` batches; each window is sorted by length and cut
            into batches; these are shuffled if samples are. Each sample stays in its epoch and
            shard. Not in DALI.
        bucket_window: int, default 100. With `bucket_by`: number of batches that are sorted
            together. More of them make lengths more alike, and the order less random.
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
        List of DataNode: `data`, `label`.
            data: Contents of the file; uint8 [size].
            label: Label of the file; int32 [1].
    """

def mxnet(
    *,
    path: str | Sequence[str],
    index_path: str | Sequence[str] | None = ...,
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
    bucket_by: str | os.PathLike[str] | None = None,
    bucket_window: int | None = 100,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> list[DataNode]:
    """Reads images and labels from MXNet's RecordIO files, as `im2rec` writes them.

    The samples are in the order of the files.

    Args:
        path: str or list of str, required. Paths or URLs of the RecordIO files.
        index_path: str or list of str, optional. Index files of `path`, as DALI's `rec2idx`
            writes them. By default they are made, which takes one pass over the files, and kept
            in the user's cache.
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
        bucket_by: str, optional. Make batches of samples of like length, so that little is
            padded. "size": the bytes of a record. The order of an epoch, shuffled or not, is
            cut into windows of `bucket_window` batches; each window is sorted by length and cut
            into batches; these are shuffled if samples are. Each sample stays in its epoch and
            shard. Not in DALI.
        bucket_window: int, default 100. With `bucket_by`: number of batches that are sorted
            together. More of them make lengths more alike, and the order less random.
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
        List of DataNode: `data`, `label`.
            data: The encoded image; uint8 [size].
            label: The label, or all labels of the image; float32 [labels].
    """

def nemo_asr(
    *,
    manifest_filepaths: str | Sequence[str],
    read_sample_rate: bool | None = True,
    read_text: bool | None = True,
    read_idxs: bool | None = False,
    downmix: bool | None = True,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.FLOAT,
    sample_rate: float | None = -1.0,
    quality: float | None = 50.0,
    antialias: bool | None = False,
    min_duration: float | None = 0.0,
    max_duration: float | None = 0.0,
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
    bucket_by: str | os.PathLike[str] | None = None,
    bucket_window: int | None = 100,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
    normalize_text: Any = None,  # deprecated
) -> Any:
    """Reads clips of audio and their texts, for speech recognition, as manifests in the format of
    NVIDIA NeMo list them.

    A manifest has a JSON object on each line: `{"audio_filepath": "a.wav", "offset": 1.5,
    "duration": 2.0, "text": "hello"}`. Only the file's name is required. `offset` and
    `duration` are in seconds, of which the fraction of a frame is cut off; only that part of
    the file is decoded, and it ends with the file at the latest. Without them, the clip begins
    and ends with the file. Other fields are ignored, and so are blank lines. Names are relative
    to the working directory; those in a manifest at a URL are relative to it.

    Formats are those of `decoders.audio`. The reader never ends: an epoch is followed by the
    next one.

    Args:
        manifest_filepaths: str or list of str, required. Paths or URLs of the manifests.
        read_sample_rate: bool, default True. Return the sample rate of each file.
        read_text: bool, default True. Return the text of each clip.
        read_idxs: bool, default False. Return the number of each clip.
        downmix: bool, default True. Return the mean of the channels, without an axis of
            channels.
        dtype: types.DALIDataType, default types.DALIDataType.FLOAT. Element type of the audio:
            float32, in [-1, 1], or int16 or int32, with their full range.
        sample_rate: float, default -1.0. Frames per second of the audio; 0 or less keeps the
            rate of each file.
        quality: float, default 50.0. Quality of resampling, 0 to 100: 0 has 3 lobes of the sinc
            filter, 50 has 16, 100 has 64.
        antialias: bool, default False. Whether to remove frequencies that a lower sampling rate
            cannot represent. They are mirrored otherwise, as by DALI, which has no such
            argument.
        min_duration: float, default 0.0. Leave out clips whose "duration" is less, or missing;
            in seconds. 0: no limit.
        max_duration: float, default 0.0. Leave out clips whose "duration" is greater, in
            seconds. 0: no limit.
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
        bucket_by: str, optional. Make batches of samples of like length, so that little is
            padded. "duration": of the clip; each entry of the manifests must have it. The order
            of an epoch, shuffled or not, is cut into windows of `bucket_window` batches; each
            window is sorted by length and cut into batches; these are shuffled if samples are.
            Each sample stays in its epoch and shard. Not in DALI.
        bucket_window: int, default 100. With `bucket_by`: number of batches that are sorted
            together. More of them make lengths more alike, and the order less random.
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
        normalize_text: deprecated, without effect.

    Returns:
        DataNode, or a list of them; the number depends on the arguments.
            audio: The clip: [frames], or [frames, channels] without `downmix`.
            sample_rate: With `read_sample_rate`: frames per second of the file, also if the
                clip is resampled; float32, a scalar.
            text: With `read_text`: the text in UTF-8, empty if there is none; uint8 [bytes].
            index: With `read_idxs`: the number of the clip in its manifest, from 0 on, without
                clips that are left out; int64 [1].
    """

def numpy(
    *,
    roi_start: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
    rel_roi_start: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    roi_end: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
    rel_roi_end: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    roi_shape: int | Sequence[int] | NDArray[Any] | DataNode | None = ...,
    rel_roi_shape: float | Sequence[float] | NDArray[Any] | DataNode | None = ...,
    roi_axes: int | Sequence[int] | NDArray[Any] | None = ...,
    out_of_bounds_policy: str | os.PathLike[str] | None = "error",
    fill_value: float | None = 0.0,
    cache_header_information: bool | None = False,
    use_o_direct: bool | None = False,
    register_buffers: bool | None = True,
    file_root: str | os.PathLike[str] | None = None,
    file_list: str | os.PathLike[str] | None = None,
    files: str | Sequence[str] | None = ...,
    file_filter: str | os.PathLike[str] | None = "*.npy",
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
) -> DataNode:
    """Reads arrays from .npy files, as numpy.save writes them, or a region of each array.

    The files come from `file_root`, a folder; from `file_list`, a text file of paths; or from
    `files`, paths given here. A region is given by `roi_start` with `roi_end` or `roi_shape` or
    their `rel_` forms, along `roi_axes`. Only its bytes are read, and those between parts of it
    that are close to each other. Fractional coordinates are rounded to the nearest integer,
    halves away from zero.

    With device="gpu", arrays are read by GPUDirect Storage if the environment variable
    TORCHDALI_GDS asks for it, and otherwise on the host, into pinned memory, and copied.

    Args:
        roi_start: int or list of int or DataNode, optional. First element of the region, one
            value per axis.
        rel_roi_start: float or list of float or DataNode, optional. `roi_start` as a fraction
            of the extent.
        roi_end: int or list of int or DataNode, optional. Element after the last of the region,
            one value per axis. Without `roi_end` and `roi_shape`, the region extends to the end
            of the array.
        rel_roi_end: float or list of float or DataNode, optional. `roi_end` as a fraction of
            the extent.
        roi_shape: int or list of int or DataNode, optional. Extent of the region, one value per
            axis.
        rel_roi_shape: float or list of float or DataNode, optional. `roi_shape` as a fraction
            of the extent.
        roi_axes: int or list of int, default []. Axes that the coordinates are for; negative
            ones count from the end. Other axes are kept whole. Empty: all axes.
        out_of_bounds_policy: str, default "error". What to do if the region extends outside the
            array: "error", "pad" (fill with `fill_value`) or "trim_to_shape" (make the region
            smaller).
        fill_value: float, default 0.0. Value of elements outside the array, with the policy
            "pad"; converted as fn.cast does.
        cache_header_information: bool, default False. Remember the header of each file, for
            files that do not change. Regions that are the same for all samples can then be read
            ahead.
        use_o_direct: bool, default False. Read past the system's page cache (O_DIRECT), for
            data sets that are larger than the memory. An error where the file system does not
            support it.
        register_buffers: bool, default True. With GPUDirect Storage: register the memory that
            files are read into, which saves a copy of the bytes by the library.
        file_root: str, optional. Folder whose files, and those of its subfolders, are read; or,
            with `file_list` or `files`, the folder that paths are relative to.
        file_list: str, optional. Text file with one path per line, relative to `file_root`, or
            without it to the folder of the list. Blank lines are skipped.
        files: str or list of str, optional. Paths of the files, relative to `file_root`, or
            without it to the working directory.
        file_filter: str, default "*.npy". Glob pattern (`*`, `?`, `[a-z]`, `[!a-z]`,
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
        DataNode: The array or its region, in C order, without a layout.
    """

def parquet(
    *,
    paths: str | Sequence[str],
    columns: str | Sequence[str],
    memory_bytes: int | None = 2147483648,
    row_cache: str | os.PathLike[str] | None = None,
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
) -> Any:
    """Reads rows of Parquet files. Needs the package pyarrow.

    A row index over all files makes shuffling a full permutation of the rows. Row groups are
    loaded by threads of their own, and kept in memory up to `memory_bytes`. If a shuffled table
    is larger than that, row groups would be decoded again and again; `row_cache` prevents this.

    Errors name the file, the row group, and the row in it.

    Args:
        paths: str or list of str, required. Files, folders with *.parquet files in them or in
            their folders, or URLs.
        columns: str or list of str, required. Names of the columns. "a.b" is the field b of the
            structs in column a.
        memory_bytes: int, default 2147483648. Memory for decoded row groups that are not in
            use; those in use are kept in any case.
        row_cache: str, optional. Folder in which row groups are kept decoded, as memory-mapped
            Arrow files, for this and other processes. It needs room for the decoded columns,
            and may be deleted when no pipeline uses it.
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
            values: One output for each column. Bytes, strings, and images of Hugging Face
                datasets (structs of bytes and path): uint8 [size]. Numbers and booleans: [].
                Lists of them: [n]; nested lists, if they are rectangular, [n, m, ...].
    """

def sequence(
    *,
    file_root: str | os.PathLike[str],
    sequence_length: int,
    step: int | None = 1,
    stride: int | None = 1,
    image_type: types.DALIImageType | None = types.DALIImageType.RGB,
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
) -> DataNode:
    """Reads sequences of frames: `file_root` has one folder for each video, with one image for
    each frame, in the order of their names. A sequence does not continue in the next folder,
    and has `sequence_length` frames. The images of a sequence have one size.

    Args:
        file_root: str, required. Folder with one folder of images per video.
        sequence_length: int, required. Frames of a sequence.
        step: int, default 1. Distance between the first frames of consecutive sequences.
        stride: int, default 1. Distance between consecutive frames of a sequence.
        image_type: types.DALIImageType, default types.DALIImageType.RGB. Colors of the output,
            as `output_type` of decoders.image.
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
        DataNode: The frames, uint8, layout "FHWC".
    """

def tfrecord(
    *,
    path: str | Sequence[str],
    features: Mapping[str, Feature],
    index_path: str | Sequence[str] | None = ...,
    use_o_direct: bool | None = False,
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
    bucket_by: str | os.PathLike[str] | None = None,
    bucket_window: int | None = 100,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> dict[str, DataNode]:
    """Reads features of the records in TFRecord files, each a tf.train.Example message.

    The function returns a dictionary with one output for each feature. A string is an output of
    its bytes; of a list of strings, it is the first one. Elements that a record lacks have the
    feature's default value; a VarLenFeature is empty instead.

    Checksums of the data are not verified; those of lengths are, when an index is made.

    Args:
        path: str or list of str, required. Paths or URLs of the TFRecord files.
        features: dict of str to tfrecord.Feature, required. The features to read, by name:
            `tfrecord.FixedLenFeature(shape, dtype, default_value)` or
            `tfrecord.VarLenFeature([shape,] dtype, default_value)`, where the types are those
            of `torchdali.tfrecord`.
        index_path: str or list of str, optional. Index files of `path`, as DALI's
            `tfrecord2idx` writes them. By default they are made, which takes one pass over the
            files, and kept in the user's cache.
        use_o_direct: bool, default False. Read past the system's page cache (O_DIRECT), for
            data sets that are larger than the memory. An error where the file system does not
            support it. As in DALI, it needs `dont_use_mmap`.
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
        bucket_by: str, optional. Make batches of samples of like length, so that little is
            padded. "size": the bytes of a record. The order of an epoch, shuffled or not, is
            cut into windows of `bucket_window` batches; each window is sorted by length and cut
            into batches; these are shuffled if samples are. Each sample stays in its epoch and
            shard. Not in DALI.
        bucket_window: int, default 100. With `bucket_by`: number of batches that are sorted
            together. More of them make lengths more alike, and the order less random.
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
        Dictionary of DataNode, with the names in `features`.
            features: One output for each of `features`: int64, float32, or uint8 [bytes].
    """

def video(
    *,
    sequence_length: int,
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
    channels: int | None = 3,
    normalized: bool | None = False,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.UINT8,
    pad_sequences: bool | None = False,
    file_list_frame_num: bool | None = False,
    file_list_include_preceding_frame: bool | None = False,
    skip_vfr_check: bool | None = False,
    additional_decode_surfaces: int | None = 2,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> Any:
    """Reads sequences of frames from videos.

    The videos come from `filenames`, from `file_root` (folders are labels), or from
    `file_list`, which may have a range for each. Frames are found by their presentation times,
    so that they are exact for variable frame rates too. Files are decoded on the CPU by
    FFmpeg's libraries, which are loaded when the reader is made; docs/guide/video.md has more.
    With device="gpu", the CPU decodes and frames are copied, unless the environment variable
    TORCHDALI_NVDEC asks for the GPU's decoder.

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
        channels: int, default 3. Channels of a frame. Nothing else than those of `image_type`
            is allowed.
        normalized: bool, default False. Whether frames are floats from 0 to 1; needs
            dtype=types.FLOAT.
        dtype: types.DALIDataType, default types.DALIDataType.UINT8. Element type of the frames:
            uint8, or float (from 0 to 255).
        pad_sequences: bool, default False. A last sequence that the video has not enough frames
            for is completed by frames of zeros.
        file_list_frame_num: bool, default False. The numbers in `file_list` are frames, from 0,
            the start inclusive and the end exclusive; not seconds.
        file_list_include_preceding_frame: bool, default False. Of times between two frames: the
            start is rounded down to a frame and the end up, not the other way around. The frame
            of the end is not part of the range.
        skip_vfr_check: bool, default False. No effect: frames of a variable rate are found
            exactly, so there is no such check.
        additional_decode_surfaces: int, default 2. No effect: it belongs to DALI's GPU decoder.
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

def video_resize(
    *,
    sequence_length: int,
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
    channels: int | None = 3,
    normalized: bool | None = False,
    dtype: types.DALIDataType | torch.dtype | type[Any] | None = types.DALIDataType.UINT8,
    pad_sequences: bool | None = False,
    file_list_frame_num: bool | None = False,
    file_list_include_preceding_frame: bool | None = False,
    skip_vfr_check: bool | None = False,
    additional_decode_surfaces: int | None = 2,
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
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> Any:
    """Reads sequences of frames from videos, and resizes them as fn.resize does. On the CPU, the
    whole frames are never stored.

    The videos come from `filenames`, from `file_root` (folders are labels), or from
    `file_list`, which may have a range for each. Frames are found by their presentation times,
    so that they are exact for variable frame rates too. Files are decoded on the CPU by
    FFmpeg's libraries, which are loaded when the reader is made; docs/guide/video.md has more.
    With device="gpu", the CPU decodes and frames are copied, unless the environment variable
    TORCHDALI_NVDEC asks for the GPU's decoder.

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
        channels: int, default 3. Channels of a frame. Nothing else than those of `image_type`
            is allowed.
        normalized: bool, default False. Whether frames are floats from 0 to 1; needs
            dtype=types.FLOAT.
        dtype: types.DALIDataType, default types.DALIDataType.UINT8. Element type of the frames:
            uint8, or float (from 0 to 255).
        pad_sequences: bool, default False. A last sequence that the video has not enough frames
            for is completed by frames of zeros.
        file_list_frame_num: bool, default False. The numbers in `file_list` are frames, from 0,
            the start inclusive and the end exclusive; not seconds.
        file_list_include_preceding_frame: bool, default False. Of times between two frames: the
            start is rounded down to a frame and the end up, not the other way around. The frame
            of the end is not part of the range.
        skip_vfr_check: bool, default False. No effect: frames of a variable rate are found
            exactly, so there is no such check.
        additional_decode_surfaces: int, default 2. No effect: it belongs to DALI's GPU decoder.
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

def webdataset(
    *,
    paths: str | Sequence[str],
    ext: str | Sequence[str],
    case_sensitive_extensions: bool | None = True,
    index_paths: str | Sequence[str] | None = ...,
    dtypes: types.DALIDataType | torch.dtype | type[Any] | Sequence[Any] | None = ...,
    missing_component_behavior: str | os.PathLike[str] | None = "",
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
    bucket_by: str | os.PathLike[str] | None = None,
    bucket_window: int | None = 100,
    device: str | None = "cpu",
    name: str | None = None,
    seed: int | None = -1,
    preserve: bool | None = False,
    bytes_per_sample_hint: int | Sequence[int] | NDArray[Any] | None = ...,
    on_error: str | os.PathLike[str] | None = None,
) -> Any:
    """Reads samples of tar archives in the format of webdataset.

    A sample is a group of files that follow one another in an archive and have the same key:
    the name up to the first dot after the last slash. The rest of the name is the extension, by
    which `ext` selects the component for each output. Directories, links and hidden files are
    left out. If several files have an extension of the same output, the first is taken.

    Archives may be in ustar, pax or GNU format, but not compressed. The reader never ends: an
    epoch is followed by the next one.

    Args:
        paths: str or list of str, required. Paths or URLs of the archives.
        ext: str or list of str, required. Extensions, one entry for each output. An entry may
            have alternatives: "jpg;jpeg;png".
        case_sensitive_extensions: bool, default True. Upper and lower case differ in
            extensions.
        index_paths: str or list of str, optional. Paths or URLs of the archives' indexes, one
            for each, made with `python -m torchdali.index webdataset` or DALI's wds2idx
            (versions 1.1 and 1.2). By default an index is made and kept in the user's cache.
        dtypes: DALIDataType or list of DALIDataType, optional. Element types of the outputs,
            one for each, uint8 by default. The bytes are taken as they are, so their number
            must be a multiple of the type's size.
        missing_component_behavior: str, default "". What happens to a sample without a
            component for each output: "empty" (the default) returns an empty tensor for it,
            "skip" leaves out the sample, "error" raises an error.
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
        bucket_by: str, optional. Make batches of samples of like length, so that little is
            padded. "size": the bytes of a sample in the archive. The order of an epoch,
            shuffled or not, is cut into windows of `bucket_window` batches; each window is
            sorted by length and cut into batches; these are shuffled if samples are. Each
            sample stays in its epoch and shard. Not in DALI.
        bucket_window: int, default 100. With `bucket_by`: number of batches that are sorted
            together. More of them make lengths more alike, and the order less random.
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
            data: Contents of the components, one output for each entry of `ext`.
    """
