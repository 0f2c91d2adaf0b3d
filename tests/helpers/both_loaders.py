# SPDX-License-Identifier: Apache-2.0
"""torch's DataLoader and ours, for tests that run on both."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.utils.data import DataLoader as TorchLoader

import torchdali

THREADS = functools.partial(torchdali.DataLoader, workers="threads")
CLASSES = {"torch": TorchLoader, "ours": torchdali.DataLoader}
# Options of our DataLoader for each kind of worker.
PARALLEL: dict[str, dict[str, Any]] = {
    "none": {},
    "processes": {"num_workers": 2},
    "threads": {"num_workers": 2, "workers": "threads"},
}


def flat(lists):
    return [value for part in lists for value in part]


def labels(loader):
    return [batch[1].tolist() for batch in loader]


def numbers(loader):
    return [batch.tolist() for batch in loader]


def same(a, b):
    """Fails unless two structures of tensors are equal, types included."""
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype
        assert torch.equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            same(one, other)
    else:
        assert a == b
