# SPDX-License-Identifier: Apache-2.0
"""Python functions with the rest of a pipeline: conditions, debug mode, checkpoints, documents,
memory statistics, pictures, sinks, iterators, epochs.
"""

from __future__ import annotations

import functions_by_name as by_name
import numpy as np
import pytest
import torch

import torchdali
from torchdali import Pipeline, errors, fn, ops, pipeline_def, python_function_plugin, types
from torchdali.plugin import pytorch

SIZE = 4
ARGS = {"batch_size": SIZE, "num_threads": 2, "device_id": None, "seed": 3}


def numbers(batches=None):
    """Returns a source of samples that count from 0, endlessly or for a number of batches."""

    def batch(info):
        if batches is not None and info.iteration == batches:
            raise StopIteration
        start = info.iteration * SIZE
        return [np.array([start + i], np.int64) for i in range(SIZE)]

    return fn.external_source(batch, batch=True, batch_info=True)


def values(pipe, runs=1):
    return np.concatenate([pipe.run()[0].as_array().ravel() for _ in range(runs)]).tolist()


# -- names


def test_the_plugin_has_dalis_names():
    assert pytorch.fn.torch_python_function is fn.torch_python_function
    assert pytorch.TorchPythonFunction is ops.TorchPythonFunction
    for name in ("PythonFunction", "DLTensorPythonFunction", "TorchPythonFunction"):
        assert issubclass(getattr(ops, name), ops.PythonFunctionBase)


def test_classes_take_the_function_by_position():
    with Pipeline(**ARGS) as pipe:
        twice = ops.PythonFunction(by_name.doubled, 1, "cpu", batch_processing=False)
        assert twice.device == "cpu"
        made = pytorch.TorchPythonFunction(lambda x: x + 1)(twice(numbers()))
        pipe.set_outputs(made)
    assert values(pipe) == [1, 3, 5, 7]


def test_the_stream_on_the_cpu_is_the_default_stream():
    seen = []

    def function():
        seen.append(python_function_plugin.current_dali_stream())
        seen.append(ops.PythonFunction.current_stream().ptr)
        return np.zeros(1)

    with Pipeline(**ARGS) as pipe:
        pipe.set_outputs(fn.python_function(function=function))
    pipe.run()
    assert set(seen) == {0}
    assert isinstance(ops.PythonFunction.current_stream(), types.CUDAStream)


def test_capsules_convert_to_arrays_and_back():
    array = np.arange(6.0).reshape(2, 3)
    capsule = python_function_plugin.ArrayToDLTensor(array)
    back = python_function_plugin.DLTensorToArray(capsule)
    assert np.shares_memory(array, back)
    np.testing.assert_array_equal(array, back)


# -- conditions


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("workers", [{}, {"workers": "threads"}])
def test_a_function_in_a_branch_gets_the_samples_of_the_branch(debug, workers):
    seen: list[list[int]] = [[], []]

    def keep(where):
        return lambda x: (seen[where].append(int(x[0])), x * (10 if where else -1))[1]

    @pipeline_def(enable_conditionals=True, debug=debug, prefetch_queue_depth=1, **ARGS)
    def definition():
        x = numbers()
        if (x[0] % 2) == 0:
            y = fn.python_function(x, function=keep(0), **workers)
        else:
            y = fn.python_function(x, function=keep(1), **workers)
        return y

    pipe = definition()
    assert values(pipe, 2) == [0, 10, -2, 30, -4, 50, -6, 70]
    assert sorted(seen[0][:4]) == [0, 2, 4, 6]
    assert sorted(seen[1][:4]) == [1, 3, 5, 7]


@pytest.mark.parametrize("debug", [False, True])
def test_a_batch_in_a_branch_has_the_samples_of_the_branch(debug):
    sizes = []

    def function(xs):
        sizes.append(len(xs))
        return [x + 100 for x in xs]

    @pipeline_def(enable_conditionals=True, debug=debug, **ARGS)
    def definition():
        x = numbers()
        y = fn.python_function(x, function=lambda x: x[0] == 2)
        if y:
            x = fn.python_function(x, function=function, batch_processing=True)
        return x

    assert values(definition()) == [0, 1, 102, 3]
    assert sizes == [1]  # not called if no sample takes the branch


def test_the_output_of_a_function_may_be_a_condition():
    @pipeline_def(enable_conditionals=True, **ARGS)
    def definition():
        x = numbers()
        if fn.python_function(x, function=lambda x: np.array(x[0] > 1)):
            x = fn.python_function(x + 1, function=by_name.doubled)
        return fn.python_function(x, function=lambda x: x + 1)

    assert values(definition()) == [1, 2, 7, 9]


