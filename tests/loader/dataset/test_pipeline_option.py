# SPDX-License-Identifier: Apache-2.0
"""DataLoader with pipeline=: a pipeline processes the batches of a dataset."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from helpers import datasets
from helpers.both_loaders import flat
from helpers.datasets import Arrays

from torchdali import DataLoader, fn
from torchdali.errors import DataError


class Named(Arrays):
    def __getitem__(self, index):
        return {"image": super().__getitem__(index)[0], "label": index / 2}


@dataclasses.dataclass
class Made:
    image: object
    label: object


STRUCTURES = {
    "tuple": (lambda image, label: (image, label), lambda b: b),
    "list": (lambda image, label: [image, label], lambda b: b),
    "dict": (
        lambda image, label: {"i": image, "n": {"l": label}},
        lambda b: (b["i"], b["n"]["l"]),
    ),
    "named tuple": (lambda image, label: datasets.Point(image, label), lambda b: (b.x, b.y)),
    "dataclass": (lambda image, label: Made(image, label), lambda b: (b.image, b.label)),
}


@pytest.mark.parametrize("structure", STRUCTURES)
def test_batches_have_the_structure_of_the_pipeline(parallel, structure):
    function, parts = STRUCTURES[structure]
    loader = DataLoader(
        Arrays(10),
        batch_size=4,
        pipeline=lambda i, n: function(fn.flip(i) + 1, n),
        **parallel,
    )
    for _ in range(2):
        batches = [parts(batch) for batch in loader]
        assert [n.tolist() for _, n in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        assert batches[0][1].dtype == torch.int64
        for images, numbers in batches:
            assert images.shape[1:] == (5, 6, 3)
            assert (images[:, 0, 0, 0] == numbers + 1).all()


def test_named_fields_are_arguments_of_the_pipeline(parallel):
    def function(label, image):
        return {"image": image, "label": label}

    loader = DataLoader(Named(6), batch_size=3, pipeline=function, **parallel)
    assert [b["label"].tolist() for b in loader] == [[0, 0.5, 1], [1.5, 2, 2.5]]


def test_batches_may_grow(parallel):
    loader = DataLoader(
        Arrays(10),
        batch_sampler=[[0], [1, 2, 3], [4, 5]],
        pipeline=lambda i, n: n,
        **parallel,
    )
    assert [b.tolist() for b in loader] == [[0], [1, 2, 3], [4, 5]]


def test_the_state_continues_after_the_batch_of_the_user(parallel):
    loader = DataLoader(Arrays(20), batch_size=3, pipeline=lambda i, n: n, shuffle=True, **parallel)
    iterator = iter(loader)
    given = [next(iterator).tolist() for _ in range(2)]
    state = loader.state_dict()
    rest = [b.tolist() for b in iterator]
    loader.load_state_dict(state)
    assert [b.tolist() for b in loader] == rest
    assert sorted(flat(given + rest)) == list(range(20))


def test_random_values_differ_between_epochs():
    def function(image, label):
        return fn.random.uniform(range=[0.0, 1.0])

    loader = DataLoader(
        Arrays(4),
        batch_size=4,
        pipeline=function,
        pipeline_options={"seed": 3, "num_threads": 1},
    )
    epochs = [next(iter(loader)).tolist() for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]


def test_an_error_of_the_pipeline_skips_its_batch(parallel):
    class Damaged(datasets.Squares):
        def __getitem__(self, index):
            return b"no image"

    loader = DataLoader(
        Damaged(4), batch_size=2, pipeline=lambda b: fn.decoders.image(b), **parallel
    )
    iterator = iter(loader)
    for _ in range(2):
        with pytest.raises(DataError, match="fn.decoders.image"):
            next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)
