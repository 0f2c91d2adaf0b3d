# SPDX-License-Identifier: Apache-2.0
"""DataLoader(fill_batches=True): batches stay full where samples fail."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import datasets
from helpers.bad_files import numbers_of, write_files
from helpers.both_loaders import flat, same
from helpers.interruptions import interrupted

from torchdali import DataLoader, fn
from torchdali.errors import ArgumentError, DataError
from torchdali.loader._rows import CollatedRows

pytestmark = pytest.mark.filterwarnings("ignore:a sample of")

COUNT, FAILING = 23, (1, 2, 9, 12, 13, 14, 15)  # in batches of 4: a batch without samples too
GOOD = [i for i in range(COUNT) if i not in FAILING]


class Structures(datasets.Structures):
    """All that default_collate knows; some samples fail."""

    def __getitem__(self, index):
        if index in FAILING:
            raise OSError(f"no {index}")
        sample = super().__getitem__(index)
        return OrderedDict(sample, pair=(index, [f"u{index}", {"half": index / 2}]))


def fill(dataset, **options):
    return DataLoader(
        dataset, **{"batch_size": 4, "on_error": "skip", **options}, fill_batches=True
    )


def chunks(values, size, drop_last=False):
    found = [values[i : i + size] for i in range(0, len(values), size)]
    return found[:-1] if drop_last and len(found[-1]) < size else found


@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_are_those_of_the_good_samples(parallel, drop_last):
    samples = [Structures()[i] for i in GOOD]
    expected = list(DataLoader(samples, batch_size=4, drop_last=drop_last))
    loader = fill(Structures(COUNT), drop_last=drop_last, **parallel)
    for _ in range(2):
        for batch, other in itertools.zip_longest(loader, expected):
            same(batch, other)
        assert len(expected) < len(loader)
        assert loader.error_count == len(FAILING)
    assert [(e.batch, e.sample) for e in loader.errors] == [
        (0, 1), (0, 2), (2, 1), (3, 0), (3, 1), (3, 2), (3, 3),
    ]  # fmt: skip


def test_batches_are_not_touched_until_a_sample_fails(monkeypatch):
    touched = []
    for name in ("count", "joined"):
        monkeypatch.setattr(CollatedRows, name, property(lambda _, name=name: touched.append(name)))
    assert [len(batch) for batch in fill(range(11))] == [4, 4, 3]
    assert touched == []


class Encoded(torch.utils.data.Dataset):
    """Files that cannot be read, or decoded; a field beside them, and one of many shapes."""

    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        if index == 4:
            raise OSError("no 4")
        return {
            "data": Path(self.paths[index]),
            "label": index,
            "name": f"i{index}",
            "meta": {"third": None if index % 3 else index, "list": [index, 1.0]},
            "boxes": torch.full((1 + index % 3, 4), index),
        }


def images(data, label, name, meta, boxes):
    return {
        "image": fn.decoders.image(data),
        "label": fn.copy(label),
        "noise": fn.random.uniform(range=[0.0, 1.0]),
        "boxes": fn.copy(boxes),
        "beside": (label, name, meta, boxes),
    }


@pytest.fixture
def paths(tmp_path):
    return write_files(tmp_path, 22, {1: "truncated", 2: "missing", 8: "text", 15: "empty"})


def decoding(paths, **options):
    settings = {"num_threads": 2, "seed": 3}
    return fill(Encoded(paths), pipeline=images, pipeline_options=settings, **options)


@pytest.mark.parametrize("drop_last", [False, True])
def test_outputs_of_a_pipeline_stay_paired(paths, parallel, drop_last):
    loader = decoding(paths, drop_last=drop_last, **parallel)
    whole = DataLoader(
        Encoded(paths), 4, on_error="skip", pipeline=images,
        pipeline_options={"num_threads": 2, "seed": 3},
    )  # fmt: skip
    noise = flat(batch["noise"].flatten().tolist() for batch in whole)
    good = [i for i in range(22) if i not in (1, 2, 4, 8, 15)]
    found = list(loader)
    assert [b["label"].flatten().tolist() for b in found] == chunks(good, 4, drop_last)
    for batch in found:
        own = batch["label"].flatten().tolist()
        assert numbers_of(batch["image"]) == own
        assert isinstance(batch["image"], torch.Tensor)
        assert batch["noise"].flatten().tolist() == [noise[good.index(i)] for i in own]
        label, name, meta, boxes = batch["beside"]
        assert label.tolist() == own
        assert name == [f"i{i}" for i in own]
        third = [None if i % 3 else i for i in own]
        wanted = third if None in third else torch.tensor(third)
        same(meta, {"third": wanted, "list": [label, torch.ones(len(own), dtype=torch.float64)]})
        for i, one, other in zip(own, boxes, batch["boxes"], strict=True):
            assert torch.equal(one, torch.full((1 + i % 3, 4), i))
            assert torch.equal(one, other)
    assert loader.error_count == 5


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("kind", ["dataset", "pipeline", "shuffled", "stateful"])
def test_every_position_is_resumed_exactly(paths, parallel, kind, drop_last):
    def make():
        options = {"drop_last": drop_last, **parallel}
        if kind == "pipeline":
            return decoding(paths, **options)
        if kind == "shuffled":
            generator = torch.Generator().manual_seed(5)
            return fill(Structures(COUNT), shuffle=True, generator=generator, **options)
        return fill(Structures(COUNT) if kind == "dataset" else FailingCounter(COUNT), **options)

    whole = make()
    wanted, second = list(whole), list(whole)
    for batches in range(len(wanted) + 1):
        first = make()
        list(itertools.islice(first, batches))
        resumed = make()
        resumed.load_state_dict(first.state_dict())
        same(list(resumed), wanted[batches:])
        assert resumed.error_count == whole.error_count
        same(list(resumed), second)


class FailingCounter(datasets.StatefulMap):
    """Counts what it was asked for, and fails for some."""

    def __getitem__(self, index):
        found = super().__getitem__(index)
        if index in FAILING:
            raise OSError(f"no {index}")
        return found


def test_an_iterable_dataset_is_filled_where_the_pipeline_leaves_out_samples(tmp_path, parallel):
    paths = write_files(tmp_path, 12, {1: "text", 2: "text", 7: "text"})

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            info = torch.utils.data.get_worker_info()
            own = range(12) if info is None else range(info.id * 6, info.id * 6 + 6)
            return iter([(Path(paths[i]).read_bytes(), i) for i in own])

    def make():
        return fill(
            Stream(), batch_size=3, pipeline=lambda data, label: (fn.decoders.image(data), label),
            pipeline_options={"num_threads": 1}, **{**parallel, "num_workers": 2 * bool(parallel)},
        )  # fmt: skip

    if parallel.get("workers") == "threads":
        pytest.skip("threads share an iterable dataset")
    wanted = [b[1].tolist() for b in make()]
    assert sorted(flat(wanted)) == [i for i in range(12) if i not in (1, 2, 7)]
    assert [len(b) for b in wanted] == [3, 3, 3]
    first = make()
    begin = [next(iter(first))[1].tolist()]
    resumed = make()
    resumed.load_state_dict(first.state_dict())
    assert begin + [b[1].tolist() for b in resumed] == wanted


class Endless(torch.utils.data.Dataset):
    """Every third sample fails."""

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        if index % 3 == 1:
            raise OSError("no such sample")
        return np.full(2, index), index


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", ["dataset", "pipeline"])
def test_interruptions_lose_and_repeat_nothing(kind):
    def make():
        own = {"pipeline": lambda x, i: (fn.copy(x), i)} if kind == "pipeline" else {}
        if own:
            own["pipeline_options"] = {"num_threads": 1}
        return fill(Endless(), batch_size=4, max_errors=1 << 20, **own)

    good = (i for i in itertools.count() if i % 3 != 1)
    loader = make()
    iterator = iter(loader)
    for number, (where, batch) in enumerate(interrupted(iterator.__next__, returns=False)):
        state = loader.state_dict()
        got = next(iterator) if batch is None else batch
        expected = list(itertools.islice(good, 4))
        assert got[1].tolist() == got[0][:, 0].tolist() == expected, where
        if number % 11 == 0 and batch is None:
            resumed = make()
            resumed.load_state_dict(state)
            assert next(iter(resumed))[1].tolist() == expected, where


def test_rows_that_do_not_fit_together_are_an_error_and_the_next_batch_follows():
    class Differs(Endless):
        def __getitem__(self, index):
            if index in (2, 9):
                raise OSError("no such sample")
            return torch.zeros(3 if 4 <= index < 8 else 2), index

    iterator = iter(fill(Differs()))
    for _ in range(2):
        with pytest.raises(DataError, match=r"batch\[0\] has .*shape \[[23]\]"):
            next(iterator)
    assert next(iterator)[1].tolist() == [10, 11, 12, 13]


def test_too_many_errors_cost_their_batch():
    loader = fill(Structures(COUNT), max_errors=2)
    iterator = iter(loader)
    assert next(iterator)["int"].tolist() == [0, 3, 4, 5]
    with pytest.raises(DataError, match="3 samples of this epoch have failed"):
        next(iterator)
    with pytest.raises(DataError, match="7 samples of this epoch have failed"):
        next(iterator)
    assert next(iterator)["int"].tolist() == [6, 7, 20, 21]


def test_a_state_inside_a_batch_needs_a_loader_that_fills():
    first = fill(Structures(COUNT))
    next(iter(first))
    plain = DataLoader(Structures(COUNT), 4, on_error="skip")
    with pytest.raises(ArgumentError, match="fill_batches=True"):
        plain.load_state_dict(first.state_dict())
    # The other way round, the batches after the state are filled.
    next(iter(plain))
    first.load_state_dict(plain.state_dict())
    assert next(iter(first))["int"].tolist() == [4, 5, 6, 7]
    assert first.error_count == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_error": "raise"}, "on_error='raise'"),
        ({"on_error": "replace"}, "on_error='replace'"),
        ({"batch_size": None}, "batch_size=None"),
        ({"batch_size": 1, "batch_sampler": [[1, 2]]}, "`batch_sampler`"),
        ({"collate_fn": datasets.as_list}, "`collate_fn`"),
        ({"in_order": False, "num_workers": 2}, "in_order=False"),
    ],
)
def test_what_cannot_be_filled_is_an_error(options, message):
    with pytest.raises(ArgumentError, match=f"`fill_batches` with {message}"):
        fill(datasets.Squares(), **options)


@pytest.mark.parametrize("how", ["environment", "sampler"])
def test_other_ranks_are_an_error(monkeypatch, how):
    options = {}
    if how == "sampler":
        data = datasets.Squares()
        options["sampler"] = torch.utils.data.DistributedSampler(data, num_replicas=2, rank=0)
    else:
        monkeypatch.setenv("RANK", "0")
        monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ArgumentError, match="`fill_batches` with 2 ranks"):
        iter(fill(datasets.Squares(), **options))


def test_persistent_workers_fill_each_epoch_anew():
    loader = fill(Structures(COUNT), num_workers=2, persistent_workers=True)
    for _ in range(2):
        assert next(iter(loader))["int"].tolist() == [0, 3, 4, 5]
        assert [b["int"].tolist() for b in loader] == chunks(GOOD, 4)
