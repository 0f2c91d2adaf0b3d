# SPDX-License-Identifier: Apache-2.0
"""torch's DataLoader and ours, side by side: order, sparse and nested tensors, dying workers."""

from __future__ import annotations

import multiprocessing
import re

import pytest
import torch
from helpers import datasets
from helpers.both_loaders import CLASSES
from torch.utils.data import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
    random_split,
)

import torchdali

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def seeded(seed=3):
    return torch.Generator().manual_seed(seed)


def with_sampler(sampler):
    """Returns options whose sampler draws from the loader's own generator."""

    def make():
        generator = seeded()
        return datasets.Squares(20), {"sampler": sampler(generator), "generator": generator}

    return make


def batches_of(generator):
    sampler = RandomSampler(range(20), generator=generator)
    return BatchSampler(sampler, 3, drop_last=True)


ORDERS = {
    "shuffle": lambda: (datasets.Squares(20), {"shuffle": True, "generator": seeded()}),
    "shuffle of the global one": lambda: (datasets.Squares(20), {"shuffle": True}),
    "drop_last": lambda: (
        datasets.Squares(20),
        {"shuffle": True, "generator": seeded(), "drop_last": True},
    ),
    "replacement": with_sampler(
        lambda g: RandomSampler(range(20), replacement=True, num_samples=70, generator=g)
    ),
    "more samples": with_sampler(lambda g: RandomSampler(range(20), num_samples=45, generator=g)),
    "subset sampler": with_sampler(lambda g: SubsetRandomSampler([2, 3, 5, 7, 11], generator=g)),
    "weights": with_sampler(lambda g: WeightedRandomSampler([1.0, 5.0, 2.0], 20, generator=g)),
    "subset": lambda: (
        Subset(datasets.Squares(20), [19, 3, 8, 1, 0, 4, 4]),
        {"shuffle": True, "generator": seeded()},
    ),
    "split": lambda: (
        random_split(datasets.Squares(20), [0.7, 0.3], generator=seeded(5))[0],
        {"shuffle": True, "generator": seeded()},
    ),
    "batch sampler": lambda: (
        datasets.Squares(20),
        {"batch_sampler": batches_of(own := seeded()), "generator": own},
    ),
    "batch sampler of the global one": lambda: (
        datasets.Squares(20),
        {"batch_sampler": batches_of(None), "generator": seeded()},
    ),
    "batches as samples": lambda: (
        torch.arange(20),
        {"sampler": BatchSampler(SequentialSampler(range(20)), 3, False), "batch_size": None},
    ),
    "random values": lambda: (datasets.Randomness(20), {"shuffle": True, "generator": seeded()}),
    "iterable": lambda: (datasets.Counts(20), {"generator": seeded()}),
    "uneven iterable": lambda: (datasets.Uneven(), {}),
}


def plain(batch):
    if isinstance(batch, (list, tuple)):
        return [plain(part) for part in batch]
    return batch.tolist() if isinstance(batch, torch.Tensor) else batch


@pytest.mark.parametrize("kind", ORDERS)
@pytest.mark.parametrize(
    "workers", [{}, {"num_workers": 2, "persistent_workers": True}], ids=["none", "persistent"]
)
def test_three_epochs_and_the_generators_afterwards_are_those_of_torch(kind, workers):
    if kind == "random values" and not workers:
        pytest.skip("in the process itself these are the program's own generators")
    found = []
    for cls in CLASSES.values():
        torch.manual_seed(11)
        data, options = ORDERS[kind]()
        if not {"batch_sampler", "batch_size"} & options.keys():
            options["batch_size"] = 3
        loader = cls(data, **options, **workers)
        epochs = [  # the second one is left
            [plain(batch) for _, batch in zip(range(stop), loader, strict=False)]
            for stop in (99, 2, 99)
        ]
        own = loader.generator.get_state().tolist() if loader.generator else None
        length = None if isinstance(data, torch.utils.data.IterableDataset) else len(loader)
        found.append((epochs, own, torch.get_rng_state().tolist(), length))
    assert found[1] == found[0]


