# SPDX-License-Identifier: Apache-2.0
"""numba_function: what it takes, what it says when something is wrong, what it leaves behind."""

from __future__ import annotations

import gc
import inspect
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers import numba_programs as programs
from helpers.cases import for_each

from torchdali import Pipeline, fn, pipeline_def, types
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    PipelineError,
    TorchdaliError,
    UnsupportedError,
)
from torchdali.plugin import numba as plugin
from torchdali.plugin.numba import _compile
from torchdali.plugin.numba.experimental import NumbaFunction
from torchdali.plugin.numba.fn.experimental import numba_function

numba = pytest.importorskip("numba")

FILE = Path(__file__).name
BATCH = [np.arange(3, dtype=np.int32) + 10 * i for i in range(4)]
INT = {
    "in_types": types.INT32,
    "ins_ndim": 1,
    "out_types": types.INT32,
    "outs_ndim": 1,
}


def scale(out, data):
    out[:] = data * 2


def same_shape(outs, ins):
    for i in range(len(outs[0])):
        for d in range(len(outs[0][i])):
            outs[0][i][d] = ins[0][i][d]


def scale_batch(outs, ins):
    for out, data in zip(outs, ins):  # noqa: B905
        out[:] = data * 2


def pipeline(
    run_fn: Any, batch: Any = BATCH, *, threads: int = 2, options: Any = None, **arguments: Any
) -> Pipeline:
    @pipeline_def(batch_size=max(len(batch), 1), num_threads=threads, **(options or {}))
    def definition():
        data = fn.external_source(lambda: batch)
        return numba_function(data, run_fn=run_fn, **{**INT, **arguments})

    return definition()


def run(run_fn: Any, batch: Any = BATCH, **arguments: Any) -> list[list[Any]]:
    outputs = pipeline(run_fn, batch, **arguments).run()
    return [[np.asarray(sample).tolist() for sample in output] for output in outputs]


DOUBLED = [(2 * sample).tolist() for sample in BATCH]
MODES: list[dict[str, Any]] = [
    {"run_fn": scale},
    {"run_fn": scale, "setup_fn": same_shape},
    {"run_fn": scale_batch, "batch_processing": True},
    {"run_fn": scale_batch, "batch_processing": True, "setup_fn": same_shape},
]
IDS = ["sample", "sample with setup_fn", "batch", "batch with setup_fn"]
modes = pytest.mark.parametrize("mode", MODES, ids=IDS)


def line_of(text: str) -> int:
    """Returns the only line of this file that is `text`."""
    (found,) = [
        number
        for number, line in enumerate(Path(__file__).read_text().splitlines(), 1)
        if line.strip() == text
    ]
    return found


# -- what it takes


def test_the_names_are_dalis():
    assert plugin.fn.experimental.numba_function is numba_function
    assert plugin.experimental.NumbaFunction is NumbaFunction


def test_the_arguments_are_dalis():
    facts = Path(__file__).parents[2] / "data" / "dali_operators.json"
    theirs = json.loads(facts.read_text())["plugin.numba.fn.experimental.numba_function"]["args"]
    ours = inspect.signature(numba_function).parameters
    assert theirs.keys() <= ours.keys()
    required = [name for name in theirs if ours[name].default is inspect.Parameter.empty]
    assert sorted(required) == ["in_types", "ins_ndim", "out_types", "outs_ndim", "run_fn"]


@modes
def test_it_runs(mode):
    assert run(**mode) == [DOUBLED]


@pytest.mark.parametrize("form", [lambda x: x, lambda x: [x], lambda x: (x,)])
def test_types_and_dimensions_are_values_or_lists(form):
    assert run(scale, **{name: form(value) for name, value in INT.items()}) == [DOUBLED]
    for kind in (np.int32, torch.int32):
        assert run(scale, in_types=form(kind), out_types=form(kind)) == [DOUBLED]


def test_tensors_without_dimensions():
    def halve(out, number):
        out[()] = number[()] / 2

    numbers = [np.array(i, np.int32) for i in range(3)]
    given = {"ins_ndim": 0, "outs_ndim": 0, "out_types": types.FLOAT}
    assert run(halve, numbers, **given) == [[0.0, 0.5, 1.0]]


def test_booleans():
    def is_even(out, data):
        out[:] = data % 2 == 0

    assert run(is_even, out_types=types.BOOL) == [[[True, False, True]] * 4]


