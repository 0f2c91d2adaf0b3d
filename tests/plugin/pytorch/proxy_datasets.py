# SPDX-License-Identifier: Apache-2.0
"""Datasets that call a proxy; worker processes of any start method import them."""

from __future__ import annotations

import os
import signal

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset, default_collate

COUNT = 11


def image(index):
    """Samples of different shapes."""
    return np.full((2 + index % 3, 3, 1), index, np.uint8)


class Images(Dataset):
    """An image through the proxy, and its index."""

    def __init__(self, proxy, count=COUNT):
        self.proxy, self.count = proxy, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.proxy(image(index)), index


class Stream(IterableDataset):
    def __init__(self, proxy):
        self.proxy = proxy

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for index in range(first, COUNT, step):
            yield self.proxy(image(index)), index


class Pairs(Images):
    """Two inputs, by position or by name, and two outputs in a dict."""

    def __init__(self, proxy, by_name):
        super().__init__(proxy)
        self.by_name = by_name

    def __getitem__(self, index):
        one, other = np.int32([index, 1]), torch.tensor([10.0 * index])
        made = self.proxy(b=other, a=one) if self.by_name else self.proxy(one, other)
        return {"sum": made[0], "more": {"twice": made[1]}, "index": index}


class Views(Images):
    """Two calls for a sample."""

    def __getitem__(self, index):
        return [self.proxy(image(index)), self.proxy(image(index + 100))]


class Values(Images):
    """Passes one value of any kind to the proxy."""

    def __init__(self, proxy, value):
        super().__init__(proxy, 4)
        self.value = value

    def __getitem__(self, index):
        return self.proxy(self.value)


class Dies(Images):
    def __getitem__(self, index):
        # In its first batch: torch's loader fetches storages of later ones from the living worker.
        if index == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


class Collates:
    """Calls the proxy in collate_fn."""

    def __init__(self, proxy):
        self.proxy = proxy

    def __call__(self, samples):
        return default_collate([(self.proxy(value), index) for value, index in samples])


class Plain(Images):
    def __getitem__(self, index):
        return image(index), index


def as_list(samples):
    return samples
