# SPDX-License-Identifier: Apache-2.0
"""fn.full, fn.zeros, fn.ones and their variants with the shape of an input."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import Input, OpCase, PerSample, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

OPERATORS = ["full", "full_like", "ones", "ones_like", "zeros", "zeros_like"]

NOT_THERE = "not in DALI 1.35"
ALL_TYPES = [types.UINT8, types.INT16, types.UINT64, types.FLOAT16, types.FLOAT, types.BOOL]

CASES = [
    OpCase(op, args=args)
    for op in ("zeros", "ones")
    for args in (
        {},
        {"shape": [2, 3]},
        {"shape": 4, "dtype": types.FLOAT},
        {"shape": [2, 3], "layout": "HW"},
        {"shape": PerSample([[2, 3], [1, 4], [0, 2]])},
        *({"shape": [2], "dtype": dtype} for dtype in ALL_TYPES),
    )
]
CASES += [
    OpCase(op, "HW", [(2, 3), (4, 1)], args, dtype)
    for op in ("zeros_like", "ones_like")
    for args, dtype in (
        ({}, torch.uint8),
        ({}, torch.float32),
        ({"dtype": types.INT64}, torch.bool),
        ({"dtype": types.BOOL}, torch.int16),
    )
]
CASES += [
    OpCase("full", "", (), {"shape": [2, 3]}),
    OpCase("full", "", (3,), {"shape": [2, 3], "layout": "HW"}, torch.float32),
    OpCase("full", "", (2, 1), {"shape": [3, 2, 4]}, torch.float64),
    OpCase("full", "", (2, 3), {}, torch.int16),
    OpCase("full", "", (1,), {"shape": PerSample([[2, 3], [0, 1], [4, 1]])}, torch.bool),
]
CASES += [
    OpCase("full_like", "HWC", (2, 3, 2), dtype=torch.float32).replace(
        more_inputs=(Input(lambda i, s=shape: ramp(s) + i),)
    )
    for shape in ((), (2,), (3, 1), (2, 1, 2), (2, 3, 2))
]
CASES = [case.replace(no_parity=NOT_THERE) for case in CASES]


@for_each("case", CASES)
def test_matches_numpy(case):
    run = run_case(case)
    for i, out in enumerate(run.samples()[0]):
        given_inputs = [one.make(i).numpy() for one in case.all_inputs()]
        shape = case.args.get("shape", given_inputs[0].shape if given_inputs else ())
        shape = shape.at(i).tolist() if isinstance(shape, PerSample) else shape
        fill = {"zeros": 0, "ones": 1, "zeros_like": 0, "ones_like": 1}.get(case.op)
        if fill is None:
            fill = given_inputs[-1]
        np.testing.assert_array_equal(out.numpy(), np.full(shape, fill, out.numpy().dtype))


def test_outputs_have_the_requested_types_and_layouts():
    assert run_op("zeros", shape=[1]).dtype == torch.int32
    assert run_op("full", torch.tensor(1.5), shape=[1]).dtype == torch.float32
    assert run_op("full_like", ramp((2,), torch.uint8), torch.tensor(300.7)).tolist() == [255] * 2
    assert run_op("ones_like", ramp((2,), torch.float16)).dtype == torch.float16
    layouts = {case.op: run_case(case).layouts[0] for case in CASES if case.op.endswith("_like")}
    assert layouts == {"zeros_like": "HW", "ones_like": "HW", "full_like": "HWC"}


@given(st.lists(st.integers(0, 4), max_size=4), st.data())
def test_values_broadcast_as_in_numpy(shape, data):
    kept = data.draw(st.integers(0, len(shape)))
    value_shape = [data.draw(st.sampled_from([1, e])) for e in shape[len(shape) - kept :]]
    value = ramp(tuple(value_shape))
    out = run_op("full", value, shape=shape)
    np.testing.assert_array_equal(out.numpy(), np.broadcast_to(value.numpy(), shape))


@for_each(
    ("op", "inputs", "args", "message"),
    [
        ("zeros", [], {"shape": [2, -1]}, "negative extent: -1"),
        ("zeros", [], {"shape": [2**30, 2**30]}, "too large|out of memory"),
        ("zeros", [], {"shape": [2**62, 2**62, 0]}, "too large: its extents, without those of 0"),
        ("full", [ramp((3,))], {"shape": [2, 4]}, "cannot be repeated"),
        ("full", [ramp((3, 1))], {"shape": [3]}, "cannot be repeated"),
        ("full_like", [ramp((2,)), ramp((3,))], {}, "cannot be repeated"),
    ],
    ids=["negative", "huge", "huge-empty", "extent", "rank", "like"],
)
def test_wrong_arguments_are_errors(op, inputs, args, message):
    with pytest.raises((ValueError, RuntimeError), match=message) as caught:
        run_op(op, *inputs, **args)
    assert str(caught.value).startswith(f"fn.{op}: ")


def test_a_layout_of_another_length_is_an_error():
    with pytest.raises(ValueError, match="does not fit the shape"):
        run_case(OpCase("ones", args={"shape": [2], "layout": "HW"}))
