# SPDX-License-Identifier: Apache-2.0
"""What PyTorch documents about DataLoader, asked of torch's and of ours by the same tests."""

from __future__ import annotations

import contextlib
import functools
import gc
import multiprocessing
import random
import warnings

import numpy as np
import pytest
import torch
from helpers import datasets
from torch.utils.data import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torch.utils.data import DataLoader as TorchLoader

import torchdali

THREADS = functools.partial(torchdali.DataLoader, workers="threads")
CLASSES = {"torch": TorchLoader, "ours": torchdali.DataLoader}


@pytest.fixture(params=CLASSES)
def cls(request):
    return CLASSES[request.param]


@pytest.fixture(params=[0, 1, 2])
def workers(request):
    return request.param


@pytest.fixture(autouse=True)
def _keep_random_state():
    numpy, python, own = np.random.get_state(), random.getstate(), torch.get_rng_state()  # noqa: NPY002
    yield
    gc.collect()  # iterators that a traceback holds, and their threads
    np.random.set_state(numpy)  # noqa: NPY002
    random.setstate(python)
    torch.set_rng_state(own)


@pytest.fixture(autouse=True)
def _enough_processors(monkeypatch):
    datasets.set_processors(monkeypatch, 8)


def flat(lists):
    return [value for part in lists for value in part]


def labels(loader):
    return [batch[1].tolist() for batch in loader]


def numbers(loader):
    return [batch.tolist() for batch in loader]


def same(a, b):
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


# -- batches


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
def test_structures_are_those_of_torch(num_workers, batch_size):
    options = {"batch_size": batch_size, "num_workers": num_workers}
    theirs = list(TorchLoader(datasets.Structures(7), **options))
    same(list(torchdali.DataLoader(datasets.Structures(7), **options)), theirs)
    if num_workers:
        same(list(THREADS(datasets.Structures(7), **options)), theirs)


def test_getitems_is_asked_where_it_is_there(cls, workers):
    loader = cls(datasets.Whole(4), batch_size=2, num_workers=workers)
    assert [b[0][0, 0].item() for b in loader] == [-1, -1]


def test_collate_fn_gets_the_samples(cls, workers):
    loader = cls(
        datasets.Squares(5), batch_size=2, num_workers=workers, collate_fn=datasets.labels_only
    )
    assert list(loader) == [[0, 1], [2, 3], [4]]
    assert loader.collate_fn is datasets.labels_only


def test_collate_fn_gets_single_samples_where_there_are_no_batches(cls, workers):
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


def test_batches_are_the_users_for_ever(cls, workers):
    loader = cls(datasets.Structures(80), batch_size=2, num_workers=workers)
    kept = list(loader)
    for number, batch in enumerate(kept):
        assert (batch["big"][0] == 2 * number).all()
        assert (batch["big"][1] == 2 * number + 1).all()
        batch["big"] += 1


# -- order


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
def test_a_sampler_gives_the_order(name, batch_size, num_workers):
    orders = []
    for cls in CLASSES.values():
        torch.manual_seed(11)
        loader = cls(
            datasets.Squares(), batch_size, sampler=SAMPLERS[name](), num_workers=num_workers
        )
        given = [[torch.as_tensor(b[1]).tolist() for b in loader] for _ in range(3)]
        orders.append((given, len(loader)))
    assert orders[0] == orders[1]


def test_a_batch_sampler_gives_batches(cls, workers):
    own = BatchSampler(SequentialSampler(range(7)), 3, drop_last=True)
    loader = cls(datasets.Squares(7), batch_sampler=own, num_workers=workers)
    assert labels(loader) == [[0, 1, 2], [3, 4, 5]]
    assert loader.batch_sampler is own
    assert loader.batch_size is None
    assert loader.drop_last is False
    assert len(loader) == 2
    assert labels(cls(datasets.Squares(), batch_sampler=[[4], [2, 3]])) == [[4], [2, 3]]


def test_out_of_order_gives_all_batches(cls):
    loader = cls(datasets.Squares(40), batch_size=3, num_workers=2, in_order=False)
    assert loader.in_order is False
    assert sorted(flat(labels(loader))) == list(range(40))


# -- iterable datasets


