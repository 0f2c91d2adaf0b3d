# SPDX-License-Identifier: Apache-2.0
"""Sources of batches, and iterables, that raise in pipelines with on_error."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.interruptions import interrupted

from torchdali import fn, pipeline_def
from torchdali.errors import DataError, PipelineError

BATCH = 4
LAST = 7  # the batch with fewer samples
ON_WORKERS = pytest.mark.parametrize("parallel", [False, True])


def size_of(number):
    return 3 if number == LAST else BATCH


def batch_of(number):
    return np.arange(BATCH * number, BATCH * number + size_of(number))[:, None]


def make(source, *, batch=True, parallel=False, num_outputs=None, cycle=None, **options):
    """Returns a pipeline of a source, and of one that gives the same without errors."""
    options = {"on_error": "skip", "num_threads": 2, "py_start_method": "fork", **options}

    @pipeline_def(batch_size=BATCH, device_id=None, **options)
    def define():
        own = fn.external_source(source, num_outputs, batch=batch, parallel=parallel, cycle=cycle)
        outputs = [own] if num_outputs is None else own
        return *outputs, outputs[0] + 0, fn.external_source(batch_of)

    return define()


def run(pipeline):
    """Returns the numbers of a batch, which all outputs have."""
    first, *others = (batch.as_torch().flatten().tolist() for batch in pipeline.run())
    assert all(other == first for other in others)
    return first


def numbers(batch):
    return batch_of(batch).flatten().tolist()


def records(pipeline):
    return [(e.batch, e.sample, e.error) for e in pipeline.errors]


def of_bad(batches, error="KeyError"):
    """Returns the records for batches of which all samples failed."""
    return [(batch, sample, error) for batch in batches for sample in range(size_of(batch))]


def unless(bad, number):
    if number in bad:
        raise KeyError(f"batch {number}")
    return batch_of(number)


def failing(iteration):
    return unless((1, 2, LAST), iteration)


# -- callables


@ON_WORKERS
@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_all_samples_of_a_batch_that_a_callable_does_not_make_have_failed(parallel, on_error):
    pipeline = make(failing, parallel=parallel, on_error=on_error)
    expected = [[] if n in (1, 2, LAST) else numbers(n) for n in range(9)]
    assert [run(pipeline) for _ in range(9)] == expected
    assert records(pipeline) == of_bad([1, 2, LAST])
    assert "the source raised KeyError: 'batch 1' at " in pipeline.errors[0].message
    assert "test_failed_batches.py:" in pipeline.errors[0].message


def test_records_of_batches_are_the_same_in_workers():
    pipelines = [make(failing, parallel=parallel) for parallel in (False, True)]
    for pipeline in pipelines:
        for _ in range(9):
            run(pipeline)
    assert pipelines[0].errors == pipelines[1].errors


@ON_WORKERS
def test_several_outputs_and_the_first_batch_may_fail(parallel):
    pipeline = make(lambda n: (unless([0], n),) * 2, parallel=parallel, num_outputs=2)
    assert [run(pipeline) for _ in range(2)] == [[], numbers(1)]


@ON_WORKERS
def test_two_sources_may_fail_for_the_same_batch(parallel):
    @pipeline_def(batch_size=BATCH, num_threads=2, on_error="skip", py_start_method="fork")
    def define():
        return [fn.external_source(failing, parallel=parallel) for _ in range(2)]

    pipeline = define()
    assert [run(pipeline) for _ in range(4)] == [numbers(0), [], [], numbers(3)]
    assert records(pipeline) == of_bad([1, 2])


def test_a_callable_of_batches_without_an_index_is_called_once_for_each_batch():
    calls = itertools.count()
    pipeline = make(lambda: failing(next(calls)))
    assert [run(pipeline) for _ in range(5)] == [numbers(0), [], [], numbers(3), numbers(4)]


@ON_WORKERS
@pytest.mark.parametrize(("policy", "of_source"), [(None, "skip"), ("skip", "raise")])
def test_the_policy_of_a_source_wins_over_that_of_the_pipeline(parallel, policy, of_source):
    @pipeline_def(batch_size=BATCH, num_threads=2, on_error=policy, py_start_method="fork")
    def define():
        return fn.external_source(failing, parallel=parallel, on_error=of_source)

    pipeline = define()
    assert run(pipeline) == numbers(0)
    if of_source == "skip":
        assert run(pipeline) == []
    else:
        with pytest.raises((KeyError, PipelineError), match="batch 1"):
            pipeline.run()
    assert records(pipeline) == (of_bad([1]) if of_source == "skip" else [])


@ON_WORKERS
def test_max_errors_counts_the_samples_of_batches(parallel):
    pipeline = make(failing, parallel=parallel, max_errors=5)
    assert [run(pipeline) for _ in range(2)] == [numbers(0), []]
    with pytest.raises(DataError, match=r"8 samples of this epoch have failed.*batch 2"):
        pipeline.run()


@ON_WORKERS
def test_a_source_of_batches_that_returns_nothing_fails_the_iteration(parallel):
    pipeline = make(lambda n: None if n == 1 else batch_of(n), parallel=parallel)
    assert run(pipeline) == numbers(0)
    with pytest.raises((PipelineError, TypeError), match="NoneType"):
        pipeline.run()
    assert run(pipeline) == numbers(2)
    assert not pipeline.error_count


# -- iterables


class Batches:
    """Iterates over batches, and goes on after an exception."""

    def __init__(self, bad=(1, 2, LAST), end=9):
        self.bad, self.end, self.at = bad, end, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == self.end:
            raise StopIteration
        self.at += 1
        return self.item(self.at - 1)

    def item(self, number):
        return unless(self.bad, number)


class StatefulBatches(Batches):
    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Listed:
    """Has no iterator of its own. Python's stays at an item that raises."""

    def __getitem__(self, index):
        if index == 9:
            raise IndexError
        return failing(index)


