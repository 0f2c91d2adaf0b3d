# SPDX-License-Identifier: Apache-2.0
"""DataLoader with pipeline=: the seeds of random operators, in each epoch and after a resume."""

from __future__ import annotations

import io
import itertools

import pytest
import torch
from helpers.datasets import Arrays, Counts, Squares
from torch.utils.data import DataLoader as TorchLoader

from torchdali import DataLoader, fn


def noise(*fields):
    return fn.random.uniform(range=[0.0, 1.0]), fields[-1]


def values(batches):
    return [tuple(part.tolist() for part in batch) for batch in batches]


def loader(count=10, cls=Arrays, **options):
    return DataLoader(cls(count), batch_size=3, pipeline=noise, **options)


def test_the_global_generator_seeds_each_epoch(parallel):
    made = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        one = loader(shuffle=True, **parallel)
        made.append([values(one), values(one)])
    assert made[0] == made[1]
    assert made[0][0] != made[0][1]
    assert made[0][0] != made[2][0]
    # Also in the middle of the life of a loader, as with the workers of torch's.
    torch.manual_seed(1)
    assert values(one) == made[0][0]


def test_the_generator_of_the_loader_seeds_it(parallel):
    made = [
        values(loader(generator=torch.Generator().manual_seed(seed), **parallel))
        for seed in (1, 1, 2)
    ]
    assert made[0] == made[1] != made[2]


def test_a_seed_that_is_given_needs_no_generator(parallel):
    options = {"pipeline_options": {"seed": 7}, **parallel}
    one, other = loader(**options), loader(**options)
    epochs = [values(one) for _ in range(3)]
    assert len({str(epoch) for epoch in epochs}) == 3
    next(iter(other))  # an epoch that was left counts as one
    assert [values(other) for _ in range(2)] == epochs[1:]


def test_the_order_and_the_generator_are_those_of_torchs_loader(parallel):
    found = []
    for make in (
        lambda: TorchLoader(Squares(10), batch_size=3, shuffle=True),
        lambda: loader(cls=Squares, shuffle=True, **parallel),
    ):
        torch.manual_seed(5)
        one = make()
        order = [[batch[-1].tolist() for batch in one] for _ in range(2)]
        found.append((order, torch.rand(1).item()))
    assert found[0] == found[1]


@pytest.mark.parametrize("options", [{}, {"pipeline_options": {"seed": 3}}, {"shuffle": True}])
@pytest.mark.parametrize("epoch", [0, 1])
@pytest.mark.parametrize("taken", [0, 1, 3, 4])
def test_a_resumed_epoch_is_the_same_to_the_bit(options, epoch, taken, parallel):
    one = loader(**options, **parallel)
    for _ in range(epoch):
        values(one)
    iterator = iter(one)
    values(itertools.islice(iterator, taken))
    file = io.BytesIO()
    torch.save(one.state_dict(), file)
    rest = values(iterator)
    file.seek(0)
    torch.manual_seed(99)
    again = loader(**options, **parallel)
    again.load_state_dict(torch.load(file))
    assert values(again) == rest
    if "pipeline_options" in options:
        assert values(again) == values(one)


def test_an_iterable_resumes_to_the_bit(parallel):
    one = loader(cls=Counts, **parallel)
    iterator = iter(one)
    next(iterator)
    again = loader(cls=Counts, **parallel)
    again.load_state_dict(one.state_dict())
    assert values(again) == values(iterator)


def test_a_state_before_the_first_batch_resumes_with_the_same_values():
    one = loader(shuffle=True)
    state = one.state_dict()
    expected = values(one)
    torch.manual_seed(99)
    again = loader(shuffle=True)
    again.load_state_dict(state)
    assert values(again) == expected


def test_epochs_of_persistent_workers_differ_and_resume():
    options = {"num_workers": 2, "persistent_workers": True}
    torch.manual_seed(1)
    one = loader(**options)
    epochs = [values(one) for _ in range(3)]
    assert len({str(epoch) for epoch in epochs}) == 3
    torch.manual_seed(1)
    other = loader(**options)
    values(other)
    iterator = iter(other)
    next(iterator)
    again = loader(**options)
    again.load_state_dict(other.state_dict())
    assert [values(again), values(again)] == [epochs[1][1:], epochs[2]]
    between = loader(**options)
    between.load_state_dict(again.state_dict())
    assert values(between) == values(again)


def test_outputs_that_depend_on_no_field_have_the_size_of_the_batch(parallel):
    assert [len(batch[0]) for batch in loader(**parallel)] == [3, 3, 3, 1]


def test_larger_batches_continue_the_random_values():
    torch.manual_seed(1)
    sizes = [[0], [1, 2, 3], [4, 5]]
    grown = DataLoader(Arrays(6), batch_sampler=sizes, pipeline=noise)
    made = values(grown)
    torch.manual_seed(1)
    whole = values(DataLoader(Arrays(6), batch_size=6, pipeline=noise))
    assert [v for batch in made for v in batch[0]] == whole[0][0]
