# SPDX-License-Identifier: Apache-2.0
"""numba_function: arguments, inputs and outputs, debug mode, checkpoints and documents."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers import numba_programs as programs
from helpers.cases import for_each
from helpers.numba_pipelines import (
    BATCH,
    DOUBLED,
    INT,
    modes,
    run,
    same_shape,
    scale,
)

from torchdali import Pipeline, fn, pipeline_def, types
from torchdali.errors import (
    PipelineError,
    TorchdaliError,
    UnsupportedError,
)
from torchdali.plugin import numba as plugin
from torchdali.plugin.numba.experimental import NumbaFunction
from torchdali.plugin.numba.fn.experimental import numba_function

pytestmark = pytest.mark.slow

numba = pytest.importorskip("numba")


def test_names_are_those_of_dali():
    assert plugin.fn.experimental.numba_function is numba_function
    assert plugin.experimental.NumbaFunction is NumbaFunction


def test_arguments_are_those_of_dali():
    facts = Path(__file__).parents[2] / "data" / "dali_operators.json"
    theirs = json.loads(facts.read_text())["plugin.numba.fn.experimental.numba_function"]["args"]
    ours = inspect.signature(numba_function).parameters
    assert theirs.keys() <= ours.keys()
    required = [name for name in theirs if ours[name].default is inspect.Parameter.empty]
    assert sorted(required) == ["in_types", "ins_ndim", "out_types", "outs_ndim", "run_fn"]


@modes
def test_every_mode_runs(mode):
    assert run(**mode) == [DOUBLED]


@pytest.mark.parametrize("form", [lambda x: x, lambda x: [x], lambda x: (x,)])
def test_types_and_dimensions_are_values_or_lists(form):
    assert run(scale, **{name: form(value) for name, value in INT.items()}) == [DOUBLED]
    for kind in (np.int32, torch.int32):
        assert run(scale, in_types=form(kind), out_types=form(kind)) == [DOUBLED]


def test_inputs_and_outputs_may_be_scalars():
    def halve(out, number):
        out[()] = number[()] / 2

    numbers = [np.array(i, np.int32) for i in range(3)]
    given = {"ins_ndim": 0, "outs_ndim": 0, "out_types": types.FLOAT}
    assert run(halve, numbers, **given) == [[0.0, 0.5, 1.0]]


def test_outputs_may_be_booleans():
    def is_even(out, data):
        out[:] = data % 2 == 0

    assert run(is_even, out_types=types.BOOL) == [[[True, False, True]] * 4]


def test_without_setup_fn_outputs_have_the_requested_type():
    assert run(scale, out_types=types.FLOAT64) == [DOUBLED]


def test_outputs_have_no_layout():
    @pipeline_def(batch_size=4, num_threads=2)
    def definition():
        data = fn.external_source(lambda: BATCH, layout="W")
        return numba_function(data, run_fn=scale, **INT)

    assert definition().run()[0].layout() == ""


def test_constants_may_be_inputs():
    @pipeline_def(batch_size=2, num_threads=1)
    def definition():
        return numba_function(BATCH[1], run_fn=scale, **INT)

    assert np.array_equal(definition().run()[0].as_array(), [BATCH[1] * 2] * 2)


def test_an_operator_object_works_in_several_pipelines():
    operator = NumbaFunction(scale, types.INT32, types.INT32, 1, 1)
    assert operator.device == "cpu"
    assert operator.preserve
    for _ in range(2):

        @pipeline_def(batch_size=4, num_threads=2)
        def definition():
            return operator(operator(fn.external_source(lambda: BATCH), name="first"))

        assert np.array_equal(definition().run()[0].as_array(), np.stack(BATCH) * 4)


def test_a_function_whose_outputs_are_unused_runs():
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


def test_inputs_are_not_copied():
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


@modes
def test_debug_mode_gives_the_same_results(mode):
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
def test_a_resumed_pipeline_gives_the_same_results(mode):
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


def test_serialized_pipelines_store_functions_by_name():
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
def test_damaged_documents_are_errors(old, new):
    data = serializable(seed=5).serialize()
    assert old in data
    with pytest.raises(TorchdaliError):
        Pipeline.deserialize(data.replace(old, new), allow=True)
