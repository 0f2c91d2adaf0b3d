# SPDX-License-Identifier: Apache-2.0
"""Python functions: exceptions, wrong results and wrong arguments name function and line."""

from __future__ import annotations

import traceback

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.functions import SAMPLES, pipeline_of

from torchdali import Pipeline, errors, fn

ALL = ["python_function", "dl_tensor_python_function", "torch_python_function"]


def as_array(value):
    return np.asarray(value if isinstance(value, np.ndarray) else torch.from_dlpack(value))


def failing_third(x):
    if as_array(x)[0, 0] == 2:
        raise ValueError("the third")
    return x


@pytest.mark.parametrize("operator", ALL)
def test_an_exception_has_its_cause_traceback_and_both_lines(operator):
    def function(x):
        x = as_array(x)
        if x[0, 0] == 2:
            raise KeyError("third")
        return x

    with pytest.raises(errors.PipelineError) as caught:
        pipeline_of(function, operator).run()
    error = caught.value
    lines = str(error).splitlines()
    assert lines[0].startswith(f"fn.{operator}: function `")
    assert "function` (" in lines[0]
    assert "raised KeyError: 'third' at " in lines[0]
    assert "test_function_errors.py:" in lines[0]
    assert lines[1] == "  sample 2 of 3"
    assert "getattr(fn, operator)(x, function=function" in lines[3]
    assert error.sample == 2
    assert isinstance(error.__cause__, KeyError)
    last = traceback.extract_tb(error.__cause__.__traceback__)[-1]
    assert last.line == 'raise KeyError("third")'


def test_an_exception_in_a_batch_names_no_sample():
    def function(xs):
        raise ValueError(f"got {len(xs)}")

    with pytest.raises(errors.PipelineError, match="raised ValueError: got 3 at") as caught:
        pipeline_of(function, batch_processing=True).run()
    assert caught.value.sample is None


def test_threads_name_the_first_sample_that_fails():
    pipe = pipeline_of(failing_third, workers="threads")
    with pytest.raises(errors.PipelineError, match="the third") as caught:
        pipe.run()
    assert caught.value.sample == 2
    assert isinstance(caught.value.__cause__, ValueError)


class Callable:
    def __call__(self, x):
        raise ValueError("from an object")

    def method(self, x):
        raise ValueError("from a method")


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (Callable(), "Callable"),
        (Callable().method, "Callable.method"),
        (lambda x: x.nothing, "<lambda>"),
        (__import__("functools").partial(failing_third), "failing_third"),
        (np.linalg.inv, "inv"),
    ],
)
def test_errors_name_any_kind_of_callable(function, name):
    with pytest.raises(errors.PipelineError, match=f"function `.*{name}`"):
        pipeline_of(function).run()


