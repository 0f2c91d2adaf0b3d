# SPDX-License-Identifier: Apache-2.0
"""numba_function: errors of definitions, of compilation, and of functions that fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import programs
from helpers.cases import for_each
from helpers.numba_pipelines import (
    BATCH,
    modes,
    pipeline,
    run,
    same_shape,
    scale,
    scale_batch,
)

from torchdali import types
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    PipelineError,
)
from torchdali.plugin.numba.experimental import NumbaFunction

pytestmark = pytest.mark.slow

numba = pytest.importorskip("numba")

FILE = Path(__file__).name


def line_of(text: str) -> int:
    """Returns the only line of this file that is `text`."""
    (found,) = [
        number
        for number, line in enumerate(Path(__file__).read_text().splitlines(), 1)
        if line.strip() == text
    ]
    return found


def test_an_error_of_numba_has_the_line_of_the_definition():
    def wrong(out, data):
        out[:] = data.no_such_method()

    with pytest.raises(ArgumentError) as caught:
        pipeline(wrong)
    text = str(caught.value)
    line = line_of("out[:] = data.no_such_method()")
    assert f"`run_fn` `{wrong.__qualname__}` (" in text
    assert f"{FILE}:{line - 1})" in text
    assert "Unknown attribute 'no_such_method'" in text
    assert f'{FILE}", line {line}:' in text
    assert "numba_function(data, run_fn=run_fn" in text  # the user's call
    assert isinstance(caught.value.__cause__, numba.core.errors.TypingError)


def test_a_setup_fn_that_does_not_compile_is_an_error():
    def wrong(outs, ins):
        outs[0][0] = "text"

    with pytest.raises(ArgumentError, match="`setup_fn` `.*wrong` .* cannot be compiled by Numba"):
        pipeline(scale, setup_fn=wrong)


@pytest.mark.parametrize("batch", [False, True])
def test_writing_to_inputs_is_an_error(batch):
    def in_place(out, data):
        data[0] = 1

    def batch_in_place(out, data):
        data[0][0] = 1

    with pytest.raises(ArgumentError, match=r"(?s)readonly.*To fix it: inputs are read-only"):
        pipeline(batch_in_place if batch else in_place, batch_processing=batch)


def test_writing_to_shapes_of_inputs_is_an_error():
    def wrong(outs, ins):
        ins[0][0][0] = 1

    with pytest.raises(ArgumentError, match="readonly"):
        pipeline(scale, setup_fn=wrong)


WRONG_ARGUMENTS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"run_fn": 3}, ArgumentTypeError, "`run_fn` takes a Python function .* got int"),
    ({"setup_fn": "x"}, ArgumentTypeError, "`setup_fn` takes a Python function .* got str"),
    ({"run_fn": len}, ArgumentTypeError, "got builtin_function_or_method"),
    ({"in_types": "nothing"}, ArgumentTypeError, "`in_types` takes element types"),
    ({"in_types": types.RGB}, ArgumentTypeError, "`in_types` takes element types"),
    ({"out_types": types.STRING}, ArgumentTypeError, "`out_types` takes element types"),
    ({"out_types": types.FLOAT16}, ArgumentError, "FLOAT16, which Numba does not have"),
    ({"ins_ndim": 1.5}, ArgumentTypeError, "`ins_ndim` takes whole numbers, got 1.5"),
    ({"ins_ndim": True}, ArgumentTypeError, "`ins_ndim` takes whole numbers"),
    ({"ins_ndim": -1}, ArgumentError, "0 to 16 dimensions"),
    ({"outs_ndim": 17}, ArgumentError, "0 to 16 dimensions"),
    ({"ins_ndim": [1, 1]}, ArgumentError, "`in_types` has 1 entries and `ins_ndim` 2"),
    ({"out_types": [], "outs_ndim": []}, ArgumentError, "takes 1 to 6 outputs, got 0"),
    ({"in_types": [], "ins_ndim": []}, ArgumentError, "takes 1 to 6 inputs, got 0"),
    ({"in_types": [np.uint8] * 7, "ins_ndim": [1] * 7}, ArgumentError, "1 to 6 inputs, got 7"),
    ({"in_types": [np.int32] * 2, "ins_ndim": [1] * 2, "setup_fn": same_shape,
      "run_fn": lambda o, a, b: None}, ArgumentError, "has 2 entries, got 1 inputs"),
    ({"outs_ndim": 2}, ArgumentError, "without `setup_fn` each output has the shape"),
    ({"blocks": [1, 2]}, ArgumentError, "`blocks` takes 3 positive numbers"),
    ({"threads_per_block": [1, 2, 0]}, ArgumentError, "`threads_per_block` takes 3 positive"),
    ({"device": "gpu"}, ArgumentError, "needs `blocks` and `threads_per_block`"),
    ({"device": "tpu"}, ArgumentError, "`device` takes"),
]  # fmt: skip


@for_each(
    ("change", "error", "text"), WRONG_ARGUMENTS, ids=[str(i) for i in range(len(WRONG_ARGUMENTS))]
)
def test_wrong_arguments_are_errors_that_name_them(change, error, text):
    with pytest.raises(error, match=text) as caught:
        pipeline(**{"run_fn": scale, **change})
    assert str(caught.value).startswith("plugin.numba.fn.experimental.numba_function: ")
    assert "numba_pipelines.py:" in str(caught.value)


def test_unknown_arguments_are_errors_that_name_them():
    with pytest.raises(ArgumentTypeError, match="unexpected argument `sed`"):
        NumbaFunction(scale, types.INT32, types.INT32, 1, 1, sed=3)
    operator = NumbaFunction(scale, types.INT32, types.INT32, 1, 1)
    with pytest.raises(ArgumentTypeError, match="unexpected argument `names`"):
        operator(names="x")


def test_without_numba_the_error_says_what_to_install():
    program = """