def test_without_setup_fn_the_output_has_the_type_that_was_asked_for():
    assert run(scale, out_types=types.FLOAT64) == [DOUBLED]


def test_outputs_have_no_layout():
    @pipeline_def(batch_size=4, num_threads=2)
    def definition():
        data = fn.external_source(lambda: BATCH, layout="W")
        return numba_function(data, run_fn=scale, **INT)

    assert definition().run()[0].layout() == ""


def test_constants_are_inputs():
    @pipeline_def(batch_size=2, num_threads=1)
    def definition():
        return numba_function(BATCH[1], run_fn=scale, **INT)

    assert np.array_equal(definition().run()[0].as_array(), [BATCH[1] * 2] * 2)


def test_the_operator_object_is_used_in_several_pipelines():
    operator = NumbaFunction(scale, types.INT32, types.INT32, 1, 1)
    assert operator.device == "cpu"
    assert operator.preserve
    for _ in range(2):

        @pipeline_def(batch_size=4, num_threads=2)
        def definition():
            return operator(operator(fn.external_source(lambda: BATCH), name="first"))

        assert np.array_equal(definition().run()[0].as_array(), np.stack(BATCH) * 4)


def test_it_runs_where_nothing_uses_its_outputs():
    def fails(out, data):
        raise ValueError("it ran")

    @pipeline_def(batch_size=4, num_threads=2)
    def definition():
        data = fn.external_source(lambda: BATCH)
        numba_function(data, run_fn=fails, **INT)
        return data

    with pytest.raises(PipelineError, match="it ran"):
        definition().run()


@pytest.mark.parametrize(
    "decorate",
    [
        numba.njit,
        numba.njit(fastmath=True),
        numba.njit(parallel=True),
        numba.njit(["void(int32[::1], int32[::1])"]),
        numba.jit(forceobj=True, looplift=False),
    ],
    ids=["njit", "fastmath", "parallel", "explicit types", "object mode"],
)
@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning")
def test_functions_may_be_decorated(decorate):
    @decorate
    def decorated(out, data):
        for i in range(len(data)):
            out[i] = data[i] * 2

    assert run(decorated) == [DOUBLED]


def test_inputs_are_read_where_they_lie():
    def addresses(out, data):
        out[0] = data.ctypes.data

    data = np.zeros((4, 3), np.int32)

    @pipeline_def(batch_size=4, num_threads=2)
    def definition():
        fed = fn.external_source(lambda: data, no_copy=True)
        kinds = {**INT, "out_types": types.UINT64}
        one = numba_function(fed, run_fn=addresses, **kinds)
        two = numba_function(fed, run_fn=addresses, setup_fn=same_shape, **kinds)
        return one, two

    outputs = definition().run()
    seen = [[int(np.asarray(sample)[0]) for sample in output] for output in outputs]
    assert seen == [[data[i].ctypes.data for i in range(4)]] * 2


# -- compiling


def count_compiled() -> int:
    return len(_compile._cache)


def test_a_function_is_compiled_once_in_a_process():
    run(scale)
    before = count_compiled()
    for _ in range(3):
        run(scale)
    assert count_compiled() == before


def test_a_function_that_is_made_anew_is_compiled_once():
    def make(factor):
        def by(out, data):
            out[:] = data * factor

        return by

    assert run(make(2)) == [DOUBLED]
    before = count_compiled()
    assert run(make(2)) == [DOUBLED]
    assert count_compiled() == before
    assert run(make(1)) == [[sample.tolist() for sample in BATCH]]
    assert count_compiled() == before + 1


TABLE = np.array([2, 2, 2], np.int32)


def test_other_values_of_globals_are_other_functions(monkeypatch):
    def by_table(out, data):
        out[:] = data * TABLE

    assert run(by_table) == [DOUBLED]
    monkeypatch.setitem(globals(), "TABLE", np.array([1, 1, 1], np.int32))
    assert run(by_table) == [[sample.tolist() for sample in BATCH]]


@modes
def test_the_code_lives_as_long_as_the_pipeline(mode):
    pipe = pipeline(**mode)
    pipe.build()
    _compile._cache.clear()
    del mode
    gc.collect()
    for _ in range(3):
        assert [np.asarray(s).tolist() for s in pipe.run()[0]] == DOUBLED