# -- debug mode


@pytest.mark.parametrize("operator", ["python_function", "torch_python_function"])
@pytest.mark.parametrize("batch", [False, True])
def test_debug_mode_gives_the_same_results(operator, batch):
    def function(x):
        return [y * 3 for y in x] if batch else x * 3

    @pipeline_def(**ARGS)
    def definition():
        return getattr(fn, operator)(numbers(), function=function, batch_processing=batch)

    assert values(definition(), 2) == values(definition(debug=True), 2)


def test_debug_mode_calls_the_function_of_this_run():
    @pipeline_def(debug=True, **ARGS)
    def definition():
        runs.append(1)
        so_far = len(runs)
        return fn.python_function(numbers(), function=lambda x: x + 1000 * so_far)

    runs: list[int] = []
    assert values(definition(), 2) == [1000, 1001, 1002, 1003, 2004, 2005, 2006, 2007]


def test_another_function_in_debug_mode_is_an_error():
    functions = [by_name.doubled, by_name.noisy]

    @pipeline_def(debug=True, **ARGS)
    def definition():
        return fn.python_function(numbers(), function=functions.pop())

    pipe = definition()
    pipe.run()
    with pytest.raises(errors.PipelineError, match="`function` unexpectedly changed from"):
        pipe.run()


def test_an_exception_in_debug_mode_passes_through_the_definition():
    def function(_x):
        raise ValueError("here")

    seen = []

    @pipeline_def(debug=True, **ARGS)
    def definition():
        try:
            return fn.python_function(numbers(), function=function)
        except errors.PipelineError as error:
            seen.append(type(error.__cause__))
            raise

    with pytest.raises(errors.PipelineError, match="raised ValueError: here"):
        definition().run()
    assert seen == [ValueError]


# -- documents and checkpoints


def _named(**args):
    with Pipeline(**ARGS) as pipe:
        x = fn.python_function(numbers_by_name(), function=by_name.doubled, **args)
        pipe.set_outputs(fn.python_function(x, function=by_name.noisy, workers="threads"))
    return pipe


def numbers_by_name():
    return fn.random.uniform(range=(0, 9))


def test_functions_are_serialized_by_name():
    pipe = _named(output_layouts=[""], seed=5)
    data = pipe.serialize()
    assert b'"functions_by_name:doubled"' in data
    again = Pipeline.deserialize(data, allow="functions_by_name")
    assert again.serialize() == data
    assert values(pipe, 3) == values(again, 3)
    some = Pipeline.deserialize(data, allow=[by_name.doubled, "functions_by_name:noisy"])
    assert values(some) == values(Pipeline.deserialize(data, allow=True))


def test_a_function_that_is_not_allowed_is_an_error():
    data = _named().serialize()
    for allow in ((), "os", by_name.noisy):
        with pytest.raises(errors.PipelineError, match="`functions_by_name:doubled`, which was no"):
            Pipeline.deserialize(data, allow=allow)
    with pytest.raises(errors.PipelineError, match=r"fn\.python_function: .*something else|no `"):
        Pipeline.deserialize(data.replace(b"by_name:doubled", b"by_name:np.sum"), allow=True)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x: x, "is a lambda"),
        (by_name.Scale(3), r"is an object \(Scale\)"),
        (by_name.Scale(3).__call__, "is `Scale.__call__` of an object"),
    ],
)
def test_a_function_without_a_name_cannot_be_serialized(function, why):
    with Pipeline(**ARGS) as pipe:
        pipe.set_outputs(fn.python_function(numbers_by_name(), function=function))
    with pytest.raises(errors.UnsupportedError, match=f"`function` {why}") as caught:
        pipe.serialize()
    assert "feed_input" not in str(caught.value)


@pytest.mark.parametrize("args", [{}, {"workers": "threads"}, {"batch_processing": True}])
def test_a_checkpoint_with_functions_in_flight_resumes(args):
    def function(x):
        return [y + 1 for y in x] if isinstance(x, list) else x + 1

    def make(checkpoint=None):
        options = {"enable_checkpointing": True, "prefetch_queue_depth": 3}
        with Pipeline(**ARGS, **options, checkpoint=checkpoint) as pipe:
            x = fn.random.uniform(shape=[2])
            pipe.set_outputs(fn.python_function(x, function=function, **args))
        return pipe

    pipe = make()
    values(pipe, 3)
    checkpoint = pipe.checkpoint()
    assert values(make(checkpoint), 3) == values(pipe, 3)


