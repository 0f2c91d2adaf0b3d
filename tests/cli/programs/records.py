# SPDX-License-Identifier: Apache-2.0
"""Readers of containers: TFRecord with the features of its examples, archives of webdataset."""

import sys

import numpy as np
import nvidia.dali.fn as fn
import nvidia.dali.ops as ops
import nvidia.dali.tfrecord as tfrec
import nvidia.dali.types as types
from nvidia.dali.pipeline import Pipeline, pipeline_def


class TFRecordPipeline(Pipeline):
    def __init__(self, batch_size, num_threads, path, index):
        super().__init__(batch_size, num_threads, types.CPU_ONLY_DEVICE_ID)
        self.input = ops.readers.TFRecord(
            path=path,
            index_path=index,
            features={
                "image/encoded": tfrec.FixedLenFeature((), tfrec.string, ""),
                "image/class/label": tfrec.FixedLenFeature([1], tfrec.int64, -1),
                "image/object/bbox/xmin": tfrec.VarLenFeature(tfrec.float32, 0.0),
            },
        )
        self.decode = ops.decoders.Image(device="cpu", output_type=types.RGB)
        self.resize = ops.Resize(device="cpu", resize_shorter=24.0)

    def define_graph(self):
        inputs = self.input(name="Reader")
        images = self.resize(self.decode(inputs["image/encoded"]))
        return images, inputs["image/class/label"], inputs["image/object/bbox/xmin"]


@pipeline_def(batch_size=3, num_threads=2, device_id=None)
def archives(paths):
    jpg, label = fn.readers.webdataset(
        paths=paths, ext=["jpg", "cls"], missing_component_behavior="error", name="Reader"
    )
    return fn.peek_image_shape(jpg), label


def main():
    record, index, archive = sys.argv[1:]
    pipe = TFRecordPipeline(3, 2, record, index)
    pipe.build()
    images, labels, left = pipe.run()
    print(pipe.epoch_size("Reader"), [min(image.shape[:2]) for image in map(array, images)])
    print([int(array(label).item()) for label in labels], [len(array(x)) for x in left])
    pipe = archives([archive])
    pipe.build()
    shapes, labels = pipe.run()
    print(shapes.as_array().tolist(), [bytes(array(label)) for label in labels])


def array(tensor):
    return np.array(tensor)


main()
