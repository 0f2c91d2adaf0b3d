# SPDX-License-Identifier: Apache-2.0
"""Training of an SSD detector on COCO: random crops of boxes, anchors, an iterator of its own."""

import ctypes
import sys

import numpy as np
import torch
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.backend import TensorListGPU
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIRaggedIterator


def default_boxes():
    centers = (np.arange(4) + 0.5) / 4
    grid = np.stack(np.meshgrid(centers, centers), -1).reshape(-1, 2)
    return np.concatenate([np.clip(grid - 0.2, 0, 1), np.clip(grid + 0.2, 0, 1)], 1)


@pipeline_def
def ssd(file_root, annotations_file, anchors, training):
    inputs, bboxes, labels = fn.readers.coco(
        file_root=file_root,
        annotations_file=annotations_file,
        skip_empty=True,
        shard_id=0,
        num_shards=1,
        ratio=True,
        ltrb=True,
        random_shuffle=training,
        shuffle_after_epoch=False,
        name="Reader",
    )
    images = fn.decoders.image(inputs, device="cpu", output_type=types.RGB)
    if training:
        crop_begin, crop_size, bboxes, labels = fn.random_bbox_crop(
            bboxes,
            labels,
            device="cpu",
            aspect_ratio=[0.5, 2.0],
            thresholds=[0, 0.1, 0.3, 0.5, 0.7, 0.9],
            scaling=[0.3, 1.0],
            bbox_layout="xyXY",
            allow_no_crop=True,
            num_attempts=50,
        )
        images = fn.slice(images, crop_begin, crop_size, out_of_bounds_policy="pad")
        flip = fn.random.coin_flip(probability=0.5)
        bboxes = fn.bb_flip(bboxes, ltrb=True, horizontal=flip)
        saturation = fn.random.uniform(range=[0.5, 1.5])
        hue = fn.random.uniform(range=[-18.0, 18.0])
        images = fn.hsv(images, dtype=types.FLOAT, hue=hue, saturation=saturation)
        images = fn.brightness_contrast(
            images,
            contrast_center=128,
            dtype=types.UINT8,
            brightness=fn.random.uniform(range=[0.875, 1.125]),
        )
    else:
        flip = 0
    images = fn.resize(
        images, resize_x=32, resize_y=32, min_filter=types.DALIInterpType.INTERP_TRIANGULAR
    )
    images = fn.crop_mirror_normalize(
        images,
        crop=(32, 32),
        mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
        std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        mirror=flip,
        dtype=types.FLOAT,
        output_layout="CHW",
        pad_output=False,
    )
    if training:
        bboxes, labels = fn.box_encoder(
            bboxes, labels, criteria=0.5, anchors=anchors.flatten().tolist()
        )
    return images, bboxes, labels


to_torch_type = {
    np.dtype(np.float32): torch.float32,
    np.dtype(np.int32): torch.int32,
}


def feed_ndarray(dali_tensor, arr):
    """Copies a tensor of DALI to memory of torch."""
    assert dali_tensor.shape() == list(arr.size())
    dali_tensor.copy_to_external(ctypes.c_void_p(arr.data_ptr()))


class DALICOCOIterator:
    """Runs a pipeline ahead, and copies what it has made."""

    def __init__(self, pipeline, size):
        self._pipe, self._size = pipeline, size
        self.batch_size = pipeline.max_batch_size
        self._pipe.build()
        self._counter = 0
        with self._pipe._check_api_type_scope(types.PipelineAPIType.ITERATOR):
            self._pipe.schedule_run()

    def __iter__(self):
        return self

    def __next__(self):
        if self._counter >= self._size:
            self._counter -= self._size
            raise StopIteration
        with self._pipe._check_api_type_scope(types.PipelineAPIType.ITERATOR):
            outputs = self._pipe.share_outputs()
            assert not any(isinstance(output, TensorListGPU) for output in outputs)
            tensors = []
            for output in (o.as_tensor() for o in outputs):
                made = torch.zeros(output.shape(), dtype=to_torch_type[np.dtype(output.dtype())])
                feed_ndarray(output, made)
                tensors.append(made)
            self._pipe.release_outputs()
            self._counter += self.batch_size
            self._pipe.schedule_run()
        return tensors


def main():
    root, file = sys.argv[1:]
    anchors = default_boxes()
    args = {"batch_size": 4, "num_threads": 2, "device_id": None, "seed": 3}
    train = ssd(root, file, anchors, training=True, **args)
    loader = DALICOCOIterator(train, 12)
    for epoch in range(2):
        shapes = [[list(part.shape) for part in batch] for batch in loader]
        print(epoch, len(shapes), *shapes[0])

    iterator = DALIRaggedIterator(
        [ssd(root, file, anchors, training=False, **args)],
        ["image", "bboxes", "labels"],
        reader_name="Reader",
        output_types=[
            DALIRaggedIterator.DENSE_TAG,
            DALIRaggedIterator.SPARSE_LIST_TAG,
            DALIRaggedIterator.SPARSE_LIST_TAG,
        ],
        last_batch_policy=LastBatchPolicy.PARTIAL,
    )
    found = [len(boxes) for batch in iterator for boxes in batch[0]["bboxes"]]
    print("evaluated", iterator._size, found)


main()