class Special(torch.utils.data.Dataset):
    """Sparse and nested tensors."""

    def __init__(self, layout):
        self.layout = layout

    def __len__(self):
        return 4

    def __getitem__(self, index):
        dense = torch.zeros(4, 4)
        dense[index % 3, index] = index + 1
        if self.layout == torch.sparse_bsr:
            return dense.to_sparse_bsr((2, 2))
        if self.layout in (torch.strided, torch.jagged):
            return torch.nested.nested_tensor([dense, dense[:1]], layout=self.layout)
        return dense.to_sparse(layout=self.layout)


def pairs(samples):
    return {"pair": samples}


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize(
    "layout",
    [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.strided,
     torch.jagged],
    ids=str,
)  # fmt: skip
def test_sparse_and_nested_tensors_are_those_of_torch(layout, num_workers):
    def same(one, other):
        assert one.layout == other.layout == layout
        assert one.is_nested == other.is_nested
        parts = zip(one.unbind(), other.unbind(), strict=True) if one.is_nested else [(one, other)]
        for mine, theirs in parts:
            assert torch.equal(mine.to_dense(), theirs.to_dense())

    for options in ({"batch_size": None}, {"batch_size": 2, "collate_fn": pairs}):
        theirs, ours = (
            list(cls(Special(layout), num_workers=num_workers, **options))
            for cls in CLASSES.values()
        )
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            if options["batch_size"] is None:
                same(mine, other)
            else:
                list(map(same, mine["pair"], other["pair"]))
    for cls in CLASSES.values():
        with pytest.raises(RuntimeError, match="not currently supported by the default collate_fn"):
            next(iter(cls(Special(layout), batch_size=2, num_workers=num_workers)))


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_the_error_of_a_worker_that_dies_reads_as_torch_writes_it(how):
    """The texts are those of torch's signal handler, which raises wherever the program is then."""
    with pytest.raises(RuntimeError) as caught:
        list(torchdali.DataLoader(datasets.Harms(how), batch_size=2, num_workers=2))
    error = caught.value.__cause__ or caught.value
    assert type(error) is RuntimeError
    beginning = {
        "kill": r"DataLoader worker \(pid \d+\) is killed by signal: Killed\. ",
        "exit": r"DataLoader worker \(pid \d+\) exited unexpectedly with exit code 3\. ",
    }[how]
    assert re.match(beginning, str(error))


CONTEXTS = [
    multiprocessing.get_context("fork"),
    multiprocessing.get_context("forkserver"),
    torch.multiprocessing.get_context("spawn"),
]


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda c: type(c).__name__)
def test_contexts_are_accepted_as_objects(cls, context):
    options = {"batch_size": 2, "num_workers": 2}
    loader = cls(datasets.Squares(6), multiprocessing_context=context, **options)
    assert loader.multiprocessing_context is context
    assert len(list(loader)) == 3


def test_a_context_may_be_set_later(cls):
    loader = cls(datasets.Squares(6), batch_size=2, num_workers=1)
    loader.multiprocessing_context = context = multiprocessing.get_context("fork")
    assert loader.multiprocessing_context is context
    assert len(list(loader)) == 3


@pytest.mark.parametrize("wrong", ["thread", 3, torch.multiprocessing], ids=str)
def test_wrong_contexts_are_the_errors_of_torch(wrong):
    said = []
    for cls in CLASSES.values():
        with pytest.raises((ValueError, TypeError), match="multiprocessing_context") as caught:
            cls(datasets.Squares(6), num_workers=1, multiprocessing_context=wrong)
        said.append((caught.type, str(caught.value)))
    assert said[1] == said[0]
    with pytest.raises(ValueError, match="multi-process loading"):
        torchdali.DataLoader(datasets.Squares(6), multiprocessing_context="fork")
