# SPDX-License-Identifier: Apache-2.0
"""fn.reshape and fn.reinterpret: other extents, another element type, the same bytes."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import Input, OpCase, PerSample, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

from torchdali import Pipeline, fn, types

OPERATORS = ["reinterpret", "reshape"]


def shapes(*values, dtype=torch.int32) -> tuple[Input, ...]:
    return (Input(lambda i: torch.tensor(values[i % len(values)], dtype=dtype)),)


HWC = (2, 3, 2)
CASES = [
    OpCase("reshape", "HWC", HWC, args)
    for args in (
        {"shape": [3, 4]},
        {"shape": [-1, 4]},
        {"shape": 12},
        {"shape": [3, 2, 2]},  # keeps the layout
        {"shape": [3, 4], "layout": "XY"},
        {"layout": "XYZ"},
        {"layout": ""},
        {"rel_shape": [0.5, 2, 1]},
        {"rel_shape": [-1, 2]},
        {"rel_shape": [1, 1, 1, -1]},
        {"rel_shape": [2, -1], "src_dims": [1, 0]},
        {"rel_shape": [1, 1, 1, 1], "src_dims": [0, -1, 1, 2]},
        {"src_dims": [1, 0, 2]},
        {"src_dims": [-1, 0, 1, 2]},
        {"src_dims": [0, 0, 1]},
        {"src_dims": [1, 0], "shape": [3, 4]},
        {"shape": PerSample([[3, 4], [-1, 6]])},
        {"rel_shape": PerSample([[1, -1], [2, -1]], torch.float32)},
    )
]
CASES += [
    OpCase("reshape", "HWC", (2, 3, 1), {"src_dims": PerSample([[0, 1], [1, 0]])}).replace(
        no_parity="DALI 1.35 finds nothing to do"
    ),
    OpCase("reshape", "HWC", HWC, more_inputs=shapes([3, 4], [-1, 6])),
    OpCase("reshape", "HWC", HWC, more_inputs=shapes([3, 4], dtype=torch.int64)),
    OpCase("reshape", "", (3, 4), {"rel_shape": [0.34, 3]}),
    OpCase("reshape", "", [(2, 6), (4, 3)], {"shape": [12]}, dtype=torch.float32),
    OpCase("reshape", "", (1, 1), {"shape": []}, dtype=torch.float64),
    OpCase("reshape", "", (), {"shape": [1, -1]}),
    OpCase("reshape", "", (0, 3), {"shape": [5, -1]}, batch=1).replace(
        no_parity="DALI fails to copy a batch without elements"
    ),
    OpCase("reshape", "FHWC", (2, 3, 2, 1), {"shape": [2, 6]}),
]
CASES += [
    OpCase("reinterpret", "HW", (2, 8), {"dtype": types.INT32}),
    OpCase("reinterpret", "HW", (2, 8), {"dtype": types.INT16, "layout": "XY"}),
    OpCase("reinterpret", "HW", (2, 8), {"shape": [4, -1]}),
    OpCase("reinterpret", "HW", (2, 3), {"dtype": types.UINT8}, dtype=torch.int16),
    OpCase("reinterpret", "HW", (2, 3), {"dtype": types.UINT8, "shape": [-1]}, dtype=torch.int64),
    OpCase("reinterpret", "", (2, 4), {"dtype": types.INT32, "rel_shape": [1, 0.25]}),
    OpCase("reinterpret", "", (2, 4), {"dtype": types.INT32, "rel_shape": [1, -1]}),
    OpCase("reinterpret", "", (4, 2), {"dtype": types.INT32, "src_dims": [1, 0]}),
    OpCase(
        "reinterpret", "", (4, 2), {"dtype": types.INT16, "shape": PerSample([[4], [2, 2]])}
    ).replace(batch=1),
    OpCase("reinterpret", "", (2, 8), {"dtype": types.INT16}, more_inputs=shapes([8], [-1])),
    OpCase("reinterpret", "", (3,), {"dtype": types.UINT32}, dtype=torch.float32),
    OpCase("reinterpret", "", (2, 4), {"dtype": types.BOOL}),
]


@given(data=st.data(), shape=st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_reshaping_back_is_the_identity(data, shape):
    x = ramp(tuple(shape))
    other = data.draw(st.permutations(shape))
    there = run_op("reshape", x, shape=other)
    assert torch.equal(there, x.reshape(other))
    assert torch.equal(run_op("reshape", there, shape=[-1, *shape[1:]]), x)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.float32, torch.int64])
def test_reinterpret_is_a_view_of_bytes(dtype):
    x = torch.arange(48, dtype=torch.uint8).reshape(2, 24)
    number = {torch.uint8: types.UINT8, torch.int16: types.INT16, torch.float32: types.FLOAT}
    out = run_op("reinterpret", x, dtype=number.get(dtype, types.INT64))
    assert torch.equal(out, x.view(dtype))


def test_reinterpret_accepts_unaligned_memory():
    x = torch.arange(17, dtype=torch.uint8)
    pipe = Pipeline(1, 1, device_id=None)
    with pipe:
        part = fn.slice(fn.external_source(name="x"), start=[1], axes=[0])
        pipe.set_outputs(fn.reinterpret(part, dtype=types.INT64) + 1)
    pipe.build()
    pipe.feed_input("x", [x])
    assert torch.equal(pipe.run()[0].as_torch_list()[0], x[1:].clone().view(torch.int64) + 1)


def test_reinterpreting_as_bool_normalizes_bytes():
    out = run_op("reinterpret", torch.tensor([0, 1, 2, 255], dtype=torch.uint8), dtype=types.BOOL)
    assert out.tolist() == [False, True, True, True]
    assert out.view(torch.uint8).tolist() == [0, 1, 1, 1]


def test_factors_of_new_axes_count():
    """DALI 1.35 ignores them in tensors."""
    for factors in ([-1.0, 2.0, 1.0], torch.tensor([-1.0, 2.0, 1.0])):
        x = run_op("reshape", torch.zeros(4, 3), rel_shape=factors, src_dims=[0, -1, 1])
        assert tuple(x.shape) == (2, 2, 3)


def test_extents_may_be_0():
    assert run_op("reshape", ramp((0, 3)), shape=[3, 0]).shape == (3, 0)


def test_frames_may_have_their_own_equal_shapes_only():
    case = OpCase("reshape", "FHW", (2, 2, 6), {"shape": [2, 3, 4]})
    assert run_case(case).layouts == ["FHW"]


@for_each(
    ("args", "message"),
    [
        ({}, "nothing is asked for"),
        ({"shape": [-1, -1]}, "only one extent"),
        ({"shape": [5, -1]}, "does not fit a shape of 2 dimensions"),
        ({"shape": [0, -1]}, "does not fit a shape"),
        ({"shape": [5, 4]}, "does not fit the shape"),
        ({"shape": [2**31] * 4}, "does not fit the shape"),
        ({"shape": [2**62, 2**62, -1]}, "does not fit a shape"),
        ({"shape": [12], "rel_shape": [1.0]}, "exclude each other"),
        ({"rel_shape": []}, "`rel_shape` is empty"),
        ({"rel_shape": [1.0, 1.0, 1.0, 1.0]}, "`rel_shape` has 4 values"),
        ({"rel_shape": [1.0], "src_dims": [0, 1]}, "`rel_shape` has 1 values and `src_dims` 2"),
        ({"rel_shape": [float("nan")]}, "makes an extent of nan"),
        ({"rel_shape": [float("inf")]}, "makes an extent of inf"),
        ({"src_dims": [0, 3]}, "`src_dims` has 3"),
        ({"src_dims": [0, -2]}, "`src_dims` has -2"),
        ({"src_dims": [0]}, "does not fit the shape"),
    ],
)
@for_each("op", ["reshape", "reinterpret"])
def test_wrong_arguments_are_errors(op, args, message):
    with pytest.raises((ValueError, IndexError), match=message) as caught:
        run_op(op, ramp(HWC), layout="HWC", **args)
    assert str(caught.value).startswith(f"fn.{op}: ")


@pytest.mark.parametrize("op", ["reshape", "reinterpret"])
@pytest.mark.parametrize("shape", [[2**62, 2**62, 0], [0, 2**62, 2**62]], ids=str)
def test_huge_extents_of_empty_samples_are_errors(op, shape):
    with pytest.raises(RuntimeError, match="too large: its extents, without those of 0") as caught:
        run_op(op, torch.empty(3, 0), shape=shape)
    assert str(caught.value).startswith(f"fn.{op}: ")
    assert run_op(op, torch.empty(3, 0), shape=[2**40, 0]).shape == (2**40, 0)


@pytest.mark.parametrize(
    ("shape", "args", "message"),
    [
        ((2, 6), {"dtype": types.INT64}, "make no whole number of int64"),
        ((), {"dtype": types.INT16}, "make no whole number of int16"),
        ((2, 4), {"dtype": types.INT32, "shape": [2, 4]}, "does not fit the shape"),
    ],
    ids=str,
)
def test_sizes_that_do_not_match_are_errors(shape, args, message):
    with pytest.raises(ValueError, match=message):
        run_op("reinterpret", ramp(shape).to(torch.uint8), **args)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (torch.tensor([3.0, 4.0]), "takes integers"),
        (torch.tensor(12), "1-D tensor"),
        (torch.tensor([-1, -1]), "only one extent"),
    ],
    ids=["float", "scalar", "open"],
)
def test_wrong_shapes_are_errors(value, message):
    with pytest.raises((ValueError, TypeError), match=message):
        run_op("reshape", ramp(HWC), value)


@pytest.mark.parametrize("op", ["reshape", "reinterpret"])
def test_a_layout_of_another_length_is_an_error(op):
    with pytest.raises(ValueError, match="does not fit the shape"):
        run_case(OpCase(op, "HWC", HWC, {"layout": "XY"}))
