# SPDX-License-Identifier: Apache-2.0
"""fn.tensor_subscript and fn.subscript_dim_check: the operators of subscripts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, PerSample, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

OPERATORS = ["subscript_dim_check", "tensor_subscript"]

BEYOND = "DALI returns the last element if a range begins after the end"
CASES = [
    OpCase("tensor_subscript", layout, shape, args, dtype=dtype)
    for dtype in (torch.uint8, torch.float16, torch.int32, torch.float64)
    for layout, shape, args in [
        ("HWC", (5, 7, 3), {"at_0": 1}),
        ("HWC", (5, 7, 3), {"lo_1": 2, "hi_1": 5}),
        ("HWC", (5, 7, 3), {"step_0": -1, "at_2": -1}),
    ]
]
CASES += [
    OpCase("tensor_subscript", layout, shape, args)
    for layout, shape, args in [
        ("HWC", [(5, 7, 3), (2, 4, 3)], {"at_0": -1, "at_1": 2, "at_2": 0}),
        ("HWC", [(5, 7, 3), (2, 4, 3)], {"lo_0": 1, "hi_0": -1, "hi_2": 2}),
        ("AB", [(5, 7), (0, 3)], {"lo_1": -2}),
        ("", (6, 4), {"at_0": PerSample([0, 5, -1])}),
        ("", (6, 4), {"lo_0": PerSample([0, 5, -1]), "hi_0": PerSample([6, -7, 3])}),
        ("HWC", (5, 7, 3), {"num_subscripts": 3}),
        ("HWC", (5, 7, 3), {"at_1": 1, "num_subscripts": 3}),
        ("HWC", (5, 7, 3), {}),
        ("HWC", (5, 7, 3), {"lo_0": -9, "hi_0": 99}),
        ("HWC", (5, 7, 3), {"lo_0": 4, "hi_0": 2}),
        ("HWC", (5, 7, 3), {"step_1": -1}),
    ]
]
CASES += [
    OpCase("tensor_subscript", "HWC", (5, 7, 3), args, no_parity=why)
    for args, why in [
        ({"lo_1": 7}, BEYOND),
        ({"step_1": 2, "step_2": -2}, "DALI 1.35 crashes with some steps"),
        ({"at_0": 1, "ellipsis": 0}, "an ellipsis is more than DALI 1.35 has"),
        ({"at_0": 1, "step_1": -1, "ellipsis": 1}, "an ellipsis is more than DALI 1.35 has"),
    ]
]
CASES += [
    OpCase("subscript_dim_check", "HWC", (5, 7, 3), {"num_subscripts": 3}),
    OpCase("subscript_dim_check", "", (), {"num_subscripts": 0}),
]


def key_of(args: dict[str, object], ndim: int, index: int) -> tuple[object, ...]:
    """Returns the arguments as a subscript of NumPy."""

    def value(name: str) -> int | None:
        found = args.get(name)
        return int(found.at(index)) if isinstance(found, PerSample) else found  # type: ignore

    key: list[object] = []
    for i in range(ndim):
        at = value(f"at_{i}")
        bounds = (value(f"{name}_{i}") for name in ("lo", "hi", "step"))
        key.append(slice(*bounds) if at is None else at)
    if "ellipsis" in args:
        count = 1 + max(int(name.rpartition("_")[2]) for name in args if name != "ellipsis")
        at = args["ellipsis"]
        key = [*key[:at], Ellipsis, *key[at:count]]  # type: ignore[misc]
    return tuple(key)


@for_each("case", CASES)
def test_matches_numpy(case):
    run = run_case(case)
    for index, actual in enumerate(run.samples()[0]):
        x = case.input(index).numpy()
        expected = x[key_of(dict(case.args), x.ndim, index)]
        assert actual.dtype == case.dtype
        assert np.array_equal(actual.numpy(), expected)


BOUND = st.none() | st.integers(-9, 9)
STEP = st.none() | st.integers(-4, 4).filter(bool) | st.sampled_from([-(1 << 63), (1 << 63) - 1])


@given(
    shape=st.lists(st.integers(0, 6), min_size=1, max_size=4),
    data=st.data(),
)
def test_ranges_equal_numpy(shape, data):
    key, args = [], {}
    for i in range(data.draw(st.integers(1, len(shape)))):
        bounds = [data.draw(BOUND), data.draw(BOUND), data.draw(STEP)]
        key.append(slice(*bounds))
        for name, bound in zip(("lo", "hi", "step"), bounds, strict=True):
            if bound is not None:
                args[f"{name}_{i}"] = bound
    x = ramp(tuple(shape))
    actual = run_op("tensor_subscript", x, **args)
    assert np.array_equal(actual.numpy(), x.numpy()[tuple(key)])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.uint64, torch.int16])
def test_indices_may_have_any_integer_type(dtype):
    x = ramp((4, 3))
    at = [torch.tensor(i, dtype=dtype) for i in (3, 0)]
    rows = run_op("tensor_subscript", [x, x], at_0=PerSample(at, dtype))
    assert [row.tolist() for row in rows] == [x[3].tolist(), x[0].tolist()]


@for_each(
    ("args", "error", "text"),
    [
        ({"at_0": 4}, IndexError, "index 4 is out of range for axis 0 of extent 4"),
        ({"at_1": -4}, IndexError, "index -4 is out of range for axis 1 of extent 3"),
        ({"at_2": 0}, IndexError, "3 subscripts for a tensor of 2 dimensions"),
        ({"num_subscripts": 3}, IndexError, "3 subscripts for a tensor of 2 dimensions"),
        ({"at_0": 1, "lo_0": 1}, ValueError, "subscript 0 is both a position"),
        ({"step_1": 0}, ValueError, "step of the subscript of axis 1 is 0"),
        ({"step_1": torch.tensor(0)}, ValueError, "step of the subscript of axis 1 is 0"),
        ({"at_0": 1, "at_1": 1, "num_subscripts": 1}, ValueError, "`num_subscripts` is 1"),
        ({"at_0": 1, "ellipsis": 2}, ValueError, "`ellipsis` is 2, expected 0 to 1"),
        ({"at_0": torch.tensor([1])}, ValueError, "one integer a sample"),
        ({"at_0": torch.tensor(1.0)}, TypeError, "`at_0` takes integers, got float32"),
        ({"at_0": torch.tensor(True)}, TypeError, "`at_0` takes integers, got bool"),
    ],
)
def test_wrong_subscripts_are_errors(args, error, text):
    with pytest.raises(error, match=text):
        run_op("tensor_subscript", ramp((4, 3)), **args)


def test_too_few_dimensions_are_an_error():
    with pytest.raises(IndexError, match=r"fn.subscript_dim_check: there are 3 subscripts"):
        run_op("subscript_dim_check", ramp((4, 3)), num_subscripts=3)
