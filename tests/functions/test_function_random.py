# SPDX-License-Identifier: Apache-2.0
"""Random values in Python functions: reproducible, and global generators are restored."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from helpers.cases import for_each

import torchdali
from torchdali import Pipeline, errors, fn

RUNS = 4


def of_sample(_x=None):
    sample = torchdali.current_sample()
    return np.array(
        [
            sample.numpy.random(),
            torch.rand((), generator=sample.torch).item(),
            sample.python.random(),
        ]
    )


def of_the_process(_x=None):
    return np.array([np.random.rand(), torch.rand(()).item(), random.random()])  # noqa: NPY002


def drawn(function=of_sample, *, samples=12, batch_size=4, threads=2, options=None, **args):
    """Returns what a function draws for a number of samples, one row each."""
    options = {"seed": 7, **(options or {})}
    with Pipeline(batch_size, threads, None, **options) as pipe:
        pipe.set_outputs(fn.python_function(function=function, **args))
    rows = [pipe.run()[0].as_array() for _ in range(samples // batch_size)]
    pipe.close()
    return np.concatenate(rows)


@for_each(
    "how",
    [
        {"threads": 1},
        {"threads": 8},
        {"batch_size": 1},
        {"batch_size": 6},
        {"options": {"prefetch_queue_depth": 5}},
        {"options": {"exec_pipelined": False, "exec_async": False}},
        {"workers": "threads"},
        {"workers": "threads", "threads": 8, "batch_size": 3},
    ],
)
def test_values_depend_on_the_number_of_the_sample_only(how):
    expected = drawn()
    assert len(np.unique(expected)) == expected.size
    np.testing.assert_array_equal(drawn(**how), expected)


@pytest.mark.parametrize(
    "how",
    [{"threads": 1}, {"threads": 8}, {"batch_size": 6}, {"options": {"prefetch_queue_depth": 5}}],
    ids=str,
)
def test_seeded_generators_are_reproducible(how):
    expected = drawn(of_the_process, seed_generators=True)
    assert len(np.unique(expected)) == expected.size
    np.testing.assert_array_equal(drawn(of_the_process, seed_generators=True, **how), expected)


def test_debug_mode_draws_the_same_values():
    @torchdali.pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=7)
    def definition():
        return fn.python_function(function=of_sample)

    plain, debugged = definition(), definition(debug=True)
    for _ in range(RUNS):
        np.testing.assert_array_equal(plain.run()[0].as_array(), debugged.run()[0].as_array())


def test_seeds_of_pipeline_and_operator_determine_the_values():
    expected = drawn(seed=5)
    np.testing.assert_array_equal(drawn(seed=5, options={"seed": 8}), expected)
    assert not np.isin(drawn(seed=6), expected).any()
    assert not np.isin(drawn(options={"seed": 8}), drawn(options={"seed": 7})).any()


def test_two_functions_draw_different_values():
    with Pipeline(4, 2, None, seed=7) as pipe:
        pipe.set_outputs(
            fn.python_function(function=of_sample), fn.python_function(function=of_sample)
        )
    first, second = (batch.as_array() for batch in pipe.run())
    assert not np.isin(first, second).any()


# The values of a seed are part of the interface: changing them is a breaking change.
GOLDEN = [
    [0.3420052819045639, 0.77046799659729, 0.8360667855533211],
    [0.7951515163072467, 0.5106413960456848, 0.6034413263698272],
]


def test_values_of_a_seed_equal_the_golden_values():
    np.testing.assert_allclose(drawn(samples=4)[:2], GOLDEN, rtol=1e-12)


@pytest.mark.parametrize("args", [{}, {"seed_generators": True}, {"workers": "threads"}])
def test_a_resumed_pipeline_draws_the_same_values(args):
    function = of_the_process if args.get("seed_generators") else of_sample

    def make(checkpoint=None):
        with Pipeline(4, 2, None, seed=7, enable_checkpointing=True, checkpoint=checkpoint) as pipe:
            pipe.set_outputs(fn.python_function(function=function, **args))
        return pipe

    pipe = make()
    for _ in range(2):
        pipe.run()
    checkpoint = pipe.checkpoint()
    expected = [pipe.run()[0].as_array().copy() for _ in range(RUNS)]
    pipe.close()  # two pipelines that seed the global generators disturb each other
    resumed = make(checkpoint)
    for batch in expected:
        np.testing.assert_array_equal(resumed.run()[0].as_array(), batch)


def test_a_batch_has_the_generators_of_its_first_sample():
    def function():
        seen.append(torchdali.current_sample())
        return [np.zeros(1)] * 4

    seen: list[torchdali.SampleContext] = []
    with Pipeline(4, 2, None, seed=7) as pipe:
        pipe.set_outputs(fn.python_function(function=function, batch_processing=True))
    for _ in range(RUNS):
        pipe.run()
    assert [s.id for s in seen[:RUNS]] == [0, 4, 8, 12]
    assert {s.index for s in seen} == {0}


def test_sample_info_has_epoch_iteration_and_index():
    def function():
        sample = torchdali.current_sample()
        assert f"id={sample.id}, index={sample.index}" in repr(sample)
        assert sample.numpy is sample.numpy
        return np.array([sample.index, sample.id])

    assert drawn(function).tolist() == [[i % 4, i] for i in range(12)]


def test_an_inner_pipeline_leaves_the_sample_of_the_outer_one():
    def outer():
        inner = drawn(samples=2, batch_size=2)
        return np.array([torchdali.current_sample().id, len(inner)])

    assert drawn(outer, samples=4)[:, 0].tolist() == [0, 1, 2, 3]


def test_sample_info_outside_a_function_is_an_error():
    with pytest.raises(RuntimeError, match="inside a function that a pipeline calls"):
        torchdali.current_sample()
    drawn()
    with pytest.raises(RuntimeError, match="inside a function"):
        torchdali.current_sample()


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("batch", [False, True])
def test_global_generators_are_restored(batch, fails):
    def function():
        of_the_process()
        if fails:
            raise ValueError
        return [np.zeros(1)] * 4 if batch else np.zeros(1)

    def states():
        numpy = np.random.get_state()  # noqa: NPY002
        return random.getstate(), numpy[1].tolist(), torch.get_rng_state().tolist()

    before = states()
    with Pipeline(4, 2, None) as pipe:
        made = fn.python_function(function=function, batch_processing=batch, seed_generators=True)
        pipe.set_outputs(made)
    for _ in range(RUNS):
        try:
            pipe.run()
        except errors.PipelineError:
            assert fails
    pipe.close()
    assert states() == before


def test_a_seed_generator_in_a_batch_is_that_of_the_first_sample():
    def batch():
        return [of_the_process() for _ in range(4)]

    by_batch = drawn(batch, batch_processing=True, seed_generators=True)
    by_sample = drawn(of_the_process, seed_generators=True)
    np.testing.assert_array_equal(by_batch[::4], by_sample[::4])
    assert len(np.unique(by_batch)) == by_batch.size
