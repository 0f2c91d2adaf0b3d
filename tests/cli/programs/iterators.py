# SPDX-License-Identifier: Apache-2.0
"""Iterators for PyTorch, with each policy for the last batch, over one and several pipelines."""

import sys

from nvidia.dali import fn, types
from nvidia.dali import pipeline_def as define
from nvidia.dali.plugin import pytorch
from nvidia.dali.plugin.base_iterator import LastBatchPolicy as Policy
from nvidia.dali.plugin.pytorch.fn import torch_python_function


@define(batch_size=4, num_threads=2, device_id=None, exec_async=False, exec_pipelined=False)
def photos(root, shard, shards, pad):
    data, label = fn.readers.file(
        file_root=root,
        name="Reader",
        shard_id=shard,
        num_shards=shards,
        stick_to_shard=True,
        pad_last_batch=pad,
    )
    image = fn.decoders.image(data, output_type=types.DALIImageType.GRAY)
    image = fn.resize(image, size=(8, 8))
    return torch_python_function(image, function=lambda x: x.float() / 255), label


def main():
    root = sys.argv[1]
    for policy in Policy.FILL, Policy.PARTIAL, Policy.DROP:
        for pad in False, True:
            iterator = pytorch.DALIGenericIterator(
                [photos(root, shard, 2, pad) for shard in range(2)],
                ["image", "label"],
                reader_name="Reader",
                last_batch_policy=policy,
                auto_reset=True,
            )
            epochs = [
                [[len(part["label"]) for part in batch] for batch in iterator] for _ in range(2)
            ]
            print(policy.name, pad, iterator._size, len(iterator), *epochs)

    classification = pytorch.DALIClassificationIterator(
        photos(root, 0, 1, True), size=10, fill_last_batch=False, last_batch_padded=True
    )
    for epoch in range(2):
        labels = [batch[0]["label"].flatten().tolist() for batch in classification]
        print(epoch, labels)
        classification.reset()

    endless = pytorch.DALIGenericIterator(
        photos(root, 0, 1, False), ["image", "label"], prepare_first_batch=False
    )
    print([tuple(next(endless)[0]["image"].shape) for _ in range(4)])


main()
