# SPDX-License-Identifier: Apache-2.0
"""state_dict() and load_state_dict() of torchdata's StatefulDataLoader and of ours."""

from __future__ import annotations

import copy
import gc
import json
import pickle

import pytest
import torch
from helpers import datasets
from helpers.both_loaders import flat
from torch.utils.data import SequentialSampler

import torchdali
from torchdali.errors import ArgumentError

pytestmark = pytest.mark.slow

try:
    from torchdata.stateful_dataloader import StatefulDataLoader
except ImportError:
    StatefulDataLoader = None


@pytest.fixture(params=["torchdata", "ours"])
def cls(request):
    if request.param == "ours":
        return torchdali.DataLoader
    if StatefulDataLoader is None:
        pytest.skip("torchdata is not installed")
    return StatefulDataLoader


def plain(batch):
    if isinstance(batch, (list, tuple)):
        return [plain(part) for part in batch]
    return batch.tolist() if isinstance(batch, torch.Tensor) else batch


def check_resumes(make, steps, through=pickle):
    """Stops after each number of batches, and resumes in a new loader."""
    torch.manual_seed(1)
    for step in steps:
        loader = make()
        iterator = iter(loader)
        before = [plain(next(iterator)) for _ in range(step)]
        state = through.loads(through.dumps(loader.state_dict()))
        after = [plain(batch) for batch in iterator]
        del iterator, loader
        torch.manual_seed(99)  # the order is not drawn again
        other = make()
        other.load_state_dict(state)
        assert [plain(batch) for batch in other] == after, f"after {step} of {before + after}"


DATA = {
    "map": lambda: (datasets.Squares(20), {}),
    "shuffled": lambda: (datasets.Squares(20), {"shuffle": True}),
    "generator": lambda: (
        datasets.Squares(20),
        {"shuffle": True, "generator": torch.Generator().manual_seed(3)},
    ),
    "sampler": lambda: (datasets.Squares(20), {"sampler": datasets.StatefulSampler(20)}),
    "sampler iterator": lambda: (
        datasets.Squares(20),
        {"sampler": datasets.IteratorSampler(20)},
    ),
    "plain sampler": lambda: (datasets.Squares(20), {"sampler": list(range(19, -1, -1))}),
    "iterable": lambda: (datasets.Counts(23), {}),
    "iterator": lambda: (datasets.StatefulIterator(23), {}),
    "stateful": lambda: (datasets.StatefulIterable(23), {}),
}


@pytest.mark.parametrize("kind", DATA)
def test_a_resumed_loader_returns_the_rest_of_the_epoch(cls, kind, workers):
    def make():
        data, options = DATA[kind]()
        return cls(data, batch_size=3, num_workers=workers, **options)

    check_resumes(make, (1, 4))


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("num_workers", [0, 2, 3])
def test_our_loader_resumes_after_every_batch(kind, num_workers, monkeypatch):
    datasets.set_processors(monkeypatch, 8)

    def make():
        data, options = DATA[kind]()
        return torchdali.DataLoader(data, batch_size=3, num_workers=num_workers, **options)

    check_resumes(make, range(8))


@pytest.mark.parametrize("kind", DATA)
def test_a_loader_with_threads_resumes(kind):
    def make():
        data, options = DATA[kind]()
        return torchdali.DataLoader(data, batch_size=3, num_workers=2, workers="threads", **options)

    check_resumes(make, (0, 1, 5))


def test_a_stateful_batch_sampler_resumes(cls, workers):
    def make():
        own = datasets.StatefulBatchSampler(20)
        return cls(datasets.Squares(20), batch_sampler=own, num_workers=workers)

    check_resumes(make, (1, 4))


def test_samples_without_batches_resume(cls, workers):
    def make():
        return cls(datasets.Squares(8), batch_size=None, shuffle=True, num_workers=workers)

    check_resumes(make, (3,))


@pytest.mark.parametrize("num_workers", [0, 1])
def test_the_state_of_a_map_dataset_belongs_to_the_batch_of_the_user(cls, num_workers):
    def make():
        return cls(datasets.StatefulMap(20), batch_size=3, num_workers=num_workers)

    check_resumes(make, (2, 5))


