# SPDX-License-Identifier: Apache-2.0
"""Operators on data nodes: types, values, shapes and layouts, compared with DALI."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from helpers import dali_oracle, expressions
from helpers.arithmetic import COMPARISONS, DALI_TYPES, Result, compute, edges, evaluated, pairs
from helpers.cases import for_each
from helpers.expressions import LIBRARY_FUNCTIONS

from torchdali import errors

# Some cases divide by zero or take roots of negative numbers on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


ARITHMETIC = ["a + b", "a - b", "a * b", "a // b", "a / b", "a ** b"]


FUNCTIONS_OF_TWO = ["math.min(a, b)", "math.max(a, b)", "math.pow(a, b)"]


FLOATING_OF_TWO = ["math.fpow(a, b)", "math.atan2(a, b)"]


BITWISE = ["a & b", "a | b", "a ^ b"]


ALL_OF_TWO = ARITHMETIC + FUNCTIONS_OF_TWO + FLOATING_OF_TWO + COMPARISONS + BITWISE


FUNCTIONS_OF_ONE = ["abs", "fabs", "floor", "ceil", "sqrt", *LIBRARY_FUNCTIONS]


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
    """Fails unless the expressions equal those of DALI."""
    expected = dali(codes, operands, layouts)
    for code, ours, theirs in zip(codes, compute(codes, operands, layouts), expected, strict=True):
        assert_same(ours, theirs, code)


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
    # DALI refines an estimate, and returns NaN for 0.
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
        if not scalar.startswith("np."):  # NumPy tries DALI's operators first
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


def test_samples_are_broadcast_one_by_one():
    """If only some samples of a batch need it, DALI 1.35 reads beyond the others."""
    left = [torch.arange(3), torch.arange(2)]
    right = [torch.tensor([10]), torch.tensor([20, 30])]
    sources = {"a": ("", [left]), "b": ("", [right])}
    ((out,),) = expressions.evaluate("(a + b,)", sources, batch_size=2)
    assert [s.tolist() for s in out.samples] == [[10, 11, 12], [20, 31]]


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
def test_expressions_that_dali_rejects_are_errors(code, left, right, layouts, error):
    operands = {"a": left, "b": right}
    with pytest.raises(dali_oracle.DaliError):
        dali([code], operands, layouts)
    with pytest.raises(error, match=r"^arithmetic: "):
        compute([code], operands, layouts)


@pytest.mark.dali
def test_lists_and_arrays_as_operands_equal_dali():
    x = np.arange(12, dtype=np.uint8).reshape(4, 3)
    codes = ["x + [1, 2, 3]", "x * [0.5, 1.5, 2.0]", "x - np.arange(3, dtype=np.int16)"]
    codes += ["math.max(x, [5, 6, 7])", "x & np.array([[1], [2], [3], [4]], np.uint8)"]
    assert_parity(codes, {"x": x}, {"x": "HW"})