def test_an_iterable_is_divided_by_its_own_means(cls, workers):
    loader = cls(datasets.Counts(13), batch_size=2, num_workers=workers)
    by_workers = {
        0: [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12]],
        1: [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12]],
        2: [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9, 11], [12]],
    }
    for _ in range(2):
        assert numbers(loader) == by_workers[workers]


def test_workers_end_on_their_own(cls):
    loader = cls(datasets.Uneven(), batch_size=2, num_workers=3)
    assert numbers(loader) == [[0, 1], [100], [200], [2, 3], [4, 5], [6]]


def test_an_iterable_drops_the_last_batch_of_each_worker(cls):
    loader = cls(datasets.Counts(13), batch_size=2, num_workers=2, drop_last=True)
    assert numbers(loader) == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9, 11]]


def test_an_iterable_without_batches(cls, workers):
    assert list(cls(datasets.Counts(5), None, num_workers=workers)) == [0, 1, 2, 3, 4]


def test_the_length_of_an_iterable_is_its_own(cls):
    data = datasets.Counts(13, length=13)
    assert len(cls(data, batch_size=4)) == 4
    assert len(cls(data, batch_size=4, drop_last=True)) == 3
    assert len(cls(data, batch_size=None)) == 13
    with pytest.raises(TypeError, match="no length"):
        len(cls(datasets.Counts()))


def test_a_length_that_is_too_short_is_warned_about(cls, workers):
    loader = cls(datasets.Counts(13, length=2), batch_size=4, num_workers=workers)
    assert len(loader) == 1
    with pytest.warns(UserWarning, match="Length of IterableDataset .* was reported to be 2"):
        assert sum(map(len, loader)) == 13


def test_an_iterable_of_several_epochs_with_persistent_workers(cls):
    loader = cls(datasets.Counts(9), batch_size=2, num_workers=2, persistent_workers=True)
    assert [numbers(loader) for _ in range(3)] == [[[0, 2], [1, 3], [4, 6], [5, 7], [8]]] * 3


# -- workers


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver", "context"])
def test_start_methods(cls, method):
    context = multiprocessing.get_context("fork") if method == "context" else method
    loader = cls(
        datasets.Info(6),
        batch_size=3,
        num_workers=2,
        multiprocessing_context=context,
        persistent_workers=True,
    )
    assert loader.multiprocessing_context.get_start_method() == (
        "fork" if method == "context" else method
    )
    ids, counts, seeds, own = map(list, zip(*loader, strict=True))
    assert [i.tolist() for i in ids] == [[0] * 3, [1] * 3]
    assert (torch.cat(counts) == 2).all()
    assert torch.cat(own).all()
    assert seeds[1][0] - seeds[0][0] == 1


def test_there_is_no_worker_info_in_the_process(cls):
    assert torch.utils.data.get_worker_info() is None
    assert torchdali.get_worker_info() is None
    assert next(iter(cls(datasets.Info(1))))[0].item() == -1


@pytest.mark.parametrize("init", [None, datasets.note_worker])
@pytest.mark.parametrize("persistent", [False, True])
def test_random_numbers_in_workers_are_those_of_torch(init, persistent):
    results = []
    for cls in CLASSES.values():
        torch.manual_seed(5)
        loader = cls(
            datasets.Randomness(8),
            batch_size=2,
            num_workers=2,
            worker_init_fn=init,
            persistent_workers=persistent,
        )
        results.append([[x.tolist() for x in b] for _ in range(2) for b in loader])
    assert results[0] == results[1]


def test_worker_init_fn_that_raises_is_raised(cls):
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker process 0"):
        next(iter(cls(datasets.Squares(), num_workers=1, worker_init_fn=datasets.refuse)))


def test_persistent_workers_stay(cls):
    class Pids(datasets.Squares):
        def __getitem__(self, index):
            import os

            return os.getpid()

    for persistent in (False, True):
        loader = cls(Pids(4), num_workers=2, persistent_workers=persistent)
        first, second = ({int(pid) for pid in loader} for _ in range(2))
        assert (first == second) is persistent


