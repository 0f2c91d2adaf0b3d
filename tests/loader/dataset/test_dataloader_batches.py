# SPDX-License-Identifier: Apache-2.0
"""What PyTorch documents about batches of DataLoader: contents, order, iterable datasets.

The same tests run on torch's DataLoader and on ours.
"""

from __future__ import annotations

import contextlib
import warnings

import pytest
import torch
from helpers import datasets
from helpers.both_loaders import CLASSES, THREADS, flat, labels, numbers, same
from torch.utils.data import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torch.utils.data import DataLoader as TorchLoader

import torchdali

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_come_in_order_and_the_last_may_be_dropped(cls, workers, drop_last):
    loader = cls(datasets.Squares(10), batch_size=4, num_workers=workers, drop_last=drop_last)
    expected = [[0, 1, 2, 3], [4, 5, 6, 7]] + ([] if drop_last else [[8, 9]])
    assert labels(loader) == expected
    assert labels(loader) == expected
    assert len(loader) == len(expected)


def test_the_default_batch_has_one_sample(cls, workers):
    loader = cls(datasets.Squares(3), num_workers=workers)
    assert [tuple(b[0].shape) for b in loader] == [(1, 2)] * 3


def test_without_batches_samples_are_converted(cls, workers):
    loader = cls(datasets.Structures(3), batch_size=None, num_workers=workers)
    items = list(loader)
    assert [type(i["float"]) for i in items] == [float] * 3
    assert items[1]["array"].dtype == torch.float32
    assert isinstance(items[2]["point"].x, torch.Tensor) or items[2]["point"].x == 2
    assert loader.batch_size is None
    assert loader.batch_sampler is None
    assert len(loader) == 3


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("batch_size", [None, 3])
def test_structures_equal_torch(num_workers, batch_size):
    options = {"batch_size": batch_size, "num_workers": num_workers}
    theirs = list(TorchLoader(datasets.Structures(7), **options))
    same(list(torchdali.DataLoader(datasets.Structures(7), **options)), theirs)
    if num_workers:
        same(list(THREADS(datasets.Structures(7), **options)), theirs)


def test_getitems_is_used_if_the_dataset_has_it(cls, workers):
    loader = cls(datasets.Whole(4), batch_size=2, num_workers=workers)
    assert [b[0][0, 0].item() for b in loader] == [-1, -1]


def test_collate_fn_gets_the_samples(cls, workers):
    loader = cls(
        datasets.Squares(5), batch_size=2, num_workers=workers, collate_fn=datasets.labels_only
    )
    assert list(loader) == [[0, 1], [2, 3], [4]]
    assert loader.collate_fn is datasets.labels_only


def test_collate_fn_gets_single_samples_without_batches(cls, workers):
    loader = cls(
        datasets.Squares(2), batch_size=None, num_workers=workers, collate_fn=datasets.as_list
    )
    assert [item[1] for item in loader] == [0, 1]


def test_a_batch_of_unequal_tensors_is_an_error(cls, workers):
    class Ragged(datasets.Squares):
        def __getitem__(self, index):
            return torch.zeros(index + 1)

    with pytest.raises(RuntimeError, match="equal size"):
        list(cls(Ragged(4), batch_size=2, num_workers=workers))


def test_batches_that_the_user_keeps_do_not_change(cls, workers):
    loader = cls(datasets.Structures(80), batch_size=2, num_workers=workers)
    kept = list(loader)
    for number, batch in enumerate(kept):
        assert (batch["big"][0] == 2 * number).all()
        assert (batch["big"][1] == 2 * number + 1).all()
        batch["big"] += 1


@pytest.mark.parametrize("given", [False, True])
def test_shuffling_is_drawn_from_the_generator(workers, given):
    orders = []
    for cls in CLASSES.values():
        torch.manual_seed(7)
        generator = torch.Generator().manual_seed(3) if given else None
        loader = cls(
            datasets.Squares(), batch_size=3, shuffle=True, num_workers=workers, generator=generator
        )
        assert isinstance(loader.sampler, RandomSampler)
        orders.append([labels(loader), labels(loader), torch.rand(()).item()])
    assert orders[0] == orders[1]
    assert orders[0][0] != orders[0][1]
    assert sorted(flat(orders[0][0])) == list(range(20))


