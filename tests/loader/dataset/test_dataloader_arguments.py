# SPDX-License-Identifier: Apache-2.0
"""What PyTorch documents about arguments and attributes of DataLoader.

The same tests run on torch's DataLoader and on ours.
"""

from __future__ import annotations

import pytest
import torch
from helpers import datasets
from helpers.both_loaders import labels
from torch.utils.data import (
    BatchSampler,
    SequentialSampler,
)
from torch.utils.data import DataLoader as TorchLoader

ITERABLE = datasets.Counts()


BAD = [
    ({"num_workers": -1}, ValueError, "num_workers option should be non-negative"),
    ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
    ({"prefetch_factor": 2}, ValueError, "prefetch_factor option could only be specified"),
    ({"prefetch_factor": -1, "num_workers": 1}, ValueError, "prefetch_factor option should be"),
    ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
    ({"batch_size": 0}, ValueError, "batch_size should be a positive integer"),
    ({"batch_size": 1.5}, ValueError, "batch_size should be a positive integer"),
    ({"drop_last": 1}, ValueError, "drop_last should be a boolean"),
    ({"batch_size": None, "drop_last": True}, ValueError, "mutually exclusive with drop_last"),
    ({"sampler": [1], "shuffle": True}, ValueError, "sampler option is mutually exclusive"),
    ({"batch_sampler": [[1]], "batch_size": 2}, ValueError, "batch_sampler option is mutually"),
    ({"batch_sampler": [[1]], "shuffle": True}, ValueError, "batch_sampler option is mutually"),
    ({"batch_sampler": [[1]], "sampler": [1]}, ValueError, "batch_sampler option is mutually"),
    ({"batch_sampler": [[1]], "drop_last": True}, ValueError, "batch_sampler option is mutually"),
    ({"dataset": ITERABLE, "shuffle": True}, ValueError, "expected unspecified shuffle option"),
    ({"dataset": ITERABLE, "sampler": [1]}, ValueError, "expected unspecified sampler option"),
    ({"dataset": ITERABLE, "batch_sampler": [[1]]}, ValueError, "unspecified batch_sampler"),
    ({"multiprocessing_context": "fork"}, ValueError, "can only be used with multi-process"),
    (
        {"multiprocessing_context": "bad", "num_workers": 1},
        ValueError,
        "should specify a valid start method",
    ),
    ({"multiprocessing_context": 3, "num_workers": 1}, TypeError, "should be a valid context"),
    ({"unknown": 1}, TypeError, "unexpected keyword argument 'unknown'"),
]


@pytest.mark.parametrize(("options", "error", "text"), BAD, ids=lambda v: str(v)[:40])
def test_wrong_arguments_raise_the_same_messages(cls, options, error, text):
    options = {"dataset": datasets.Squares(), **options}
    with pytest.raises(error, match=text):
        cls(**options)


NAMES = [
    "dataset",
    "batch_size",
    "shuffle",
    "sampler",
    "batch_sampler",
    "num_workers",
    "collate_fn",
    "pin_memory",
    "drop_last",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "generator",
]


def test_arguments_have_the_same_order(cls):
    import inspect

    parameters = inspect.signature(cls.__init__).parameters
    assert list(parameters)[1:14] == NAMES
    for name in ("prefetch_factor", "persistent_workers", "pin_memory_device", "in_order"):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    theirs = inspect.signature(TorchLoader.__init__).parameters
    assert all(parameters[n].default == theirs[n].default for n in theirs if n != "self")


def test_attributes_return_the_arguments(cls):
    generator = torch.Generator()
    data = datasets.Squares()
    loader = cls(data, 5, generator=generator, num_workers=1, timeout=3, drop_last=True)
    assert loader.dataset is data
    assert (loader.batch_size, loader.num_workers, loader.timeout) == (5, 1, 3)
    assert (loader.drop_last, loader.pin_memory, loader.pin_memory_device) == (True, False, "")
    assert (loader.prefetch_factor, loader.persistent_workers, loader.in_order) == (2, False, True)
    assert loader.generator is generator
    assert loader.collate_fn is torch.utils.data.default_collate
    assert loader.worker_init_fn is None
    assert loader.multiprocessing_context is None
    assert isinstance(loader.sampler, SequentialSampler)
    assert isinstance(loader.batch_sampler, BatchSampler)
    assert isinstance(loader, TorchLoader)


@pytest.mark.parametrize(
    "name",
    ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"],
)
def test_attributes_that_determine_batches_are_read_only(cls, name):
    loader = cls(datasets.Squares())
    with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is"):
        setattr(loader, name, None)


def test_other_attributes_can_be_set(cls):
    loader = cls(datasets.Squares(6), batch_size=3)
    loader.num_workers, loader.prefetch_factor = 2, 2
    loader.multiprocessing_context = "fork"
    loader.collate_fn = datasets.labels_only
    assert list(loader) == [[0, 1, 2], [3, 4, 5]]


def test_more_workers_than_processors_are_warned_about(cls, monkeypatch):
    datasets.set_processors(monkeypatch, 1)
    with pytest.warns(UserWarning, match="will create 3 worker processes in total"):
        cls(datasets.Squares(), num_workers=3)


@pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")
def test_pinning_without_an_accelerator_is_a_warning(cls, workers):
    loader = cls(datasets.Squares(4), batch_size=2, num_workers=workers, pin_memory=True)
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert labels(loader) == [[0, 1], [2, 3]]


def test_subclasses_work(cls):
    class Mine(cls):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.extra = 1

        def __iter__(self):
            for batch in super().__iter__():
                yield batch[1].tolist()

    assert list(Mine(datasets.Squares(4), batch_size=2, num_workers=1)) == [[0, 1], [2, 3]]
    assert cls[int](datasets.Squares(4)).batch_size == 1