def test_the_interpreter_runs_meanwhile():
    def slow(out, data):
        total = 0.0
        for i in range(200_000_000):
            total += (i ^ data[0]) * 1e-9
        out[0] = int(total)

    pipe = pipeline(slow, BATCH[:1], threads=1, options={"prefetch_queue_depth": 1})
    pipe.build()
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    pipe.run()
    lasted = time.perf_counter() - start
    stop.set()
    thread.join()
    assert any(start + lasted / 4 < tick < start + 3 * lasted / 4 for tick in ticks)


def test_several_pipelines_at_once():
    pipes = [pipeline(**MODES[i % 4]) for i in range(4)]
    results: list[list[Any]] = [[] for _ in pipes]

    def drive(index):
        for _ in range(50):
            results[index].append([np.asarray(s).tolist() for s in pipes[index].run()[0]])

    threads = [threading.Thread(target=drive, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[DOUBLED] * 50] * 4


@modes
def test_debug_mode_gives_the_same(mode):
    @pipeline_def(batch_size=4, num_threads=2, debug=True)
    def definition():
        data = fn.external_source(lambda: BATCH)
        factor = 2

        def local(out, data):  # another object in every run
            out[:] = data * factor

        first = numba_function(data, **{**INT, **mode})
        return first, numba_function(data, run_fn=local, **INT)

    pipe = definition()
    for _ in range(3):
        for output in pipe.run():
            assert [np.asarray(s).tolist() for s in output] == DOUBLED


@modes
def test_a_checkpoint_goes_on(mode):
    def make(**options):
        @pipeline_def(batch_size=4, num_threads=2, seed=3, enable_checkpointing=True, **options)
        def definition():
            data = fn.cast(fn.random.uniform(range=[0, 1000], shape=[3]), dtype=types.INT32)
            return data, numba_function(data, **{**INT, **mode})

        return definition()

    pipe = make()
    for _ in range(2):
        pipe.run()
    rest = make(checkpoint=pipe.checkpoint())
    for _ in range(2):
        for a, b in zip(pipe.run(), rest.run(), strict=True):
            assert np.array_equal(a.as_array(), b.as_array())


def serializable(**options: Any) -> Pipeline:
    @pipeline_def(batch_size=4, num_threads=2, **options)
    def definition():
        data = fn.random.uniform(range=[0, 9], shape=[3, 2, 1])
        numbers = fn.cast(data, dtype=types.UINT8)
        arguments = {
            "in_types": types.UINT8,
            "ins_ndim": 3,
            "out_types": types.UINT8,
            "outs_ndim": 3,
        }
        one = numba_function(
            numbers,
            run_fn=programs.transpose,
            setup_fn=programs.transposed_shape,
            name="turned",
            **arguments,
        )
        two = numba_function(
            one,
            run_fn=programs.transpose_batch,
            setup_fn=programs.transposed_shape,
            batch_processing=True,
            **arguments,
        )
        return numbers, one, two

    return definition()


def test_serialized_pipelines_have_functions_by_name():
    pipe = serializable(seed=5)
    data = pipe.serialize()
    assert b'"run_fn": {"function": "helpers.numba_programs:transpose"}' in data
    with pytest.raises(PipelineError, match="which was not allowed") as caught:
        Pipeline.deserialize(data)
    assert "plugin.numba.fn.experimental.numba_function" in str(caught.value)
    copy = Pipeline.deserialize(data, allow="helpers.numba_programs")
    assert copy.serialize() == data
    for _ in range(2):
        for a, b in zip(pipe.run(), copy.run(), strict=True):
            assert np.array_equal(a.as_array(), b.as_array())


def test_functions_without_a_name_cannot_be_serialized():
    @pipeline_def(batch_size=1, num_threads=1)
    def definition():
        return numba_function(BATCH[0], run_fn=lambda out, data: None, **INT)

    with pytest.raises(UnsupportedError, match="`run_fn` is a lambda") as caught:
        definition().serialize()
    assert "return numba_function(BATCH[0]" in str(caught.value)


@for_each(
    ("old", "new"),
    [
        (b'"ins_ndim": [3]', b'"ins_ndim": [99]'),
        (b'"in_types": [0]', b'"in_types": [99]'),
        (b'"in_types": [0]', b'"in_types": "x"'),
        (b'"in_types": [0], ', b""),
        (b'"run_fn": {', b'"run": 4096, "run_fn": {'),
        (b'"run_fn": {', b'"run": {"function": "os:getcwd"}, "run_fn": {'),
        (b'"run_fn": {"function": "helpers.numba_programs:transpose"}', b'"run_fn": 4096'),
        (b'"run_fn": {', b'"self": 1, "run_fn": {'),
    ],
)
def test_damaged_documents_are_refused(old, new):
    data = serializable(seed=5).serialize()
    assert old in data
    with pytest.raises(TorchdaliError):
        Pipeline.deserialize(data.replace(old, new), allow=True)


# -- what is wrong in a definition


def test_what_numba_says_comes_with_the_definition():
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


def test_a_setup_fn_that_does_not_compile():
    def wrong(outs, ins):
        outs[0][0] = "text"

    with pytest.raises(ArgumentError, match="`setup_fn` `.*wrong` .* cannot be compiled by Numba"):
        pipeline(scale, setup_fn=wrong)


@pytest.mark.parametrize("batch", [False, True])
def test_inputs_cannot_be_written_to(batch):
    def in_place(out, data):
        data[0] = 1

    def batch_in_place(out, data):
        data[0][0] = 1

    with pytest.raises(ArgumentError, match=r"(?s)readonly.*To fix it: inputs are read-only"):
        pipeline(batch_in_place if batch else in_place, batch_processing=batch)


def test_shapes_of_inputs_cannot_be_written_to():
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
def test_wrong_arguments_are_named(change, error, text):
    with pytest.raises(error, match=text) as caught:
        pipeline(**{"run_fn": scale, **change})
    assert str(caught.value).startswith("plugin.numba.fn.experimental.numba_function: ")
    assert f"{FILE}:" in str(caught.value)


def test_unknown_arguments_are_named():
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
    subprocess.run([sys.executable, "-c", program], check=True)


def test_numba_is_imported_where_a_function_is_used():
    program = "import sys, torchdali.plugin.numba; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


# -- what goes wrong in a run


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


def test_exceptions_of_batches_and_of_setup_functions():
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
def test_inputs_that_are_not_as_declared(mode):
    name = mode["run_fn"].__name__
    wrong = [*BATCH[:1], BATCH[1].astype(np.int64)]
    with pytest.raises(ArgumentTypeError) as caught:
        run(**mode, batch=[s.astype(np.int64) for s in BATCH])
    assert f"input 0 of `{name}` (" in str(caught.value)
    assert "has elements of int64, but `in_types` says int32" in str(caught.value)
    assert "sample 0 of 4" in str(caught.value)
    with pytest.raises(ArgumentError, match="has 2 dimensions, .* but `ins_ndim` says 1"):
        run(**mode, batch=np.zeros((2, 3, 1), np.int32))
    del wrong


@pytest.mark.parametrize("batch", [False, True])
def test_shapes_that_cannot_be(batch):
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
def test_subscripts_are_checked_where_that_is_asked_for(function, monkeypatch):
    monkeypatch.setenv("TORCHDALI_CHECK_FUNCTIONS", "1")
    monkeypatch.setitem(globals(), "inner", numba.njit(read))
    with pytest.raises(PipelineError) as caught:
        run(globals()[function])
    message = str(caught.value)
    assert f"`{function}` (" in message
    assert "IndexError: index is out of bounds" in message
    assert f"sample {1 if function == 'out_of_bounds' else 2} of 4" in message


def test_decorated_functions_are_checked_too(monkeypatch):
    decorated = numba.njit(out_of_bounds)
    run(decorated, [np.array([0], np.int32)])
    monkeypatch.setenv("TORCHDALI_CHECK_FUNCTIONS", "1")
    with pytest.raises(PipelineError, match="IndexError"):
        run(decorated)


# -- memory


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def fail_always(out, data):
    raise ValueError("always", data[0])


def run_many(calls: int) -> int:
    """Makes that many calls of each kind; returns by how many bytes the process has grown."""
    pipes = [pipeline(**mode) for mode in MODES]
    failing = pipeline(fail_always)
    grown = 0
    for part in range(2):
        before = resident()
        for pipe in pipes:
            for _ in range(calls // 4 if part else 200):
                pipe.run()
        for _ in range(calls // 400 if part else 50):
            with pytest.raises(PipelineError):
                failing.run()
        gc.collect()
        grown = resident() - before
    return grown


def test_calls_leave_nothing():
    assert run_many(8_000) < 2e6


@pytest.mark.slow
@pytest.mark.stress
def test_a_hundred_thousand_calls_leave_nothing():
    assert run_many(100_000) < 4e6