def generate(bad=1, end=9):
    for number in range(end):
        yield unless([bad], number)


class Wrapping:
    """Uses a generator, as an iterator that reads from another one does."""

    def __init__(self, *args):
        self.items = generate(*args)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.items)


@ON_WORKERS
@pytest.mark.parametrize("source", [Batches, Listed, lambda: map(failing, range(9))])
def test_an_iterator_of_batches_goes_on(parallel, source):
    pipeline = make(source(), parallel=parallel)
    expected = [[] if n in (1, 2, LAST) else numbers(n) for n in range(9)]
    assert [run(pipeline) for _ in range(9)] == expected
    assert records(pipeline) == of_bad([1, 2, LAST])
    with pytest.raises(StopIteration):
        pipeline.run()


@ON_WORKERS
@pytest.mark.parametrize("source", [Batches, StatefulBatches])
def test_an_iterator_that_is_resumed_fails_for_the_same_batches(parallel, source):
    def make_it(**options):
        return make(source(), parallel=parallel, enable_checkpointing=True, **options)

    pipeline = make_it()
    for taken in range(1, 9):
        run(pipeline)
        again = make_it(checkpoint=pipeline.checkpoint())
        expected = [[] if n in (1, 2, LAST) else numbers(n) for n in range(taken, 9)]
        assert [run(again) for _ in range(taken, 9)] == expected
        assert records(again) == of_bad([n for n in (1, 2, LAST) if n >= taken])


@ON_WORKERS
def test_a_source_that_cannot_load_its_state_fails_the_iteration(parallel):
    class Moved(StatefulBatches):
        def load_state_dict(self, state):
            raise OSError("moved")

    pipeline = make(StatefulBatches(), parallel=parallel, enable_checkpointing=True)
    run(pipeline)
    state = pipeline.checkpoint()
    again = make(Moved(), parallel=parallel, enable_checkpointing=True, checkpoint=state)
    for _ in range(3):
        with pytest.raises((OSError, PipelineError), match="moved"):
            again.run()


def check_that_the_end_is_an_error(pipeline, good):
    """Checks batches, and that an error follows before the end."""
    assert [run(pipeline) for _ in good] == good
    text = r"(?s)raised KeyError: 'batch 1' at .*then had no more data.*To fix it: use a callable"
    with pytest.raises(PipelineError, match=text) as caught:
        pipeline.run()
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(StopIteration):
        pipeline.run()


@ON_WORKERS
@pytest.mark.parametrize("is_function", [False, True])
def test_a_generator_that_raises_fails_its_iteration(parallel, is_function):
    source = generate if is_function else generate()
    check_that_the_end_is_an_error(make(source, parallel=parallel), [numbers(0)])


