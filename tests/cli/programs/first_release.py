# SPDX-License-Identifier: Apache-2.0
"""Subclasses of Pipeline with classes of operators, as in programs of DALI's first releases."""

import sys

import numpy as np
import nvidia.dali.ops as ops
import nvidia.dali.types as types
import torch
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.pytorch import DALIGenericIterator, feed_ndarray


class HybridTrainPipe(Pipeline):
    def __init__(self, batch_size, num_threads, device_id, data_dir, crop):
        super(HybridTrainPipe, self).__init__(  # noqa: UP008
            batch_size, num_threads, device_id, seed=12, exec_async=True, exec_pipelined=True
        )
        self.input = ops.FileReader(
            file_root=data_dir, shard_id=0, num_shards=1, random_shuffle=True
        )
        self.decode = ops.ImageDecoderRandomCrop(
            device="cpu", output_type=types.RGB, random_aspect_ratio=[0.8, 1.25], num_attempts=100
        )
        self.res = ops.Resize(
            device="cpu", resize_x=crop, resize_y=crop, interp_type=types.INTERP_TRIANGULAR
        )
        self.cmnp = ops.CropMirrorNormalize(
            device="cpu",
            output_dtype=types.FLOAT,
            output_layout=types.NCHW,
            crop=(crop, crop),
            image_type=types.RGB,
            mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
            std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        )
        self.coin = ops.CoinFlip(probability=0.5)
        self.angle = ops.Uniform(range=(-10.0, 10.0))
        self.rotate = ops.Rotate(device="cpu", fill_value=0, keep_size=True)

    def define_graph(self):
        rng = self.coin()
        self.jpegs, self.labels = self.input(name="Reader")
        images = self.decode(self.jpegs)
        images = self.res(images)
        images = self.rotate(images, angle=self.angle())
        output = self.cmnp(images, mirror=rng)
        return [output, self.labels]


class FedPipe(Pipeline):
    """Gets its data in iter_setup()."""

    def __init__(self, batch_size, data):
        super().__init__(batch_size, 1, None, seed=1)
        self.data = iter(data)
        self.source = ops.ExternalSource()
        self.cast = ops.Cast(dtype=types.INT32)

    def define_graph(self):
        self.fed = self.source()
        return self.cast(self.fed) + 1

    def iter_setup(self):
        self.feed_input(self.fed, next(self.data))


def main():
    pipe = HybridTrainPipe(
        batch_size=4, num_threads=2, device_id=None, data_dir=sys.argv[1], crop=16
    )
    pipe.build()
    size = pipe.epoch_size("Reader")
    loader = DALIGenericIterator([pipe], ["data", "label"], size=size, auto_reset=True)
    for epoch in range(2):
        count = sum(len(data[0]["label"]) for data in loader)
        print(epoch, size, count)

    fed = FedPipe(2, [[np.full(3, i, np.uint8)] * 2 for i in range(9)])
    fed.build()
    found = []
    for _ in range(3):
        output = fed.run()[0].as_tensor()
        copy = torch.zeros(output.shape(), dtype=torch.int32)
        feed_ndarray(output, copy)
        found.append(copy.tolist())
    print(found)


main()
