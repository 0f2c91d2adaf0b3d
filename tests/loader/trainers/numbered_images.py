# SPDX-License-Identifier: Apache-2.0
"""A dataset of small images that have their index in them, and pipelines, for tests of trainers."""

from __future__ import annotations

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset

from torchdali import fn, pipeline_def, types


class Images(Dataset):
    """Images of several sizes, whose value is the label."""

    def __init__(self, count=22):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        image = np.full((6 + index % 2, 5, 1), index, np.uint8)
        return {"pixel_values": image, "labels": index, "name": f"n{index}"}


class Stream(IterableDataset):
    def __iter__(self):
        yield from map(Images(22).__getitem__, range(22))


def prepare(pixel_values, labels, name):
    image = fn.resize(pixel_values, size=[4, 4])
    image = fn.crop_mirror_normalize(image, dtype=types.FLOAT, output_layout="CHW")
    return {
        "pixel_values": image, "labels": labels, "name": name, "random": fn.random.uniform(),
    }  # fmt: skip


def train(pixel_values, labels, name):
    image = fn.crop_mirror_normalize(
        fn.resize(pixel_values, size=[4, 4]), dtype=types.FLOAT, std=[10.0], output_layout="CHW"
    )
    return {"pixel_values": image, "labels": labels}


class Model(torch.nn.Module):
    """Tells small values from large ones, and notes what it has seen."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 1)
        self.seen = []

    def forward(self, pixel_values, labels):
        if self.training:
            self.seen.append(labels.tolist())
        given = self.linear(pixel_values.flatten(1) - 1)[:, 0]
        target = (labels > 10).float()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(given, target)
        return {"loss": loss, "logits": given}


class Proxied(Images):
    """The same images through the proxy of a server."""

    def __init__(self, proxy):
        super().__init__()
        self.proxy = proxy

    def __getitem__(self, index):
        sample = super().__getitem__(index)
        return {**sample, "pixel_values": self.proxy(sample["pixel_values"])}


@pipeline_def(batch_size=4, num_threads=1)
def resized():
    image = fn.resize(fn.external_source(name="image", layout="HWC"), size=[4, 4])
    return fn.crop_mirror_normalize(image, dtype=types.FLOAT, output_layout="CHW")
