# SPDX-License-Identifier: Apache-2.0
"""A pipeline behind torch's DataLoader: its worker processes read files, DALI decodes them."""

import sys
from pathlib import Path

import numpy as np
import nvidia.dali.plugin.pytorch.experimental.proxy as dali_proxy
import torch
from nvidia.dali import fn, pipeline_def, types
from torch.utils.data import Dataset


@pipeline_def
def rn50_train_pipe():
    encoded = fn.external_source(name="images", no_copy=True)
    images = fn.decoders.image(encoded, output_type=types.RGB)
    images = fn.resize(images, size=[16, 16])
    return fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW")


class Photos(Dataset):
    def __init__(self, root, transform):
        self.files = sorted(Path(root).glob("*/*.jpg"))
        self.transform = transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path = self.files[index]
        encoded = np.expand_dims(np.fromfile(path, dtype=np.uint8), axis=0)
        return self.transform(encoded.squeeze(0)), int(path.parent.name[-1])


def main():
    pipe = rn50_train_pipe(batch_size=4, num_threads=2, device_id=None, prefetch_queue_depth=4)
    with dali_proxy.DALIServer(pipe) as dali_server:
        dataset = Photos(sys.argv[1], transform=dali_server.proxy)
        for context in "fork", "spawn":
            loader = dali_proxy.DataLoader(
                dali_server,
                dataset,
                batch_size=4,
                num_workers=2,
                drop_last=False,
                multiprocessing_context=context,
            )
            for images, target in loader:
                assert isinstance(images, torch.Tensor)
                print(context, tuple(images.shape), target.tolist())


if __name__ == "__main__":
    main()