@pytest.mark.parametrize("error", [StopIteration, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_stop_iteration_and_system_exit_of_a_function_are_errors(error):
    def function(_x):
        raise error

    with pytest.raises(errors.PipelineError, match=f"raised {error.__name__}") as caught:
        pipeline_of(function).run()
    assert isinstance(caught.value.__cause__, error)


class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def test_an_error_inside_a_library_names_the_line_of_the_user():
    def function(x):
        return torch.nn.functional.conv2d(torch.from_numpy(x), torch.zeros(1, 1, 3, 3))

    with pytest.raises(errors.PipelineError) as caught:
        pipeline_of(function).run()
    raised = str(caught.value).splitlines()[0].partition(" raised ")[2]
    line = traceback.extract_tb(caught.value.__cause__.__traceback__)[0].lineno
    assert raised.endswith(f"test_function_errors.py:{line}")


def test_an_exception_without_a_message_is_named_by_its_type():
    def function(_x):
        raise Silent

    with pytest.raises(errors.PipelineError, match="raised .*Silent"):
        pipeline_of(function).run()


RESULTS = {
    "None": (lambda _x: None, {}, TypeError, "returned None, but `num_outputs` is 1"),
    "a number": (lambda _x: 3, {}, TypeError, r"output 0 is no array \(int\)"),
    "a list": (lambda x: [x], {}, TypeError, r"output 0 is no array \(list\)"),
    "a node": (lambda x: fn.copy(x), {}, TypeError, r"output 0 is no array \(DataNode\)"),
    "objects": (lambda _x: np.array([None]), {}, TypeError, "no element type"),
    "text": (lambda _x: np.array("a"), {}, TypeError, "no element type"),
    "two": (lambda x: (x, x), {}, ValueError, "returned 2 outputs, `num_outputs` is 1"),
    "one": (lambda x: (x,), {"num_outputs": 2}, ValueError, "returned 1 outputs, .* is 2"),
    "no tuple": (lambda x: [x, x], {"num_outputs": 2}, TypeError, "must return a tuple, got list"),
    "too much": (lambda x: x, {"num_outputs": 0}, TypeError, "but `num_outputs` is 0"),
    "second": (lambda x: (x, "b"), {"num_outputs": 2}, TypeError, r"output 1 is no array \(str\)"),
    "33 axes": (lambda _x: np.zeros((1,) * 33), {}, (TypeError, ValueError), "dim"),
    "layout": (lambda x: x, {"output_layouts": "HWC"}, errors.LayoutError, "does not fit"),
    "ndim": (lambda x: x[0] if x[0, 0] else x, {}, RuntimeError, "one type and number of dim"),
    "dtype": (lambda x: x * (1.5 if x[0, 0] else 1), {}, RuntimeError, "one type and number"),
}


@for_each("name", RESULTS)
def test_a_wrong_result_is_an_error(name):
    function, args, kind, message = RESULTS[name]
    with pytest.raises(kind, match=message) as caught:
        pipeline_of(function, **args).run()
    error = caught.value
    assert isinstance(error, errors.TorchdaliError)
    assert error.operator == "fn.python_function"
    assert error.sample is not None
    assert "defined at" in str(error)


BATCHES = {
    "short": (lambda xs: xs[:2], ValueError, "returned 2 samples as output 0, the batch has 3"),
    "long": (lambda xs: xs * 2, ValueError, "returned 6 samples as output 0"),
    "tuple": (tuple, ValueError, "returned 3 outputs, `num_outputs` is 1"),
    "array": (lambda _xs: np.zeros(2), ValueError, "returned 2 samples as output 0"),
    "scalar": (lambda _xs: np.float32(1), ValueError, "returned a scalar as output 0"),
    "item": (lambda xs: [xs[0], "b", xs[0]], TypeError, r"output 0 is no array \(str\)"),
    "ndim": (lambda xs: [xs[0], xs[0][0], xs[0]], RuntimeError, "one type and number of dim"),
}


@for_each("name", BATCHES)
def test_a_wrong_batch_is_an_error(name):
    function, kind, message = BATCHES[name]
    with pytest.raises(kind, match=message) as caught:
        pipeline_of(function, batch_processing=True).run()
    assert caught.value.sample == (1 if name in ("item", "ndim") else None)


@pytest.mark.parametrize("batch", [False, True])
def test_a_tensor_on_another_device_is_an_error(batch):
    def function(_x):
        tensor = torch.zeros(2, device="meta")
        return [tensor] * 3 if batch else tensor

    pipe = pipeline_of(function, "torch_python_function", batch_processing=batch)
    with pytest.raises(errors.UnsupportedError, match="a tensor on device meta was returned"):
        pipe.run()


def test_a_dlpack_object_on_another_device_is_an_error():
    class Elsewhere:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **_):
            raise BufferError("not here")

    with pytest.raises(errors.TorchdaliError, match="output 0"):
        pipeline_of(lambda _x: Elsewhere()).run()


def test_a_used_capsule_is_an_error():
    def function(capsule):
        torch.from_dlpack(capsule)
        return capsule

    with pytest.raises(TypeError, match="taken already"):
        pipeline_of(function, "dl_tensor_python_function").run()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"function": 3}, "takes a function"),
        ({"num_outputs": -1}, "fn.python_function: `num_outputs` must not be negative"),
        ({"num_outputs": 1, "output_layouts": ["HW", "HW"]}, "2 layouts for 1"),
        ({"workers": "fibres"}, "workers"),
        ({"workers": "threads", "seed_generators": True}, "do not go together"),
    ],
)
def test_wrong_arguments_are_errors_of_the_definition(args, message):
    with pytest.raises(errors.TorchdaliError, match=message):
        pipeline_of(**{"function": lambda x: x, **args}).build()


def writing(operator, batch):
    def function(x):
        samples = x if batch else [x]
        for sample in samples:
            array = as_array(sample) if "torch" not in operator else sample
            if array[0, 0] == 1:
                array[0, 1] = 77
        return np.zeros((3, 2)) if batch else np.zeros(2)

    return function


@pytest.mark.parametrize("operator", ALL)
@pytest.mark.parametrize(
    "args", [{}, {"batch_processing": True}, {"workers": "threads", "batch_processing": False}]
)
def test_writing_to_an_input_is_an_error_with_checks_enabled(operator, args, monkeypatch):
    monkeypatch.setenv("TORCHDALI_CHECK_FUNCTIONS", "1")
    function = writing(operator, args.get("batch_processing", False))
    with Pipeline(3, 2, None) as pipe:
        x = fn.external_source(lambda: [s.copy() for s in SAMPLES], batch=True)
        args = {"batch_processing": False, **args}
        pipe.set_outputs(getattr(fn, operator)(fn.copy(x), function=function, **args))
    with pytest.raises(errors.PipelineError, match="modified its input 0") as caught:
        pipe.run()
    assert caught.value.sample == 1
    assert "copy it before writing to it" in str(caught.value)


def test_a_function_that_copies_its_inputs_passes_the_check(monkeypatch):
    monkeypatch.setenv("TORCHDALI_CHECK_FUNCTIONS", "1")

    def function(x):
        x = x.copy()
        x += 1
        return x

    np.testing.assert_array_equal(pipeline_of(function).run()[0].as_array(), np.add(SAMPLES, 1))