import sys
sys.modules["numba"] = None
import torchdali.plugin.numba as plugin
from torchdali import pipeline_def, types
from torchdali.errors import UnsupportedError

@pipeline_def(batch_size=1, num_threads=1)
def definition():
    return plugin.fn.experimental.numba_function(
        [1.0], run_fn=lambda o, i: None, in_types=types.FLOAT, out_types=types.FLOAT,
        ins_ndim=1, outs_ndim=1)
try:
    definition()
except UnsupportedError as error:
    assert "Numba" in str(error), error
else:
    raise AssertionError
"""
    done = programs.run("-c", program)
    assert done.returncode == 0, done.stderr


def test_importing_the_plugin_does_not_import_numba():
    program = "import sys, torchdali.plugin.numba; assert 'numba' not in sys.modules"
    done = programs.run("-c", program)
    assert done.returncode == 0, done.stderr


def raise_static(out, data):
    if data[0] == 20:
        raise ValueError("twenty")
    out[:] = data * 2


def raise_dynamic(out, data):
    if data[0] >= 20:
        raise KeyError("not this one", data[0])
    out[:] = data * 2


def divide_by_zero(out, data):
    out[:] = 100 // (data[0] - 20)


def stop(out, data):
    if data[0] == 20:
        raise StopIteration
    out[:] = data * 2


def deeper(number):
    if number == 20:
        raise OverflowError(f"got {number}")
    return number


def raise_deeper(out, data):
    out[:] = helper(data[0])


helper = numba.njit(deeper)


RAISES = {
    raise_static: ("ValueError: twenty", 'raise ValueError("twenty")'),
    raise_dynamic: ("KeyError: ('not this one', 20)", 'raise KeyError("not this one", data[0])'),
    divide_by_zero: ("ZeroDivisionError", None),
    stop: ("StopIteration", None),
    raise_deeper: ("OverflowError: got 20", 'raise OverflowError(f"got {number}")'),
}


@pytest.mark.parametrize("setup", [None, same_shape])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("function", RAISES, ids=lambda f: f.__name__)
def test_an_exception_names_function_line_and_sample(function, threads, setup):
    text, line = RAISES[function]
    pipe = pipeline(function, threads=threads, setup_fn=setup)
    for _ in range(2):  # the pipeline goes on
        with pytest.raises(PipelineError) as caught:
            pipe.run()
        message = str(caught.value)
        code = function.__code__
        assert f"`{function.__name__}` (" in message
        assert f"{FILE}:{code.co_firstlineno}) raised {text}" in message
        if line is not None:
            assert f"{FILE}:{line_of(line)}" in message
        assert "sample 2 of 4" in message
        assert caught.value.sample == 2


def test_an_exception_costs_one_sample_with_on_error():
    pipe = pipeline(raise_static, on_error="skip")
    assert [sample[0] for sample in pipe.run()[0].as_torch().tolist()] == [0, 20, 60]
    assert [error.sample for error in pipe.errors] == [2]


def test_exceptions_of_batch_and_setup_functions_name_no_sample():
    def fails(outs, ins):
        if len(ins) == 4:
            raise ValueError("four samples")

    def setup_fails(outs, ins):
        if len(ins[0]) == 4:
            raise ValueError("four shapes")

    for mode, text in (
        ({"run_fn": fails, "batch_processing": True}, "fails` .* raised ValueError: four samples"),
        ({"run_fn": scale, "setup_fn": setup_fails}, "setup_fails` .* raised .*: four shapes"),
    ):
        with pytest.raises(PipelineError, match=text) as caught:
            run(**mode)
        assert caught.value.sample is None


def test_exceptions_of_objmode_blocks_are_errors():
    def asks_python(out, data):
        with numba.objmode():
            int("from Python")

    with pytest.raises(PipelineError, match="objmode"):
        run(asks_python)


@modes
def test_inputs_of_other_types_or_dimensions_are_errors(mode):
    name = mode["run_fn"].__name__
    with pytest.raises(ArgumentTypeError) as caught:
        run(**mode, batch=[s.astype(np.int64) for s in BATCH])
    assert f"input 0 of `{name}` (" in str(caught.value)
    assert "has elements of int64, but `in_types` says int32" in str(caught.value)
    assert "sample 0 of 4" in str(caught.value)
    with pytest.raises(ArgumentError, match="has 2 dimensions, .* but `ins_ndim` says 1"):
        run(**mode, batch=np.zeros((2, 3, 1), np.int32))


@pytest.mark.parametrize("batch", [False, True])
def test_negative_and_huge_shapes_are_errors(batch):
    def negative(outs, ins):
        for i in range(len(outs[0])):
            outs[0][i][0] = 1 if i < 2 else -7

    def huge(outs, ins):
        for i in range(len(outs[0])):
            outs[0][i][0] = 1 if i < 3 else 1 << 60

    run_fn = scale_batch if batch else scale
    for setup, sample, text in ((negative, 2, "[-7], with a negative"), (huge, 3, "too large")):
        with pytest.raises((ArgumentError, PipelineError)) as caught:
            run(run_fn, setup_fn=setup, batch_processing=batch)
        message = str(caught.value)
        assert f"{setup.__name__}` (" in message
        assert text in message
        assert f"sample {sample} of 4" in message


def out_of_bounds(out, data):
    out[data[0]] = 1


def read_out_of_bounds(out, data):
    out[0] = inner(data, 3 if data[0] == 20 else 0)


def read(data, index):
    return data[index]


inner = numba.njit(read)


@pytest.mark.parametrize("function", ["out_of_bounds", "read_out_of_bounds"])
def test_subscripts_are_checked_on_request(function, monkeypatch):
    monkeypatch.setenv("TORCHDALI_CHECK_FUNCTIONS", "1")
    monkeypatch.setitem(globals(), "inner", numba.njit(read))
    with pytest.raises(PipelineError) as caught:
        run(globals()[function])
    message = str(caught.value)
    assert f"`{function}` (" in message
    assert "IndexError: index is out of bounds" in message
    assert f"sample {1 if function == 'out_of_bounds' else 2} of 4" in message


def test_subscripts_of_decorated_functions_are_checked_too(monkeypatch):
    decorated = numba.njit(out_of_bounds)
    run(decorated, [np.array([0], np.int32)])
    monkeypatch.setenv("TORCHDALI_CHECK_FUNCTIONS", "1")
    with pytest.raises(PipelineError, match="IndexError"):
        run(decorated)
