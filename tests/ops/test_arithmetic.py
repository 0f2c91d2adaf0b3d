# SPDX-License-Identifier: Apache-2.0
"""Operators on data nodes and torchdali.math: types, values, shapes and layouts, as DALI has them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers import dali_oracle

from torchdali import Pipeline, errors, fn, math, types

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
FUNCTIONS_OF_ONE = [
    "abs",
    "fabs",
    "floor",
    "ceil",
    "sqrt",
    "cbrt",
    "exp",
    "log",
    "log2",
    "log10",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
]


@dataclass(frozen=True)
class Result:
    """One output: a sample, its layout."""

    value: np.ndarray
    layout: str = ""


def compute(
    codes: Sequence[str],
    operands: Mapping[str, Any],
    layouts: Mapping[str, str] | None = None,
) -> list[Result]:
    """Returns what the expressions give for one sample, of all in one pipeline."""
    layouts = layouts or {}
    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipe:
        nodes = {
            name: fn.external_source(name=name, layout=layouts.get(name) or None)
            for name in operands
        }
        names = {"np": np, "math": math, "types": types, "fn": fn, **nodes}
        pipe.set_outputs(*(eval(code, names) for code in codes))
    try:
        pipe.build()
        for name, value in operands.items():
            pipe.feed_input(name, [np.asarray(value)])
        outputs = pipe.run()
        return [Result(np.array(out.at(0)), out.layout()) for out in outputs]
    finally:
        pipe.close()


def dali(
    codes: Sequence[str],
    operands: Mapping[str, Any],
    layouts: Mapping[str, str] | None = None,
) -> list[Result]:
    """Returns what real DALI gives for the same."""
    layouts = layouts or {}
    nodes = [{"code": code, "outputs": [f"out_{i}"]} for i, code in enumerate(codes)]
    sources = {
        name: {"batches": [[np.asarray(value)]], "layout": layouts.get(name, "")}
        for name, value in operands.items()
    }
    outputs = dali_oracle.run_graph(nodes, [n["outputs"][0] for n in nodes], sources, batch_size=1)
    return [Result(out.samples[0].numpy(), out.layout) for out in outputs[0]]


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
    if divisor:
        fits = (b != 0) & ~((b.astype(np.float64) == -1) & (a.astype(np.float64) < -100))
        a, b = a[fits], b[fits]
    return a, b


def is_floating(dtype: str) -> bool:
    return np.dtype(dtype).kind == "f"


def names_of(left: str, right: str) -> list[str]:
    """Returns the operations that two types have."""
    codes = COMPARISONS + ["a * b"]
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
