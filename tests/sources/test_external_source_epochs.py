# SPDX-License-Identifier: Apache-2.0
"""Epochs of external sources: early breaks, iterators, and several sources.

test_external_source_matrix.py has plain runs, one source and several, with all kinds of sources.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from helpers.cases import for_each

from torchdali import Pipeline, fn
from torchdali.plugin.pytorch import DALIGenericIterator

pytestmark = pytest.mark.slow

BATCH = 2
LENGTH = 4
DEPTHS = (1, 2, 5)


def rows(index):
    return np.full((BATCH, 1), index)


def of_index(index):
    if index >= LENGTH:
        raise StopIteration
    return rows(index)


def of_info(info):
    if info.iteration >= LENGTH:
        raise StopIteration
    return rows(info.iteration + 10 * info.epoch_idx)


def of_sample(info):
    if info.idx_in_epoch > LENGTH * BATCH:  # one is left over
        raise StopIteration
    return np.array([info.iteration])


def generate(length=LENGTH):
    for index in range(length):
        yield rows(index)


class Collection:
    """Can be iterated several times."""

    def __iter__(self):
        return generate()


class GoesOn:
    """An iterator that continues after its end."""

    def __init__(self):
        self._next = -1

    def __iter__(self):
        return self

    def __next__(self):
        self._next += 1
        if self._next % (LENGTH + 1) == LENGTH:
            raise StopIteration
        return rows(self._next)


class Without:
    """A callable without parameters."""

    def __init__(self):
        self._numbers = GoesOn()

    def __call__(self):
        return next(self._numbers)


ROUND = [0, 1, 2, 3]
ON = [5, 6, 7, 8]

# kind -> constructor, arguments, and the contents of its first and second epoch.
SOURCES = {
    "index": (lambda: of_index, {}, ROUND, ROUND),
    "info": (lambda: of_info, {"batch_info": True}, ROUND, [10, 11, 12, 13]),
    "sample": (lambda: of_sample, {"batch": False}, ROUND, ROUND),
    "nothing": (Without, {}, ROUND, ON),
    "list": (lambda: list(generate()), {"cycle": "raise"}, ROUND, ROUND),
    "collection": (Collection, {"cycle": "raise"}, ROUND, ROUND),
    "iterator": (GoesOn, {"cycle": "raise"}, ROUND, ON),
    "generator function": (lambda: generate, {"cycle": "raise"}, ROUND, ROUND),
    "generator": (generate, {}, ROUND, []),
    "list once": (lambda: list(generate()), {}, ROUND, []),
}

# Workers call sources with the requested position.
CASES = [(k, p) for k in SOURCES for p in (False, True) if not (p and k == "nothing")]


def build(*sources, depth=2, **options):
    """Returns a pipeline with the sources, each of them alone or with its arguments."""
    pipe = Pipeline(BATCH, 1, prefetch_queue_depth=depth, py_start_method="fork")
    with pipe:
        made = []
        for source in sources:
            given, own = source if isinstance(source, tuple) else (source, {})
            made.append(fn.external_source(given, **own, **options))
        pipe.set_outputs(*made)
    return pipe


def first_of(pipe, rounds=100):
    """Returns the first element of each output for each run up to the end, or to `rounds`."""
    found = []
    for _ in range(rounds):
        try:
            found.append([int(out.as_array().flat[0]) for out in pipe.run()])
        except StopIteration:
            break
    return [row[0] if len(row) == 1 else row for row in found]


@pytest.mark.parametrize(("kind", "parallel"), CASES)
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_loop_that_was_left_continues_at_its_position(kind, depth, parallel):
    make, options, first, second = SOURCES[kind]
    pipe = build((make(), options), depth=depth, parallel=parallel)
    assert first_of(pipe, 2) == first[:2]
    assert first_of(pipe) == first[2:]
    assert first_of(pipe) == []  # StopIteration repeats until the next epoch starts
    pipe.reset()
    assert first_of(pipe, 1) == second[:1]
    assert first_of(pipe) == second[1:]


@pytest.mark.parametrize(("kind", "parallel"), CASES)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("auto_reset", [False, True])
def test_an_iterator_that_was_left_continues_at_its_position(kind, depth, parallel, auto_reset):
    make, options, first, second = SOURCES[kind]
    pipe = build((make(), options), depth=depth, parallel=parallel)
    loader = DALIGenericIterator(pipe, ["x"], auto_reset=auto_reset)

    def take(most=100):
        return [int(batch[0]["x"][0, 0]) for batch in itertools.islice(loader, most)]

    assert take(2) == first[:2]
    with pytest.warns(RuntimeWarning, match="the epoch is not over"):
        assert take(1) == first[2:3]
    with pytest.warns(RuntimeWarning, match="the epoch is not over"):
        assert take() == first[3:]
    if not auto_reset:
        loader.reset()
    assert take() == second
    assert len(list(loader)) == (LENGTH if second else 0)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("parallel", [False, True])
def test_reset_before_the_end_changes_nothing(depth, parallel):
    pipe = build((list(generate()), {"cycle": "quiet"}), depth=depth, parallel=parallel)
    found = []
    for _ in range(9):
        found += first_of(pipe, 1)
        pipe.reset()
    assert found == [i % LENGTH for i in range(9)]


@pytest.mark.parametrize("depth", DEPTHS)
def test_epochs_may_have_different_lengths(depth):
    lengths = iter([3, 1, 0, 2])
    pipe = build((lambda: generate(next(lengths, 0)), {}), depth=depth)  # a callable: no data
    with pytest.raises(TypeError, match="generator"):
        pipe.run()

    class Changing:
        def __iter__(self):
            return generate(next(lengths, 0))

    lengths = iter([3, 1, 0, 2])
    pipe = build((Changing(), {"cycle": "raise"}), depth=depth)
    found = []
    for _ in range(4):
        found.append(first_of(pipe))
        pipe.reset()
    assert found == [[0, 1, 2], [0], [], [0, 1]]


# -- several sources


def failing(at, parallel):
    def source(index):
        if index == at:
            raise KeyError(index)
        return of_index(index)

    return source, {"parallel": parallel}


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_error_skips_the_iteration_of_all_sources(depth, parallel, place):
    others = [
        (list(generate()), {"cycle": "raise"}),
        (of_index, {"parallel": True}),
        (generate, {"parallel": True, "cycle": "raise"}),
    ]
    others.insert(place, failing(1, parallel))
    pipe = build(*others, depth=depth)
    for _ in range(2):
        assert first_of(pipe, 1) == [[0] * 4]
        with pytest.raises((KeyError, RuntimeError), match="1"):
            pipe.run()
        assert first_of(pipe) == [[2] * 4, [3] * 4]
        pipe.reset()


@pytest.mark.parametrize("depth", DEPTHS)
def test_data_fed_for_a_failed_iteration_is_dropped(depth):
    pipe = Pipeline(BATCH, 1, prefetch_queue_depth=depth)
    with pipe:
        pipe.set_outputs(fn.external_source(failing(1, False)[0]), fn.external_source(name="fed"))
    for index in range(LENGTH):
        pipe.feed_input("fed", rows(index))
    assert first_of(pipe, 1) == [[0, 0]]
    with pytest.raises(KeyError):
        pipe.run()
    assert first_of(pipe, 2) == [[2, 2], [3, 3]]


@for_each("depth", DEPTHS)
@for_each("fed_first", [False, True])
def test_data_fed_after_the_end_of_another_source_waits(depth, fed_first):
    pipe = Pipeline(BATCH, 1, prefetch_queue_depth=depth)
    with pipe:
        made = [fn.external_source(name="fed")]
        made.insert(int(fed_first), fn.external_source(of_index))
        pipe.set_outputs(*made)
    for index in range(2 * LENGTH):
        pipe.feed_input("fed", rows(index))
    assert first_of(pipe) == [[i, i] for i in range(LENGTH)]
    pipe.reset()
    again = [sorted(row) for row in first_of(pipe, LENGTH)]
    assert again == [[i, i + LENGTH] for i in range(LENGTH)]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("parallel", [False, True])
def test_errors_of_other_sources_after_the_end_are_ignored(order, parallel):
    pipe = build(*[(of_index, {}), failing(LENGTH, parallel)][::order])
    for _ in range(2):
        assert first_of(pipe) == [[i, i] for i in range(LENGTH)]
        pipe.reset()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_ctrl_c_in_a_source_loses_no_data(place):
    interrupted = []

    def interrupt(index):
        if index == 2 and not interrupted:
            interrupted.append(index)
            raise KeyboardInterrupt
        return of_index(index)

    others = [(list(generate()), {}), (generate, {"parallel": True})]
    others.insert(place, (interrupt, {}))
    pipe = build(*others, depth=1)
    assert first_of(pipe, 2) == [[0] * 3, [1] * 3]
    with pytest.raises(KeyboardInterrupt):
        pipe.run()
    assert first_of(pipe) == [[2] * 3, [3] * 3]


@for_each("depth", DEPTHS)
@for_each("parallel", [False, True])
def test_an_error_at_the_start_of_an_epoch_does_not_affect_later_ones(depth, parallel):
    def source(info):
        if info.epoch_idx == 1 and info.iteration == 0:
            raise ValueError("not yet")
        return of_info(info)

    pipe = build((source, {"batch_info": True}), depth=depth, parallel=parallel)
    assert first_of(pipe) == ROUND
    pipe.reset()
    with pytest.raises((ValueError, RuntimeError), match="not yet"):
        pipe.run()
    assert first_of(pipe) == [11, 12, 13]
    pipe.reset()
    assert first_of(pipe) == [20, 21, 22, 23]


def test_a_source_is_called_once_per_run_without_prefetching():
    asked = []

    def source(index):
        asked.append(index)
        return rows(index)

    pipe = build((source, {}), depth=1)
    for count in range(1, 4):
        pipe.run()
        assert asked == list(range(count))


def test_generator_functions_may_have_bound_arguments():
    pipe = build((functools.partial(generate, 2), {"cycle": "raise"}))
    assert first_of(pipe) == [0, 1]
