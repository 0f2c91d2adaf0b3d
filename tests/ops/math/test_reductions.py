# SPDX-License-Identifier: Apache-2.0
"""fn.reductions.*: sums, means and extremes along axes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import Input, OpCase, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

OPERATORS = [
    "reductions.max",
    "reductions.mean",
    "reductions.mean_square",
    "reductions.min",
    "reductions.rms",
    "reductions.std_dev",
    "reductions.sum",
    "reductions.variance",
]

SUMS = ["sum", "mean", "mean_square", "rms"]
EXTREMES = ["min", "max"]
DEVIATIONS = ["variance", "std_dev"]
DTYPES = [torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32]
DTYPES += [torch.int64, torch.float32]
# DALI rejects these.
MORE_DTYPES = [torch.float16, torch.float64, torch.bool]
AXES = [
    {},
    {"axes": [0, 1]},
    {"axes": 2},
    {"axes": [-3, 2], "keep_dims": True},
    {"axes": []},
    {"axis_names": "W"},
    {"axis_names": "", "keep_dims": True},
]
SHAPE = [(9, 40, 3), (5, 7, 1), (2, 3, 5)]


def name(op: str) -> str:
    return f"reductions.{op}"


def values(dtype: torch.dtype, shape: tuple[int, ...], index: int) -> torch.Tensor:
    """Returns values whose sums and squares fit into 63 bits and have no infinity."""
    small = random_tensor(shape, torch.uint8, index).to(torch.int32)
    if dtype == torch.bool:
        return small > 100
    low = 0 if dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64) else 128
    return torch.from_numpy((small - low).numpy()).to(dtype)


def of(dtype: torch.dtype, shape: tuple[int, ...]) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "make": lambda i: values(dtype, shape, i)}


CASES = [
    OpCase(name(op), "HWC", SHAPE, args, algorithm="reduction")
    for op in SUMS + EXTREMES
    for args in AXES
]
CASES += [
    OpCase(name(op), "HWC", args={"axes": axes}, algorithm="reduction", **of(dtype, (6, 70, 3)))
    for op in SUMS + EXTREMES
    for dtype, axes in zip(DTYPES, [[0, 1], [0], [1], [2], [0, 1, 2]] * 2, strict=False)
]
CASES += [
    OpCase(
        name(op), "", args={"axes": 1}, no_parity="DALI refuses the type", **of(dtype, (5, 70, 2))
    )
    for op in SUMS + EXTREMES
    for dtype in MORE_DTYPES
]
# Widths that use the different loops.
CASES += [
    OpCase(name(op), "", (4, width, columns), {"axes": [1]}, algorithm="reduction", batch=2)
    for op in ("mean", "max")
    for width, columns in [(700, 1), (33, 2), (50, 4), (9, 7), (20, 40), (3, 600)]
]
CASES += [
    OpCase(name("sum"), "ABCD", (3, 4, 5, 6), {"axes": axes})
    for axes in ([0, 2], [1, 3], [0, 3], [1, 2])
]
CASES += [
    OpCase(name("sum"), "HW", (9, 300), {"dtype": dtype})
    for dtype in (types.UINT8, types.FLOAT, types.UINT64)
]
CASES += [OpCase(name("mean"), args={"axes": 1, "dtype": types.INT32}, **of(torch.int32, (4, 2)))]
CASES += [
    OpCase(name("mean_square"), "HW", (4, 9), {"axes": 1, "dtype": types.UINT64}),
    OpCase(name("rms"), "HW", args={"dtype": types.INT32, "axes": 0}, **of(torch.int32, (3, 5))),
    *(
        OpCase(name(op), "", shape, {"axes": 0}, dtype=torch.float32)
        for op in SUMS + EXTREMES
        for shape in [(0, 3), (3, 0)]
    ),
    *(
        OpCase(name(op), "", (), dtype=torch.float32, algorithm="reduction")
        for op in SUMS + EXTREMES
    ),
]


def mean_of(shape: tuple[int, ...], offset: float = 0.25) -> Input:
    return Input(lambda i: torch.full(shape, 100.0 + i) + offset)


CASES += [
    OpCase(
        name(op),
        layout,
        shape,
        args,
        dtype=dtype,
        more_inputs=(mean_of(mean),),
        algorithm="reduction",
    )
    for op in DEVIATIONS
    for layout, shape, args, dtype, mean in [
        ("HWC", (9, 40, 3), {"axes": [0, 1]}, torch.uint8, (3,)),
        ("HWC", (9, 40, 3), {"axis_names": "HW", "keep_dims": True}, torch.uint8, (1, 1, 3)),
        ("HWC", (9, 40, 3), {}, torch.float32, ()),
        ("CHW", (3, 9, 40), {"axes": [1, 2], "ddof": 1}, torch.int16, (3, 1)),
        ("", (9, 4), {"axes": 1, "ddof": 4}, torch.float32, (9,)),
        ("", (0, 4), {"axes": 0}, torch.float32, (4,)),
    ]
]
CASES += [
    OpCase(
        name(op),
        args={"axes": 1},
        more_inputs=(mean_of((9,)),),
        algorithm="reduction",
        **of(torch.uint64, (9, 4)),
    )
    for op in DEVIATIONS
]
CASES += [
    OpCase(
        name(op),
        "",
        args={"axes": 0},
        more_inputs=(mean_of(mean),),
        no_parity="DALI refuses the type, or reads beyond the mean",
        **of(dtype, (9, 4)),
    )
    for op in DEVIATIONS
    for dtype, mean in [(torch.float64, (4,)), (torch.float16, (4,)), (torch.int32, (1,))]
]

NUMPY = {
    "sum": lambda x, axes: x.sum(axis=axes),
    "mean": lambda x, axes: x.mean(axis=axes),
    "mean_square": lambda x, axes: (x**2).mean(axis=axes),
    "rms": lambda x, axes: np.sqrt((x**2).mean(axis=axes)),
    "min": lambda x, axes: x.min(axis=axes),
    "max": lambda x, axes: x.max(axis=axes),
}


@for_each(
    "case", [c for c in CASES if "axes" in c.args and not c.more_inputs and "dtype" not in c.args]
)
def test_matches_numpy(case):
    axes = case.args["axes"]
    axes = tuple(axes) if isinstance(axes, list) else axes
    for index, actual in enumerate(run_case(case).samples()[0]):
        x = case.input(index).numpy().astype(np.float64)
        if 0 in x.shape:
            continue
        expected = NUMPY[case.op.removeprefix("reductions.")](x, axes)
        relative = 1e-3 if actual.dtype == torch.float16 else 1e-6
        np.testing.assert_allclose(
            actual.numpy().astype(np.float64).reshape(expected.shape), expected, rtol=relative
        )


@pytest.mark.parametrize("op", DEVIATIONS)
def test_variance_equals_numpy(op):
    x = random_tensor((20, 30, 3), torch.float32, 1)
    mean = run_op(name("mean"), x, axes=[0, 1])
    expected = x.double().var(dim=(0, 1), correction=1)
    expected = expected.sqrt() if op == "std_dev" else expected
    actual = run_op(name(op), x, mean, axes=[0, 1], ddof=1)
    torch.testing.assert_close(actual, expected.float(), rtol=1e-6, atol=0)


@given(
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    data=st.data(),
    op=st.sampled_from(["sum", "min", "max"]),
)
def test_reducing_axes_in_two_steps_equals_one_step(shape, data, op):
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1))
    first = data.draw(st.sets(st.sampled_from(axes)))
    x = random_tensor(tuple(shape), torch.int16, 3)
    half = run_op(name(op), x, axes=sorted(first), keep_dims=True)
    both = run_op(name(op), half, axes=axes, keep_dims=True)
    assert torch.equal(both, run_op(name(op), x, axes=axes, keep_dims=True).to(both.dtype))


def test_integers_are_added_exactly():
    x = torch.full((1 << 18, 3), 2**40 - 1, dtype=torch.int64)
    assert run_op(name("sum"), x, axes=0).tolist() == [(2**40 - 1) << 18] * 3
    for dtype, value in [(torch.uint8, 255), (torch.int8, -128), (torch.uint16, 65535)]:
        wide = torch.full((1 << 17, 3), value).to(dtype)
        assert run_op(name("sum"), wide, axes=0).tolist() == [value << 17] * 3
        square = run_op(name("mean_square"), wide, axes=0, dtype=types.UINT64)
        assert square.tolist() == [value**2] * 3


def test_means_for_integers_do_not_overflow():
    """DALI 1.35 adds them up in the type of the result."""
    x = torch.full((100000,), 255, dtype=torch.uint8)
    assert run_op(name("mean"), x, dtype=types.UINT8).item() == 255
    assert run_op(name("rms"), x, dtype=types.UINT8).item() == 255


def test_squares_do_not_wrap_around():
    """In DALI 1.35 they do, if the integers have 16 bits or more."""
    x = torch.full((7,), 60000, dtype=torch.int32)
    assert run_op(name("mean_square"), x).item() == 60000**2
    assert run_op(name("rms"), x).item() == 60000


def test_without_axes_there_is_still_the_distance_to_the_mean():
    x, mean = torch.tensor([3.0, 5.0]), torch.tensor([1.0, 8.0])
    assert run_op(name("variance"), x, mean, axes=[]).tolist() == [4.0, 9.0]
    assert run_op(name("std_dev"), x, mean, axes=[]).tolist() == [2.0, 3.0]


def test_means_of_64_bits_do_not_wrap_around():
    x = torch.full((1000,), 2**63 - 1)
    assert run_op(name("mean"), x).item() == 2.0**63
    wide = torch.full((70, 3), -(2**63)).view(torch.uint64)
    assert run_op(name("mean"), wide, axes=0).tolist() == [2.0**63] * 3


def test_minimum_and_maximum_ignore_nan():
    nan, inf = math.nan, math.inf
    assert run_op(name("min"), torch.tensor([nan, 3.0, 1.0, nan])).item() == 1.0
    assert run_op(name("max"), torch.tensor([-inf, nan])).item() == -inf
    assert run_op(name("min"), torch.tensor([inf, inf])).item() == inf


@for_each(
    ("op", "args", "message"),
    [
        ("sum", {"axes": [3]}, "`axes` has 3, expected an axis"),
        ("min", {"axes": [-4]}, "`axes` has -4, expected an axis"),
        ("mean", {"axes": [0, -3]}, "axis -3 is named twice"),
        ("rms", {"axis_names": "HZ"}, '`axis_names` has "Z", which the layout "HWC" has not'),
        ("max", {"axis_names": "HH"}, "axis H is named twice"),
        ("sum", {"axis_names": "H", "axes": 1}, "`axes` excludes `axis_names`"),
    ],
)
def test_wrong_axes_are_errors_that_name_them(op, args, message):
    with pytest.raises(ValueError, match=message):
        run_op(name(op), torch.zeros(2, 3, 4), layout="HWC", **args)


def test_a_mean_of_another_shape_is_an_error():
    with pytest.raises(ValueError, match=r"input `mean` has shape \[3\], expected one value, or 4"):
        run_op(name("variance"), torch.zeros(2, 4), torch.zeros(3), axes=0)