def test_persistent_workers_resume_and_continue_with_whole_epochs(cls):
    def make():
        return cls(datasets.Squares(20), batch_size=3, num_workers=2, persistent_workers=True)

    loader = make()
    whole = [plain(batch) for batch in loader]
    iterator = iter(loader)
    for _ in range(2):
        next(iterator)
    state = loader.state_dict()
    other = make()
    other.load_state_dict(state)
    assert [plain(batch) for batch in other] == whole[2:]
    assert [plain(batch) for batch in other] == whole


def test_a_state_after_the_end_starts_the_next_epoch(cls, workers):
    def make():
        generator = torch.Generator().manual_seed(3)
        return cls(
            datasets.Squares(9), batch_size=3, shuffle=True, num_workers=workers,
            generator=generator,
        )  # fmt: skip

    loader = make()
    first = [plain(batch) for batch in loader]
    state = loader.state_dict()
    second = [plain(batch) for batch in loader]
    assert first != second
    other = make()
    other.load_state_dict(state)
    resumed = [plain(batch) for batch in other]
    assert sorted(flat(b[1] for b in resumed)) == list(range(9))
    if cls is torchdali.DataLoader and workers == 0:
        assert resumed == second


def test_an_empty_state_starts_a_new_epoch(cls, workers):
    loader = cls(datasets.Squares(9), batch_size=3, num_workers=workers)
    next(iter(loader))
    loader.load_state_dict({})
    assert [b[1].tolist() for b in loader] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_a_resumed_loader_can_be_stopped_again(cls, workers):
    def make():
        return cls(datasets.StatefulIterator(23), batch_size=3, num_workers=workers)

    whole = [plain(batch) for batch in make()]
    state, given = {}, []
    for _ in range(4):
        loader = make()
        loader.load_state_dict(state)
        iterator = iter(loader)
        given += [plain(next(iterator)) for _ in range(2)]
        state = loader.state_dict()
        del iterator
    assert given == whole[:8]


# -- ours alone


OTHER_WORKERS = [{"num_workers": 0}, {"num_workers": 3}, {"num_workers": 2, "workers": "threads"}]


def state_after(loader, batches):
    iterator = iter(loader)
    for _ in range(batches):
        next(iterator)
    return loader.state_dict()


@pytest.mark.parametrize("batch_size", [2, None])
def test_indices_that_no_worker_has_got_stay_in_the_state(batch_size):
    def loader(num_workers=0):
        return torchdali.DataLoader(range(24), batch_size, num_workers=num_workers)

    first = loader(num_workers=2)  # draws ahead
    seen = [plain(next(iter(first)))]
    for _ in range(3):
        resumed = loader()
        resumed.load_state_dict(first.state_dict())
        seen.append(plain(next(iter(resumed))))
        first = resumed
    first = loader()
    first.load_state_dict(resumed.state_dict())
    seen += [plain(batch) for batch in first]
    assert seen == [plain(batch) for batch in loader()]


@pytest.mark.parametrize("kind", ["shuffled", "sampler", "sampler iterator", "plain sampler"])
def test_the_number_of_workers_may_change_if_they_have_no_states(kind):
    def make(num_workers, **options):
        data, own = DATA[kind]()
        return torchdali.DataLoader(data, batch_size=3, num_workers=num_workers, **own, **options)

    torch.manual_seed(2)
    whole = [plain(batch) for batch in make(0)]
    torch.manual_seed(2)
    state = state_after(make(2), 2)
    for options in (
        {"num_workers": 0},
        {"num_workers": 2},
        {"num_workers": 2, "workers": "threads"},
    ):
        loader = make(**options)
        loader.load_state_dict(state)
        assert [plain(batch) for batch in loader] == whole[2:]


