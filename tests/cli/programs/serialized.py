# SPDX-License-Identifier: Apache-2.0
"""Pipelines that are written to text and files, and read again."""

import os
import sys

import numpy as np
from nvidia import dali
from nvidia.dali import fn, ops, types
from nvidia.dali.pipeline import Pipeline


@dali.pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=11)
def photos(root):
    data, label = fn.readers.file(file_root=root, name="Reader")
    image = fn.decoders.image(data, output_type=types.RGB)
    angle = fn.random.uniform(range=(-30, 30), dtype=dali.types.FLOAT)
    image = fn.rotate(fn.resize(image, resize_shorter=20), angle=angle, fill_value=0)
    return fn.crop(image, crop=[16, 16]), label


def sums(pipe, **args):
    return [int(images.as_array().sum()) for images, _ in (pipe.run(**args) for _ in range(3))]


def main():
    root, folder = sys.argv[1:]
    pipe = photos(root)
    text = pipe.serialize()
    file = os.path.join(folder, "pipeline.dali")
    pipe.serialize(filename=file)
    pipe.build()
    expected = sums(pipe)
    device = types.CPU_ONLY_DEVICE_ID
    read = Pipeline.deserialize(text, batch_size=4, num_threads=1, device_id=device)
    read.build()
    print("text", sums(read) == expected)
    read = dali.Pipeline.deserialize(filename=file)
    read.build()
    print("file", sums(read) == expected, read.epoch_size("Reader"))
    old = Pipeline(batch_size=4, num_threads=2, device_id=device)
    old.deserialize_and_build(text)
    print("old", sums(old) == expected)
    print("meta", pipe.reader_meta("Reader")["epoch_size"], pipe.max_batch_size, pipe.seed)

    with Pipeline(2, 1, None) as graph:
        flip = ops.Flip(horizontal=1)
        constant = types.Constant(np.uint8([[[1], [2]]]))
        graph.set_outputs(flip(fn.reshape(constant, layout="HWC")))
    graph.build()
    print(np.array(graph.run()[0].at(0)).tolist())


main()
