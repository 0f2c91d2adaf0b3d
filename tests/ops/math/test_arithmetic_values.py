# SPDX-License-Identifier: Apache-2.0
"""Operators on data nodes that DALI lacks or gets wrong: divisions, shifts, float16, constants."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.arithmetic import COMPARISONS, DALI_TYPES, INTEGERS, compute, edges, pairs
from helpers.cases import for_each

# Some cases divide by zero or take roots of negative numbers on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


ALL_TYPES = [*DALI_TYPES, "float16"]


@for_each("integer", ["int8", "int16", "int32", "int64"])
@for_each("floating", ["float32", "float64"])
def test_a_negative_integer_is_compared_with_floating_values_by_value(integer, floating):
    """In DALI -1 < -7.0 and -1 < NaN are true."""
    a, b = pairs(integer, floating)
    for code, result in zip(COMPARISONS, compute(COMPARISONS, {"a": a, "b": b}), strict=True):
        np.testing.assert_array_equal(result.value, eval(code, {"a": a.astype(floating), "b": b}))
    mirrored = compute(COMPARISONS, {"a": b, "b": a})
    for code, result in zip(COMPARISONS, mirrored, strict=True):
        np.testing.assert_array_equal(result.value, eval(code, {"a": b, "b": a.astype(floating)}))


@for_each("dtype", INTEGERS)
def test_integers_divided_by_zero_give_zero(dtype):
    a, b = pairs(dtype, dtype)
    results = compute(["a // b", "a % b", "a // 0", "a % 0"], {"a": a, "b": b})
    limits = np.iinfo(dtype)
    for x, y, quotient, remainder in zip(a, b, results[0].value, results[1].value, strict=True):
        x, y = int(x), int(y)
        expected = 0 if y == 0 else abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)
        if expected > limits.max:  # the least number by -1
            expected = limits.min
        assert quotient == expected
        assert remainder == (
            0 if y == 0 else x - y * (abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1))
        )
    assert not results[2].value.any()
    assert not results[3].value.any()


def test_the_remainder_of_floating_values_has_the_sign_of_the_dividend():
    a = np.array([7.5, -7.5, 7.5, 1.0], np.float32)
    b = np.array([2.0, 2.0, -2.0, 0.0], np.float32)
    np.testing.assert_array_equal(compute(["a % b"], {"a": a, "b": b})[0].value, np.fmod(a, b))


@for_each("dtype", INTEGERS)
def test_shifts_past_the_width_and_negative_ones_are_defined(dtype):
    width = np.dtype(dtype).itemsize * 8
    a = edges(dtype)
    for by in (0, 1, 3, width - 1, width, width + 1, 100):
        b = np.full(a.shape, by, dtype)
        left, right = (r.value for r in compute(["a << b", "a >> b"], {"a": a, "b": b}))
        modulus = 1 << width
        for x, shifted, back in zip(a.tolist(), left.tolist(), right.tolist(), strict=True):
            assert shifted % modulus == (x << by) % modulus
            assert back == x >> by
    if np.dtype(dtype).kind == "i":
        b = np.full(a.shape, -1, dtype)
        left, right = (r.value for r in compute(["a << b", "a >> b"], {"a": a, "b": b}))
        assert not left.any()
        np.testing.assert_array_equal(right, np.where(a < 0, -1, 0))


def test_shifts_promote_like_other_operators():
    x = np.array([1, 2], np.uint8)
    results = compute(["x << 9", "x << np.uint8(1)", "1 << x", "x >> 1"], {"x": x})
    assert [r.value.tolist() for r in results] == [[512, 1024], [2, 4], [2, 4], [0, 1]]
    assert [r.value.dtype.name for r in results] == ["int32", "uint8", "int32", "int32"]


def test_bitwise_not_is_logical_for_booleans():
    assert compute(["~x"], {"x": np.array([True, False])})[0].value.tolist() == [False, True]
    assert compute(["~x"], {"x": np.array([0, 255, 5], np.uint8)})[0].value.tolist() == [
        255,
        0,
        250,
    ]
    assert compute(["~x"], {"x": np.array([0, -1], np.int64)})[0].value.tolist() == [-1, 0]
    with pytest.raises(TypeError, match="takes integers"):
        compute(["~x"], {"x": np.ones(2, np.float32)})


@for_each("other", ALL_TYPES)
def test_float16_is_promoted_by_wider_floating_types_only(other):
    x, y = np.array([1.5, -2.25, 3.0], np.float16), np.array([1, 0, 1]).astype(other)
    wanted = other if other in ("float32", "float64") else "float16"
    for code in ["a + b", "a - b", "a * b", "a / b", "math.max(a, b)"]:
        result = compute([code], {"a": x, "b": y})[0].value
        assert result.dtype == wanted
        names = {"a": x.astype(np.float64), "b": y.astype(np.float64), "math": np}
        expected = eval(code.replace("math.max", "math.maximum"), names)
        np.testing.assert_array_equal(result, expected.astype(wanted))
    comparison = compute(["a < b"], {"a": x, "b": y})[0].value
    np.testing.assert_array_equal(comparison, x.astype(np.float64) < y.astype(np.float64))


def test_float16_is_rounded_after_each_step():
    x = np.array([2048, 1, 3], np.float16)
    one = np.float16(1)
    result = compute(["(x + np.float16(1)) + np.float16(1)", "math.sqrt(x)"], {"x": x})
    np.testing.assert_array_equal(result[0].value, (x + one) + one)
    np.testing.assert_array_equal(result[1].value, np.sqrt(x.astype(np.float32)).astype(np.float16))
    assert result[1].value.dtype == np.float16


def test_constants_keep_their_value_in_wide_types():
    x = np.zeros(1, np.uint8)
    codes = ["x + np.int64(2**40)", "x + types.Constant(0.1).float64()", "x + np.float64(0.1)"]
    codes += ["x + np.uint64(2**63)", "x + types.Constant(2**62, dtype=types.INT64)"]
    values = [r.value for r in compute(codes, {"x": x})]
    assert [v.item() for v in values] == [2**40, 0.1, 0.1, 2**63, 2**62]
    assert [v.dtype.name for v in values] == ["int64", "float64", "float64", "uint64", "int64"]


def test_numpy_operands_may_be_on_either_side():
    x = np.array([1, 2, 3], np.uint8)
    codes = ["np.float32(2) * x", "np.float32(2) < x", "np.arange(3, dtype=np.int16) - x"]
    codes += ["[1.5, 2, 3] + x", "x - [1, 1, 1]", "np.float64(0.5) + x"]
    values = [r.value for r in compute(codes, {"x": x})]
    assert [v.tolist() for v in values] == [
        [2.0, 4.0, 6.0],
        [False, False, True],
        [-1, -1, -1],
        [2.5, 4.0, 6.0],
        [0, 1, 2],
        [1.5, 2.5, 3.5],
    ]
    types_of = [v.dtype.name for v in values]
    assert types_of == ["float32", "bool", "int16", "float32", "int32", "float64"]