@pytest.mark.parametrize("kind", ["iterable", "iterator", "stateful", "stateful map"])
def test_the_number_of_workers_that_have_states_may_change_between_epochs_only(kind):
    def make(num_workers, **options):
        data = datasets.StatefulMap(20) if kind == "stateful map" else DATA[kind]()[0]
        return torchdali.DataLoader(data, batch_size=3, num_workers=num_workers, **options)

    state = state_after(make(2), 2)
    for options in (
        {"num_workers": 3},
        {"num_workers": 0},
        {"num_workers": 2, "workers": "threads"},
    ):
        with pytest.raises(ArgumentError, match="pass num_workers=2"):
            make(**options).load_state_dict(state)
    whole = [plain(batch) for batch in make(3)]
    ended = make(2)
    list(ended)
    for state in (make(2).state_dict(), ended.state_dict()):
        loader = make(3)
        loader.load_state_dict(state)
        assert [plain(batch) for batch in loader] == whole


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("kind", [datasets.Squares, datasets.Counts])
def test_a_state_of_a_longer_dataset_is_an_error(kind, num_workers):
    def make(count):
        return torchdali.DataLoader(kind(count), batch_size=3, num_workers=num_workers)

    state = state_after(make(40), 8)
    loader = make(10)
    loader.load_state_dict(state)
    with pytest.raises(ValueError, match=r"(?s)the state is after \d+ batches.*has|ends"):
        list(loader)


def test_states_of_other_loaders_are_errors():
    loader = torchdali.DataLoader(datasets.Squares(9))
    damaged = loader.state_dict()
    del damaged["sampling"]
    for state in ({"a": 1}, damaged, [1]):
        with pytest.raises((ValueError, TypeError), match=r"no state of torchdali\.DataLoader"):
            loader.load_state_dict(state)
    with pytest.raises(ValueError, match="indexed dataset"):
        torchdali.DataLoader(datasets.Counts()).load_state_dict(loader.state_dict())


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("kind", ["shuffled", "generator", "sampler", "stateful"])
def test_a_state_from_before_the_first_batch_gives_the_same_epoch(kind, num_workers):
    def make():
        data, options = DATA[kind]()
        return torchdali.DataLoader(data, batch_size=3, num_workers=num_workers, **options)

    torch.manual_seed(6)
    loader = make()
    state = copy.deepcopy(loader.state_dict())
    epoch = [plain(batch) for batch in loader]
    torch.manual_seed(8)
    after = torch.get_rng_state()
    other = make()
    other.load_state_dict(state)
    assert other.state_dict() is not None
    assert [plain(batch) for batch in other] == epoch
    if num_workers == 2 and kind == "shuffled":
        assert torch.equal(torch.get_rng_state(), after)  # the generator of the user is not changed


def test_a_state_can_be_json(workers):
    def make():
        return torchdali.DataLoader(
            datasets.Squares(20), batch_size=3, num_workers=workers, shuffle=True,
            generator=torch.Generator().manual_seed(3),
        )  # fmt: skip

    check_resumes(make, (0, 2), through=json)


def test_the_state_outlives_the_iterator_and_its_workers():
    loader = torchdali.DataLoader(datasets.Squares(20), batch_size=3, num_workers=2, shuffle=True)
    given = []
    for batch in loader:
        given += plain(batch)[1]
        if len(given) == 9:
            break
    del batch
    gc.collect()
    loader.load_state_dict(loader.state_dict())
    rest = flat(plain(batch)[1] for batch in loader)
    assert sorted(given + rest) == list(range(20))


def test_in_order_false_resumes_without_repeating_samples():
    def make():
        return torchdali.DataLoader(
            datasets.Squares(40), batch_size=3, num_workers=2, in_order=False, shuffle=True
        )

    loader = make()
    iterator = iter(loader)
    given = flat(plain(next(iterator))[1] for _ in range(5))
    state = loader.state_dict()
    other = make()
    other.load_state_dict(state)
    assert sorted(given + flat(plain(b)[1] for b in other)) == list(range(40))


def test_worker_seeds_are_restored():
    def make():
        return torchdali.DataLoader(datasets.Info(20), batch_size=2, num_workers=2)

    loader = make()
    iterator = iter(loader)
    seed = next(iterator)[2][0].item()
    other = make()
    other.load_state_dict(loader.state_dict())
    assert next(iter(other))[2][0].item() == seed + 1  # worker 1 is next


def test_a_state_after_an_error_continues_after_it(workers):
    loader = torchdali.DataLoader(
        datasets.Fails(12, at=(4,)),
        batch_size=2,
        num_workers=workers,
        sampler=SequentialSampler(range(12)),
    )
    iterator = iter(loader)
    assert [plain(next(iterator))[1] for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="no such sample"):
        next(iterator)
    assert plain(next(iterator))[1] == [6, 7]
    state = loader.state_dict()
    loader.load_state_dict(state)
    assert [plain(b)[1] for b in loader] == [[8, 9], [10, 11]]
