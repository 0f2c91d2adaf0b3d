# SPDX-License-Identifier: Apache-2.0
"""pipeline_def, and the constructor's arguments."""

from __future__ import annotations

import doctest

import pytest
from helpers.cases import for_each

from torchdali import OperatorConcurrency, Pipeline, StreamPolicy, errors, fn, pipeline_def, types
from torchdali.pipeline import do_not_convert


def noise():
    return fn.random.uniform(shape=[3])


@pytest.mark.parametrize(
    "decorate", [pipeline_def, pipeline_def(), pipeline_def(batch_size=9)], ids=["bare", "()", "()"]
)
def test_the_decorator_works_with_and_without_arguments(decorate):
    pipe = decorate(noise)(batch_size=4, num_threads=1, device_id=None)
    assert len(pipe.run()[0]) == 4


def test_arguments_of_the_call_override_those_of_the_decorator():
    @pipeline_def(batch_size=32, num_threads=3, seed=1)
    def pipeline():
        return noise()

    pipe = pipeline(batch_size=5)
    assert (pipe.batch_size, pipe.num_threads, pipe.seed) == (5, 3, 1)
    assert pipeline().batch_size == 32


def test_parameters_of_the_function_are_passed():
    @pipeline_def(batch_size=2, num_threads=1)
    def pipeline(low, *, high=2.0):
        return fn.random.uniform(range=[low, high], shape=[100])

    values = pipeline(1.0, high=1.5).run()[0].as_torch()
    assert values.min() >= 1.0
    assert values.max() < 1.5


def test_parameters_of_the_function_hide_those_of_the_pipeline():
    @pipeline_def(num_threads=1)
    def pipeline(batch_size):
        return fn.random.uniform(shape=[batch_size])

    assert pipeline(batch_size=3).batch_size == -1


def test_the_example_of_the_documentation_runs():
    finder = doctest.DocTestFinder()
    (example,) = finder.find(
        pipeline_def, "pipeline_def", globs={"pipeline_def": pipeline_def, "fn": fn}
    )
    assert len(example.examples) == 3
    assert doctest.DocTestRunner().run(example).failed == 0


def test_the_function_keeps_docstring_and_name():
    @pipeline_def
    def pipeline():
        """Mine."""
        return noise()

    assert pipeline.__name__ == "pipeline"
    assert pipeline.__doc__ == "Mine."


def test_variadic_keywords_take_what_is_not_for_the_pipeline():
    @pipeline_def(num_threads=1)
    def pipeline(low, **options):
        assert set(options) == {"shape", "seed_of_values"}
        return fn.random.uniform(range=[low, low + 1], shape=options["shape"])

    pipe = pipeline(4.0, shape=[5], seed_of_values=3, batch_size=2, seed=7)
    (batch,) = pipe.run()
    assert (pipe.batch_size, pipe.seed, batch.shape()) == (2, 7, [(5,), (5,)])
    assert batch.as_torch().min() >= 4


def test_an_unknown_argument_suggests_the_right_one():
    with pytest.raises(TypeError, match="did you mean `batch_size`"):
        pipeline_def(batchsize=3)
    with pytest.raises(TypeError, match="did you mean `num_threads`"):
        pipeline_def(noise)(num_thread=3)


def test_do_not_convert_returns_the_function():
    def function():
        return None

    assert do_not_convert(function) is function


@for_each(
    ("made", "cls", "text"),
    [
        (lambda: None, TypeError, "no outputs"),
        (lambda: (), TypeError, "no outputs"),
        (lambda: [[noise()], noise()], TypeError, "output 0 is a list"),
        (lambda: "text", TypeError, "output 0 is a str"),
        (lambda: {"a": {1, 2}}, TypeError, "output 0 is a set"),
        (lambda: (1, [[noise()]]), TypeError, "output 1 is a list.*put \\* before"),
        (lambda: (noise(), [[1], [2, 3]]), ValueError, "rows of one length"),
    ],
)
def test_outputs_are_data_nodes(made, cls, text):
    with pytest.raises(cls, match=f"(?s){text}"):
        pipeline_def(made)(batch_size=2, num_threads=1)


def test_a_definition_without_outputs_runs_for_its_sinks():
    seen = []

    @pipeline_def(batch_size=2, num_threads=1, prefetch_queue_depth=1)
    def pipeline():
        fn.python_function(noise(), function=seen.append, num_outputs=0)

    pipe = pipeline()
    assert pipe.run() == ()
    assert len(seen) == 2
    assert pipe.num_outputs == 0


def test_a_pipeline_without_outputs_is_serialized():
    @pipeline_def(batch_size=2, num_threads=1)
    def pipeline():
        fn.copy(noise(), preserve=True, name="kept")

    assert Pipeline.deserialize(pipeline().serialize()).run() == ()


# -- the constructor