# -- statistics, pictures, sinks


def test_memory_statistics_include_functions():
    with Pipeline(**ARGS, enable_memory_stats=True) as pipe:
        x = fn.python_function(
            numbers(), function=lambda x: (np.zeros((5, 2)).T, x), num_outputs=2, name="mine"
        )
        pipe.set_outputs(*x)
    pipe.run()
    statistics = pipe.executor_statistics()["CPU_mine"]
    assert statistics["real_memory_size"] == [SIZE * 80, SIZE * 8]


def test_drawings_show_functions(tmp_path):
    with Pipeline(**ARGS) as pipe:
        pipe.set_outputs(fn.python_function(numbers(), function=by_name.doubled, name="mine"))
    pipe.build()
    pipe.save_graph_to_dot_file(str(tmp_path / "graph.dot"), show_tensors=True)
    text = (tmp_path / "graph.dot").read_text()
    assert '"mine" [label="mine' in text


def test_a_sink_runs_an_unused_function():
    seen = []
    with Pipeline(**ARGS, prefetch_queue_depth=1) as pipe:
        x = numbers()
        shown = fn.python_function(x, function=lambda x: (seen.append(int(x[0])), x)[1])
        pipe.add_sink(shown)
        pipe.set_outputs(x)
    pipe.run()
    assert seen[:SIZE] == [0, 1, 2, 3]


def test_equal_functions_are_not_merged():
    calls = []

    def function(x):
        calls.append(1)
        return x

    with Pipeline(**ARGS, prefetch_queue_depth=1) as pipe:
        x = numbers()
        pipe.set_outputs(
            fn.python_function(x, function=function), fn.python_function(x, function=function)
        )
    pipe.run()
    pipe.close()
    assert len(calls) % (2 * SIZE) == 0


# -- iterators and epochs


def test_an_iterator_returns_outputs_of_functions():
    with Pipeline(**ARGS) as pipe:
        x = numbers(3)
        pipe.set_outputs(x, fn.torch_python_function(x, function=lambda x: torch.sin(x)))
    loader = pytorch.DALIGenericIterator(pipe, ["x", "sin"], auto_reset=True)
    for _ in range(2):
        batches = [batch[0] for batch in loader]
        assert len(batches) == 3
        for batch in batches:
            torch.testing.assert_close(torch.sin(batch["x"]), batch["sin"])


def test_reset_starts_the_next_epoch():
    calls = []
    with Pipeline(**ARGS) as pipe:
        x = fn.python_function(numbers(2), function=lambda x: (calls.append(int(x[0])), x)[1])
        pipe.set_outputs(x)
    for _ in range(2):
        assert values(pipe, 2) == list(range(8))
        with pytest.raises(StopIteration):
            pipe.run()
        pipe.reset()
    pipe.close()
    assert calls[:16] == list(range(8)) * 2


def test_readers_name_the_file_that_a_function_failed_on(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("1.bin", "2.bin"):
        (tmp_path / "a" / name).write_bytes(name.encode())

    def function(x):
        assert bytes(x) != b"2.bin", "the second"
        return x

    with Pipeline(2, 2, None) as pipe:
        data, _ = fn.readers.file(file_root=str(tmp_path), file_filters="*.bin")
        pipe.set_outputs(fn.python_function(data, function=function))
    with pytest.raises(errors.PipelineError, match="the second") as caught:
        pipe.run()
    assert caught.value.source.endswith("2.bin")


def test_a_function_may_be_torch_compiled_or_a_module():
    module = torch.nn.utils.skip_init(torch.nn.Conv2d, 3, 4, 3)
    for parameter in module.parameters():
        torch.nn.init.constant_(parameter, 0.5)

    def function(x):
        seen.append(torch.is_grad_enabled())
        return module(x)

    seen: list[bool] = []
    with Pipeline(**ARGS) as pipe:
        x = fn.random.uniform(shape=[3, 8, 8])
        pipe.set_outputs(x, fn.torch_python_function(x, function=function, output_layouts="CHW"))
    x, y = pipe.run()
    assert set(seen) == {False}
    assert y.layout() == "CHW"
    with torch.no_grad():
        torch.testing.assert_close(module(x.as_torch()), y.as_torch(), rtol=1e-4, atol=1e-5)
    assert torchdali.current_sample  # public
