# SPDX-License-Identifier: Apache-2.0
"""A job of torchrun: each rank reads its shard."""

import os
import sys

import nvidia.dali as dali
from nvidia.dali import fn
from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


@dali.pipeline_def(batch_size=4, num_threads=1, device_id=None)
def labels():
    _, label = fn.readers.file(
        file_root=sys.argv[1], shard_id=rank, num_shards=world, pad_last_batch=True, name="Reader"
    )
    return label


loader = DALIGenericIterator(
    labels(), ["label"], reader_name="Reader", last_batch_policy=LastBatchPolicy.PARTIAL
)
found = [batch[0]["label"].flatten().tolist() for batch in loader]
print(f"rank {rank} of {world}: {found} {dali.fn.__name__}\n", end="", flush=True)