@ON_WORKERS
def test_an_iterator_that_ends_with_an_exception_does_not_end_the_data_silently(parallel):
    check_that_the_end_is_an_error(make(Wrapping(), parallel=parallel), [numbers(0), []])


@ON_WORKERS
def test_a_generator_function_is_begun_again_after_the_error_of_its_end(parallel):
    pipeline = make(generate, parallel=parallel, cycle="raise")
    for _ in range(2):
        check_that_the_end_is_an_error(pipeline, [numbers(0)])
        pipeline.reset()


# -- iterables of samples


class Samples(Batches):
    """Iterates over samples, and goes on after an exception."""

    def __init__(self, bad=(5, 6, 15, 16), end=20):
        super().__init__(bad, end)

    def item(self, number):
        if number in self.bad:
            raise KeyError("batch 1")
        return np.array([number])


class SamplesOfGenerator(Samples):
    def __init__(self, *args):
        self.items = self.generate(Samples(*args))

    def generate(self, samples):
        yield from samples

    def __next__(self):
        return next(self.items)


def test_a_sample_that_an_iterator_does_not_make_costs_only_the_sample():
    pipeline = make(Samples(), batch=False)
    assert [run(pipeline) for _ in range(5)] == [
        [n for n in numbers(batch) if n not in (5, 6, 15, 16)] for batch in range(5)
    ]
    assert records(pipeline) == [(*divmod(n, BATCH), "KeyError") for n in (5, 6, 15, 16)]
    with pytest.raises(StopIteration):
        pipeline.run()


def test_an_iterator_of_samples_that_is_resumed_fails_for_the_same_ones():
    pipeline = make(Samples(), batch=False, enable_checkpointing=True)
    for _ in range(2):
        run(pipeline)
    again = make(
        Samples(), batch=False, enable_checkpointing=True, checkpoint=pipeline.checkpoint()
    )
    assert [run(again) for _ in range(3)] == [[8, 9, 10, 11], [12, 13, 14], [17, 18, 19]]
    assert records(again) == [(3, 3, "KeyError"), (4, 0, "KeyError")]


@pytest.mark.parametrize("bad", [4, 5, 7])
def test_a_generator_of_samples_that_raises_fails_its_iteration(bad):
    def source():
        yield from Samples([bad])

    check_that_the_end_is_an_error(make(source, batch=False), [numbers(0)])


@pytest.mark.parametrize("bad", [4, 5, 7])
def test_an_iterator_of_samples_that_ends_with_an_exception_is_an_error(bad):
    good = [numbers(0)] + [numbers(1)[:3]] * (bad == 7)
    check_that_the_end_is_an_error(make(SamplesOfGenerator([bad]), batch=False), good)


# -- interruptions


class Endless(Batches):
    """Iterates over batches with one number in all samples."""

    def __init__(self, size=None):
        super().__init__()
        self.size = size

    def __next__(self):
        number = self.at // (self.size or 1)
        self.at += 1
        if number % 3 == 2 and (self.size is None or self.at % self.size == 0):
            raise KeyError(number)
        return np.full((1,) if self.size else (BATCH, 1), number)


@pytest.mark.parametrize("depth", [1, 2])
def test_interruptions_lose_no_batches(depth):
    options = {"prefetch_queue_depth": depth, "on_error": "skip", "max_errors": 10**6}
    calls = itertools.count()

    def call():
        number = next(calls)
        return of_number(number)

    def of_number(number):
        if number % 3 == 2:
            raise KeyError(number)
        return np.full((BATCH, 1), number)

    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, py_start_method="fork")
    def define():
        return (
            fn.external_source(of_number),
            fn.external_source(call),
            fn.external_source(Endless()),
            fn.external_source(Endless(BATCH), batch=False),
            fn.external_source(map(of_number, itertools.count())),
            fn.external_source(of_number, parallel=True),
            fn.external_source(Endless(), parallel=True),
            fn.external_source(lambda n: np.full((BATCH, 1), n)),
        )

    pipeline = define(**options)
    pipeline.run()
    taken = 1
    for where, outputs in interrupted(pipeline.run, step=2):
        own = pipeline.run() if outputs is None else outputs
        expected = [] if taken % 3 == 2 else [taken] * BATCH
        assert [b.as_torch().flatten().tolist() for b in own] == [expected] * 8, where
        taken += 1
    assert pipeline.error_count == BATCH * (taken // 3)