SAMPLERS = {
    "list": lambda: [3, 1, 2],
    "sequential": lambda: SequentialSampler(range(5)),
    "random": lambda: RandomSampler(range(20), replacement=True, num_samples=30),
    "random generator": lambda: RandomSampler(
        range(20), num_samples=50, generator=torch.Generator().manual_seed(5)
    ),
    "subset": lambda: SubsetRandomSampler([1, 4, 9, 16]),
    "weighted": lambda: WeightedRandomSampler([0.1, 0.9, 0.5], 10),
    "stateful": lambda: datasets.StatefulSampler(7),
    "eager": lambda: Eager(),
}


class Eager:
    """Draws when iter() is called."""

    def __iter__(self):
        return iter(torch.randperm(20).tolist())

    def __len__(self):
        return 20


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_sampler_determines_the_order(name, batch_size, num_workers):
    orders = []
    for cls in CLASSES.values():
        torch.manual_seed(11)
        loader = cls(
            datasets.Squares(), batch_size, sampler=SAMPLERS[name](), num_workers=num_workers
        )
        given = [[torch.as_tensor(b[1]).tolist() for b in loader] for _ in range(3)]
        orders.append((given, len(loader)))
    assert orders[0] == orders[1]


def test_a_batch_sampler_determines_the_batches(cls, workers):
    own = BatchSampler(SequentialSampler(range(7)), 3, drop_last=True)
    loader = cls(datasets.Squares(7), batch_sampler=own, num_workers=workers)
    assert labels(loader) == [[0, 1, 2], [3, 4, 5]]
    assert loader.batch_sampler is own
    assert loader.batch_size is None
    assert loader.drop_last is False
    assert len(loader) == 2
    assert labels(cls(datasets.Squares(), batch_sampler=[[4], [2, 3]])) == [[4], [2, 3]]


def test_in_order_false_returns_all_batches(cls):
    loader = cls(datasets.Squares(40), batch_size=3, num_workers=2, in_order=False)
    assert loader.in_order is False
    assert sorted(flat(labels(loader))) == list(range(40))


def test_iterable_datasets_split_themselves_by_worker_info(cls, workers):
    loader = cls(datasets.Counts(13), batch_size=2, num_workers=workers)
    by_workers = {
        0: [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12]],
        1: [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12]],
        2: [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9, 11], [12]],
    }
    for _ in range(2):
        assert numbers(loader) == by_workers[workers]


def test_workers_of_iterable_datasets_end_independently(cls):
    loader = cls(datasets.Uneven(), batch_size=2, num_workers=3)
    assert numbers(loader) == [[0, 1], [100], [200], [2, 3], [4, 5], [6]]


def test_an_iterable_drops_the_last_batch_of_each_worker(cls):
    loader = cls(datasets.Counts(13), batch_size=2, num_workers=2, drop_last=True)
    assert numbers(loader) == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9, 11]]


def test_iterable_datasets_work_without_batches(cls, workers):
    assert list(cls(datasets.Counts(5), None, num_workers=workers)) == [0, 1, 2, 3, 4]


def test_the_length_of_an_iterable_dataset_is_used(cls):
    data = datasets.Counts(13, length=13)
    assert len(cls(data, batch_size=4)) == 4
    assert len(cls(data, batch_size=4, drop_last=True)) == 3
    assert len(cls(data, batch_size=None)) == 13
    with pytest.raises(TypeError, match="no length"):
        len(cls(datasets.Counts()))


def test_a_wrong_length_is_a_warning(cls, workers):
    loader = cls(datasets.Counts(13, length=2), batch_size=4, num_workers=workers)
    assert len(loader) == 1
    with pytest.warns(UserWarning, match="Length of IterableDataset .* was reported to be 2"):
        assert sum(map(len, loader)) == 13


def test_iterable_datasets_work_with_persistent_workers(cls):
    loader = cls(datasets.Counts(9), batch_size=2, num_workers=2, persistent_workers=True)
    assert [numbers(loader) for _ in range(3)] == [[[0, 2], [1, 3], [4, 6], [5, 7], [8]]] * 3


@pytest.mark.filterwarnings("ignore")
def test_datapipes_are_shuffled_and_sharded(cls, workers):
    pipes = pytest.importorskip("torch.utils.data.datapipes.iter")
    pipe = pipes.IterableWrapper(list(range(8))).shuffle().sharding_filter()
    with contextlib.suppress(ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(4)
        loader = cls(pipe, batch_size=2, shuffle=True, num_workers=workers)
        assert sorted(flat(numbers(loader))) == list(range(8))