def test_properties_return_the_arguments():
    pipe = Pipeline(
        8,
        3,
        None,
        7,
        True,
        {"cpu_size": 3, "gpu_size": 2},
        set_affinity=True,
        max_streams=4,
        default_cuda_stream_priority=-1,
        py_num_workers=2,
        py_start_method="spawn",
        stream_policy=StreamPolicy.SINGLE,
        concurrency=OperatorConcurrency.FULL,
        exec_dynamic=True,
    )
    assert (pipe.batch_size, pipe.max_batch_size, pipe.num_threads) == (8, 8, 3)
    assert (pipe.device_id, pipe.seed) == (None, 7)
    assert pipe.prefetch_queue_depth == {"cpu_size": 3, "gpu_size": 2}
    assert (pipe.cpu_queue_size, pipe.gpu_queue_size, pipe.exec_separated) == (3, 2, True)
    assert (pipe.exec_pipelined, pipe.exec_async, pipe.exec_dynamic) == (True, True, True)
    assert (pipe.set_affinity, pipe.max_streams, pipe.default_cuda_stream_priority) == (True, 4, -1)
    assert (pipe.py_num_workers, pipe.py_start_method) == (2, "spawn")
    assert (pipe.enable_memory_stats, pipe.is_restored_from_checkpoint) == (False, False)
    assert pipe.stream_policy is StreamPolicy.SINGLE
    assert pipe.concurrency is OperatorConcurrency.FULL


def test_defaults_are_those_of_dali_except_the_start_method():
    pipe = Pipeline()
    assert (pipe.batch_size, pipe.num_threads, pipe.device_id, pipe.seed) == (-1, -1, None, None)
    assert (pipe.prefetch_queue_depth, pipe.cpu_queue_size, pipe.exec_separated) == (2, 2, False)
    assert (pipe.exec_pipelined, pipe.exec_async, pipe.set_affinity) == (True, True, False)
    assert (pipe.max_streams, pipe.py_num_workers, pipe.py_start_method) == (-1, 1, "forkserver")
    assert Pipeline(seed=-1).seed is None
    assert Pipeline(device_id=0).device_id == 0
    with pytest.raises(AttributeError):
        pipe.batch_size = 3


@for_each(
    ("arguments", "cls"),
    [
        ({"batch_size": 0}, ValueError),
        ({"batch_size": -3}, ValueError),
        ({"batch_size": 2.5}, TypeError),
        ({"batch_size": "2"}, TypeError),
        ({"num_threads": 0}, ValueError),
        ({"device_id": "cuda"}, TypeError),
        ({"seed": 1.5}, TypeError),
        ({"seed": 2**70}, ValueError),
        ({"prefetch_queue_depth": 0}, ValueError),
        ({"prefetch_queue_depth": "x"}, TypeError),
        ({"prefetch_queue_depth": {"cpu_size": 1}}, ValueError),
        ({"prefetch_queue_depth": {"cpu_size": 0, "gpu_size": 1}}, ValueError),
        (
            {"prefetch_queue_depth": {"cpu_size": 1, "gpu_size": 1}, "exec_async": False},
            ValueError,
        ),
        ({"bytes_per_sample": -1}, ValueError),
        ({"py_start_method": "thread"}, ValueError),
        ({"py_num_workers": -1}, ValueError),
        ({"output_ndim": -1}, ValueError),
        ({"output_dtype": "color"}, TypeError),
        ({"output_layout": 3}, TypeError),
        ({"checkpoint": b"x"}, RuntimeError),
        ({"checkpoint": b"x", "enable_checkpointing": True}, ValueError),
        ({"checkpoint": 3, "enable_checkpointing": True}, TypeError),
        ({"py_callback_pickler": len}, TypeError),
    ],
    ids=lambda v: "-".join(v) if isinstance(v, dict) else "",
)
def test_wrong_arguments_are_errors_that_name_them(arguments, cls):
    with pytest.raises(cls, match=next(iter(arguments))) as caught:
        Pipeline(**arguments)
    assert isinstance(caught.value, errors.TorchdaliError)


@pytest.mark.parametrize("missing", ["batch_size", "num_threads"])
def test_missing_arguments_are_errors_of_the_build(missing):
    given = {"batch_size": 2, "num_threads": 1}
    del given[missing]
    pipe = pipeline_def(noise)(**given)
    with pytest.raises(ValueError, match=f"`{missing}` is missing"):
        pipe.build()


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ({"output_dtype": types.UINT8}, "`output_dtype` of output 0 is UINT8, got FLOAT"),
        ({"output_dtype": [None, types.UINT8]}, "`output_dtype` of output 1"),
        ({"output_ndim": 2}, "`output_ndim` of output 0 is 2, got 1"),
        ({"output_layout": "X"}, "`output_layout` of output 0 is 'X', got ''"),
    ],
)
def test_declared_outputs_are_checked_when_the_pipeline_runs(declared, text):
    pipe = pipeline_def(lambda: (noise(), noise()))(batch_size=2, num_threads=1, **declared)
    pipe.build()
    with pytest.raises(RuntimeError, match=text):
        pipe.run()


def test_matching_declared_outputs_pass():
    pipe = pipeline_def(noise)(
        batch_size=2, num_threads=1, output_dtype=types.FLOAT, output_ndim=[1], output_layout=""
    )
    assert pipe.output_dtype() == [types.FLOAT]
    assert pipe.output_ndim() == [1]
    for _ in range(4):
        assert len(pipe.run()) == 1
    anything = pipeline_def(noise)(batch_size=2, num_threads=1, output_dtype=types.NO_TYPE)
    assert anything.output_dtype() == [None]
    assert len(anything.run()) == 1


def test_the_number_of_declarations_must_match_the_outputs():
    pipe = pipeline_def(noise)(batch_size=2, num_threads=1, output_ndim=[1, 1])
    with pytest.raises(RuntimeError, match="2 entries, the pipeline has 1"):
        pipe.build()
