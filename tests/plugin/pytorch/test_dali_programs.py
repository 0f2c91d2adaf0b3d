# SPDX-License-Identifier: Apache-2.0
"""Training loops as programs for DALI have them, NVIDIA's ImageNet training among them."""

from __future__ import annotations

import math

import torch
from helpers.cases import for_each
from helpers.image_files import write_image_folder

from torchdali import fn, ops, types
from torchdali.pipeline import Pipeline, pipeline_def
from torchdali.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy

MEAN, STD = [124.0, 116.0, 104.0], [58.0, 57.0, 57.0]


@pipeline_def(exec_dynamic=True)
def imagenet(folder, crop, size, is_training, **reader):
    jpegs, labels = fn.readers.file(
        file_root=folder,
        random_shuffle=is_training,
        pad_last_batch=True,
        name="Reader",
        shard_id=reader["rank"],
        num_shards=reader["world_size"],
    )
    if is_training:
        images = fn.decoders.image_random_crop(
            jpegs,
            output_type=types.RGB,
            device_memory_padding=0,
            host_memory_padding=0,
            preallocate_width_hint=0,
            preallocate_height_hint=0,
            random_aspect_ratio=[0.8, 1.25],
            random_area=[0.1, 1.0],
            num_attempts=100,
        )
        images = fn.resize(images, resize_x=crop, resize_y=crop)
        mirror = fn.random.coin_flip(probability=0.5)
    else:
        images = fn.decoders.image(jpegs, output_type=types.RGB)
        images = fn.resize(images, size=size, mode="not_smaller")
        mirror = False
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        crop=(crop, crop),
        mean=MEAN,
        std=STD,
        mirror=mirror,
    )
    return images, labels


class Imagenet(Pipeline):
    """The same with classes of operators, under the names of DALI's first releases."""

    def __init__(self, batch_size, num_threads, device_id, folder, crop):
        super().__init__(batch_size, num_threads, device_id, seed=12, py_num_workers=None)
        self.input = ops.FileReader(file_root=folder, shard_id=0, num_shards=1)
        self.prepare = ops.Compose(
            [ops.ImageDecoder(device="cpu", output_type=types.RGB), ops.Resize(resize_shorter=crop)]
        )
        self.normalize = ops.CropMirrorNormalize(
            dtype=types.FLOAT, output_layout=types.NCHW, crop=(crop, crop), mean=MEAN, std=STD
        )
        self.coin = ops.CoinFlip(probability=0.5)

    def define_graph(self):
        jpegs, labels = self.input(name="Reader")
        return [self.normalize(self.prepare(jpegs), mirror=self.coin()), labels]


def train(pipe, batch_size, crop):
    """Returns the labels of two epochs."""
    pipe.build()
    loader = DALIClassificationIterator(
        pipe, reader_name="Reader", last_batch_policy=LastBatchPolicy.PARTIAL, auto_reset=True
    )
    assert loader.batch_size == batch_size
    assert loader._size == loader.size == pipe.epoch_size("Reader")
    seen = []
    for _ in range(2):
        labels, batches = [], 0
        for data in loader:
            images, target = data[0]["data"], data[0]["label"].squeeze(-1).long()
            assert images.shape[1:] == (3, crop, crop)
            assert images.dtype is torch.float32
            labels += target.tolist()
            batches += 1
        assert batches == math.ceil(loader._size / batch_size)
        seen.append(sorted(labels))
    return seen


@for_each("is_training", [True, False])
def test_nvidias_imagenet_training_runs(is_training, tmp_path):
    folder = write_image_folder(tmp_path / str(is_training), per_class=3, classes=3)
    pipe = imagenet(
        batch_size=4,
        num_threads=2,
        device_id=types.CPU_ONLY_DEVICE_ID,
        seed=12,
        folder=folder,
        crop=16,
        size=20,
        is_training=is_training,
        rank=0,
        world_size=1,
    )
    assert train(pipe, batch_size=4, crop=16) == [[0] * 3 + [1] * 3 + [2] * 3] * 2


def test_programs_of_the_first_releases_run(tmp_path, recwarn):
    write_image_folder(tmp_path / "images", per_class=2, classes=2)
    pipe = Imagenet(2, 1, None, tmp_path / "images", crop=8)
    assert train(pipe, batch_size=2, crop=8) == [[0, 0, 1, 1]] * 2
    assert {str(w.message).partition(" is ")[0] for w in recwarn} == {
        "ops.FileReader",
        "ops.ImageDecoder",
        "ops.CoinFlip",
    }