def test_one_iterator_of_persistent_workers_and_several_of_others(cls):
    loader = cls(datasets.Squares(6), batch_size=2, num_workers=2)
    one, other = iter(loader), iter(loader)
    assert next(one)[1].tolist() == [0, 1]
    assert next(other)[1].tolist() == [0, 1]
    assert next(one)[1].tolist() == [2, 3]
    assert labels(other) == [[2, 3], [4, 5]]
    loader = cls(datasets.Squares(6), batch_size=2, num_workers=2, persistent_workers=True)
    one = iter(loader)
    assert next(one)[1].tolist() == [0, 1]
    assert iter(loader) is one
    assert labels(loader) == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("prefetch", [1, 4])
def test_prefetch_factor(cls, prefetch):
    loader = cls(datasets.Squares(9), batch_size=2, num_workers=2, prefetch_factor=prefetch)
    assert loader.prefetch_factor == prefetch
    assert flat(labels(loader)) == list(range(9))


def test_an_iterator_has_a_length_and_an_end(cls, workers):
    iterator = iter(cls(datasets.Squares(4), batch_size=2, num_workers=workers))
    assert iter(iterator) is iterator
    assert len(iterator) == 2
    assert len(list(iterator)) == 2
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)


def test_timeout_is_an_error(cls):
    loader = cls(datasets.Harms("sleep", at=0), num_workers=1, timeout=0.5)
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.5 seconds"):
        next(iter(loader))


def test_timeout_does_nothing_where_batches_come(cls):
    assert len(labels(cls(datasets.Squares(), num_workers=2, timeout=30))) == 20


# -- errors of the dataset


@pytest.mark.parametrize("error", [ValueError("no such sample"), KeyError("key"), OSError(2, "x")])
def test_an_exception_of_a_worker_keeps_its_type_and_traceback(cls, error):
    loader = cls(datasets.Fails(8, at=(3,), error=error), batch_size=2, num_workers=2)
    iterator = iter(loader)
    assert next(iterator)[1].tolist() == [0, 1]
    with pytest.raises(type(error)) as caught:
        next(iterator)
    text = str(caught.value)
    assert f"Caught {type(error).__name__} in DataLoader worker process 1." in text
    assert "Original Traceback (most recent call last)" in text
    assert "in __getitem__" in text
    assert labels(iterator) == [[4, 5], [6, 7]]  # the others come all the same


def test_an_exception_that_cannot_be_made_is_a_runtime_error(cls):
    error = datasets.TwoArguments(1, 2)
    loader = cls(datasets.Fails(2, at=(0,), error=error), num_workers=1)
    with pytest.raises(RuntimeError, match="Caught TwoArguments in DataLoader worker process 0"):
        next(iter(loader))


def test_an_exception_in_the_process_is_itself(cls):
    error = ValueError("no such sample")
    with pytest.raises(ValueError, match="no such sample") as caught:
        list(cls(datasets.Fails(error=error)))
    assert caught.value is error


def test_a_collate_fn_that_raises(cls, workers):
    def collate(samples):
        raise IndexError("in collate")

    with pytest.raises(IndexError, match="in collate"):
        next(iter(cls(datasets.Squares(), num_workers=workers, collate_fn=collate)))


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_a_worker_that_ends_is_an_error(cls, how):
    with pytest.raises(RuntimeError, match="DataLoader worker"):
        list(cls(datasets.Harms(how), batch_size=2, num_workers=2))


# -- arguments

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
def test_bad_arguments_are_refused_in_the_same_words(cls, options, error, text):
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


def test_attributes(cls):
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
def test_what_makes_the_batches_cannot_be_set_later(cls, name):
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


def test_a_dataset_that_cannot_be_pickled_works_where_workers_are_forked(cls):
    class Local(datasets.Squares):
        pass

    data = Local(4)
    data.function = lambda: 1
    loader = cls(data, batch_size=2, num_workers=2, multiprocessing_context="fork")
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


@pytest.mark.filterwarnings("ignore")
def test_datapipes(cls, workers):
    pipes = pytest.importorskip("torch.utils.data.datapipes.iter")
    pipe = pipes.IterableWrapper(list(range(8))).shuffle().sharding_filter()
    with contextlib.suppress(ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(4)
        loader = cls(pipe, batch_size=2, shuffle=True, num_workers=workers)
        assert sorted(flat(numbers(loader))) == list(range(8))
