# SPDX-License-Identifier: Apache-2.0
"""Operators on data nodes and torchdali.math: types, values, shapes and layouts are DALI's."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from helpers import dali_oracle, expressions
from helpers.cases import for_each
from helpers.expressions import LIBRARY_FUNCTIONS

from torchdali import errors

# Some cases divide by zero or take roots of negative numbers on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

INTEGERS = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
DALI_TYPES = [*INTEGERS, "float32", "float64", "bool"]  # DALI's CPU has no float16
ALL_TYPES = [*DALI_TYPES, "float16"]

ARITHMETIC = ["a + b", "a - b", "a * b", "a // b", "a / b", "a ** b"]
FUNCTIONS_OF_TWO = ["math.min(a, b)", "math.max(a, b)", "math.pow(a, b)"]
FLOATING_OF_TWO = ["math.fpow(a, b)", "math.atan2(a, b)"]
COMPARISONS = ["a == b", "a != b", "a < b", "a <= b", "a > b", "a >= b"]
BITWISE = ["a & b", "a | b", "a ^ b"]
ALL_OF_TWO = ARITHMETIC + FUNCTIONS_OF_TWO + FLOATING_OF_TWO + COMPARISONS + BITWISE
FUNCTIONS_OF_ONE = ["abs", "fabs", "floor", "ceil", "sqrt", *LIBRARY_FUNCTIONS]


@dataclass(frozen=True)
class Result:
    """One output: a sample, its layout."""

    value: np.ndarray
    layout: str = ""


def evaluated(
    evaluate: Any,
    codes: Sequence[str],
    operands: Mapping[str, Any],
    layouts: Mapping[str, str] | None = None,
) -> list[Result]:
    """Returns what the expressions give for one sample, of all in one pipeline."""
    sources = {
        name: ((layouts or {}).get(name, ""), [[torch.from_numpy(np.array(value))]])
        for name, value in operands.items()
    }
    (outputs,) = evaluate(f"({', '.join(codes)},)", sources, batch_size=1)
    return [Result(out.samples[0].numpy(), out.layout) for out in outputs]


compute = functools.partial(evaluated, expressions.evaluate)
dali = functools.partial(evaluated, expressions.evaluate_in_dali)


def assert_same(actual: Result, expected: Result, what: str) -> None:
    """Fails unless type, shape, layout and all bits but those of NaN are equal."""
    assert actual.value.dtype == expected.value.dtype, what
    assert actual.value.shape == expected.value.shape, what
    assert actual.layout == expected.layout, what
    np.testing.assert_array_equal(actual.value, expected.value, err_msg=what)
    if actual.value.dtype.kind == "f":
        number = ~np.isnan(expected.value)
        signs = (np.signbit(r.value[number]) for r in (actual, expected))
        np.testing.assert_array_equal(*signs, err_msg=what)


def assert_parity(
    codes: Sequence[str],
    operands: Mapping[str, Any],
    layouts: Mapping[str, str] | None = None,
) -> None:
    """Fails unless the expressions give what they give in DALI."""
    expected = dali(codes, operands, layouts)
    for code, ours, theirs in zip(codes, compute(codes, operands, layouts), expected, strict=True):
        assert_same(ours, theirs, code)


def edges(dtype: str) -> np.ndarray:
    """Returns values of a type where operations go wrong: limits, signs, small and large."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind == "f":
        return np.array([0.0, -0.0, 1.5, -2.5, 3.0, 0.3, 1e4, -7.0, np.inf, np.nan], kind)
    limits = np.iinfo(kind)
    wanted = [0, 1, 2, 3, 7, limits.max, limits.max // 2, limits.min, -1, -3, 100]
    return np.array([v for v in wanted if limits.min <= v <= limits.max], kind)


def pairs(left: str, right: str, *, divisor: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Returns all pairs of edges(); with `divisor` none that crashes DALI as it divides."""
    a, b = (x.ravel() for x in np.meshgrid(edges(left), edges(right)))
    if divisor:  # of the promoted type, where uint64 may become -1
        fits = (b != 0) & ~((b.astype(np.float64) == -1) | (b == np.uint64(2**64 - 1)))
        a, b = a[fits], b[fits]
    return a, b


def is_floating(dtype: str) -> bool:
    return np.dtype(dtype).kind == "f"


def names_of(left: str, right: str) -> list[str]:
    """Returns the operations that two types have."""
    codes = [*COMPARISONS, "a * b"]
    if not (is_floating(left) or is_floating(right)):
        codes = codes + BITWISE
    if not left == right == "bool":
        codes = codes + ARITHMETIC + FUNCTIONS_OF_TWO + FLOATING_OF_TWO
    return codes


@pytest.mark.dali
@pytest.mark.parametrize("left", DALI_TYPES)
def test_promotion_and_values_of_every_pair_of_types_equal_dali(left):
    for right in DALI_TYPES:
        codes = names_of(left, right)
        a, b = pairs(left, right, divisor=True)
        assert_parity([c for c in codes if c not in COMPARISONS], {"a": a, "b": b})
        a, b = pairs(left, right)
        if is_floating(left) != is_floating(right):
            # See test_a_negative_integer_is_compared_with_floating_values_by_value.
            integers = b if is_floating(left) else a
            a, b = a[integers >= 0], b[integers >= 0]
        assert_parity([c for c in codes if "//" not in c], {"a": a, "b": b})


@pytest.mark.dali
@for_each("dtype", [t for t in DALI_TYPES if t != "bool"])
def test_functions_of_one_operand_equal_dali(dtype):
    codes = [f"math.{name}(x)" for name in FUNCTIONS_OF_ONE] + ["-x", "+x", "math.abs(-x)"]
    assert_parity(codes, {"x": edges(dtype)})
    if not is_floating(dtype):
        return
    grid = np.linspace(-4, 4, 1001).astype(dtype)
    assert_parity(codes, {"x": grid})
    # DALI starts from an estimate, and gives NaN for 0.
    positive = np.geomspace(1e-6, 1e6, 999).astype(dtype)
    ours, theirs = (run(["math.rsqrt(x)"], {"x": positive})[0].value for run in (compute, dali))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    np.testing.assert_array_equal(ours, np.array(1, dtype) / np.sqrt(positive))


@pytest.mark.dali
def test_clamp_equals_dali():
    u8 = np.arange(256, dtype=np.uint8)
    codes = [
        "math.clamp(x, 2, 100)",
        "math.clamp(x, 2, 100.5)",
        "math.clamp(x, 100, 2)",
        "math.clamp(5, x, 100)",
        "math.clamp(150, 7, x)",
        "math.clamp(x, True, np.uint8(7))",
        "math.clamp(x, np.int8(-3), np.uint16(7))",
        "math.clamp(x, types.Constant(3).int64(), 200)",
    ]
    assert_parity(codes, {"x": u8})
    nan = np.float32(np.nan)
    values = np.array([0.0, -0.0, 1.0, -1.0, nan, np.inf, -3.0, 2.0], np.float32)
    v, lo, hi = (x.ravel() for x in np.meshgrid(values, values, values))
    assert_parity(["math.clamp(v, lo, hi)"], {"v": v, "lo": lo, "hi": hi})
    column, row = np.arange(3, dtype=np.int16)[:, None] * 100, np.array([5.5, 6, 7])
    assert_parity(["math.clamp(a, b, 150)", "math.clamp(0, a, b)"], {"a": column, "b": row})


SCALARS = [
    "5",
    "-5",
    "2.5",
    "-0.5",
    "True",
    "False",
    "0",
    "float('nan')",
    "float('inf')",
    "1e300",
    "np.int8(3)",
    "np.uint8(3)",
    "np.int64(3)",
    "np.float32(1.5)",
    "np.bool_(True)",
    "np.array(2.5)",
    "np.array(7, np.int16)",
    "types.Constant(300).uint8()",
    "types.Constant(3, dtype=types.INT64)",
    "types.Constant(3.7, dtype=types.UINT8)",
    "types.Constant(0.5).float64()",
    "types.Constant(7).uint64()",
]


@pytest.mark.dali
@pytest.mark.parametrize("dtype", DALI_TYPES)
def test_scalar_operands_of_every_kind_equal_dali(dtype):
    x = edges(dtype)
    if np.dtype(dtype).kind == "i":
        x = x[x >= 0]  # 2.5 > -1 is false in DALI
    codes = []
    for scalar in SCALARS:
        alone = dtype == "bool" and scalar in ("True", "False", "np.bool_(True)")
        operators = ["*", "==", "<", ">="] if alone else ["+", "-", "*", "/", "<", ">=", "!="]
        if is_floating(dtype) and "-" in scalar:
            operators = ["+", "-", "*", "/"]
        codes += [f"x {op} {scalar}" for op in operators]
        if not scalar.startswith("np."):  # there NumPy looks for arithmetic in DALI's nodes
            codes += [f"{scalar} {op} x" for op in operators]
        codes += [] if alone else [f"math.min(x, {scalar})", f"math.max({scalar}, x)"]
    assert_parity(codes, {"x": x})


BROADCASTS = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((4, 2, 3), (2, 1)),
    ((1, 3), (2, 1)),
    ((), (3,)),
    ((1,), (3,)),
    ((), ()),
    ((0, 3), (3,)),
    ((0,), (1,)),
    ((0, 3), (1, 1)),
    ((2, 3, 4), (1,)),
    ((5, 1, 3, 1), (4, 1, 2)),
    ((1, 1, 1, 1, 1, 1, 1), (2, 2, 2, 2, 2, 2, 2)),
    ((40, 50, 3), (50, 3)),
    ((40, 50, 3), (40, 50, 1)),
    ((40, 50, 3), (40, 1, 3)),
    ((40, 50, 3), (40, 1, 1)),
    ((3, 40, 50), (3, 1, 1)),
    ((3, 40, 50), (40, 1)),
    ((2, 2000), (2000,)),
    ((3000, 1), (1, 5)),
    ((50, 1, 2), (1, 40, 1)),
    ((2, 1500, 1), (2, 1, 2)),
    ((7, 300, 4), (300, 1)),
]


@pytest.mark.dali
@for_each(("left", "right"), BROADCASTS)
def test_broadcasting_equals_dali(left, right):
    rng = np.random.default_rng(1)
    a = rng.integers(0, 200, left).astype(np.uint8)
    b = rng.integers(-100, 100, right).astype(np.float32)
    codes = ["a + b", "b - a", "(a - b) * (a + 1.5)", "math.max(a * 2, b) + (b - 1)"]
    assert_parity(codes, {"a": a, "b": b})


@pytest.mark.dali
@for_each(
    ("left", "right", "left_layout", "right_layout"),
    [
        ((2, 2, 3), (3,), "HWC", ""),
        ((2, 2, 3), (3,), "HWC", "C"),
        ((2, 2, 3), (2, 2, 3), "", "HWC"),
        ((2, 2, 3), (2, 3), "HWC", "WC"),
        ((3,), (2, 2, 3), "C", "HWC"),
        ((2, 2, 3), (2, 3), "", "HW"),
        ((2, 2, 3), (1, 2, 2, 3), "HWC", ""),
        ((1,), (2,), "X", ""),
        ((2, 2, 3), (), "HWC", ""),
        ((), (2, 2, 3), "", "HWC"),
    ],
)
def test_layouts_equal_dali(left, right, left_layout, right_layout):
    operands = {"a": np.ones(left, np.uint8), "b": np.ones(right, np.uint8)}
    codes = ["a + b", "-a", "math.sqrt(b)", "(a * 2) - b", "b == a"]
    assert_parity(codes, operands, {"a": left_layout, "b": right_layout})


@pytest.mark.dali
@for_each(
    ("code", "left", "right", "layouts", "error"),
    [
        ("a + b", np.ones((2, 3)), np.ones(2), {}, ValueError),
        ("a + b", np.ones(0), np.ones(5), {}, ValueError),
        (
            "a + b",
            np.ones((2, 2, 2)),
            np.ones((2, 2, 2)),
            {"a": "HWC", "b": "CHW"},
            errors.LayoutError,
        ),
        ("a + b", np.ones((2, 2, 2)), np.ones((2, 2)), {"a": "HWC", "b": "HW"}, errors.LayoutError),
        ("a + b", np.ones((2, 3)), np.ones((2, 2, 3)), {"a": "HW", "b": "HWC"}, errors.LayoutError),
        ("a + b", np.array([True]), np.array([True]), {}, TypeError),
        ("-b", np.array([True]), np.array([True]), {}, TypeError),
        ("math.sqrt(b)", np.array([True]), np.array([True]), {}, TypeError),
        ("math.abs(b)", np.array([True]), np.array([True]), {}, TypeError),
        ("a & b", np.ones(2, np.float32), np.ones(2, np.uint8), {}, TypeError),
        ("a | 1.5", np.ones(2, np.uint8), np.ones(2, np.uint8), {}, TypeError),
    ],
)
def test_what_dali_refuses_is_refused(code, left, right, layouts, error):
    operands = {"a": left, "b": right}
    with pytest.raises(dali_oracle.DaliError):
        dali([code], operands, layouts)
    with pytest.raises(error, match=r"^arithmetic: "):
        compute([code], operands, layouts)


# What DALI 1.35 does not do, or does wrong.


@for_each("integer", ["int8", "int16", "int32", "int64"])
@for_each("floating", ["float32", "float64"])
def test_a_negative_integer_is_compared_with_floating_values_by_value(integer, floating):
    """DALI has -1 < -7.0 and even -1 < NaN."""
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
def test_float16_gives_way_to_wider_floating_types_only(other):
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


def test_numbers_and_arrays_of_numpy_stand_on_either_side():
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


@pytest.mark.dali
def test_lists_and_arrays_as_operands_equal_dali():
    x = np.arange(12, dtype=np.uint8).reshape(4, 3)
    codes = ["x + [1, 2, 3]", "x * [0.5, 1.5, 2.0]", "x - np.arange(3, dtype=np.int16)"]
    codes += ["math.max(x, [5, 6, 7])", "x & np.array([[1], [2], [3], [4]], np.uint8)"]
    assert_parity(codes, {"x": x}, {"x": "HW"})
