# SPDX-License-Identifier: Apache-2.0
"""Expressions and subscripts on GPU nodes equal those on CPU nodes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.expressions import LIBRARY_FUNCTIONS

import torchdali
from torchdali import Pipeline, errors, fn, math, pipeline_def, types

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

INTEGERS = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
ALL_TYPES = [*INTEGERS, "float16", "float32", "float64", "bool"]

ARITHMETIC = ["a + b", "a - b", "a * b", "a // b", "a / b", "a % b"]
OF_TWO = [*ARITHMETIC, "math.min(a, b)", "math.max(a, b)"]
COMPARISONS = ["a == b", "a != b", "a < b", "a <= b", "a > b", "a >= b"]
BITWISE = ["a & b", "a | b", "a ^ b"]
# Functions that a GPU rounds like a CPU.
EXACT_FUNCTIONS = ["abs", "fabs", "floor", "ceil", "sqrt", "rsqrt"]


def evaluate(device: str, codes: list[str], operands: Mapping[str, Any]) -> list[torch.Tensor]:
    """Returns the results of the expressions for one sample, and checks their device."""
    pipe = Pipeline(1, 1, None, seed=1, prefetch_queue_depth=1)
    named = {n.id for n in ast.walk(ast.parse(",".join(codes))) if isinstance(n, ast.Name)}
    used = {name: value for name, value in operands.items() if name in named}
    with pipe:
        names: dict[str, Any] = {"fn": fn, "math": math, "np": np, "types": types}
        names["newaxis"] = torchdali.newaxis
        for name in used:
            node = fn.external_source(name=name)
            names[name] = node.gpu() if device == "gpu" and not name.startswith("host") else node
        outputs = [eval(code, names) for code in codes]
        assert all(node.device == device for node in outputs)
        pipe.set_outputs(*outputs)
    try:
        pipe.build()
        for name, value in used.items():
            pipe.feed_input(name, [torch.from_numpy(np.array(value))])
        return [out.as_torch_list()[0].cpu().clone() for out in pipe.run()]
    finally:
        pipe.close()


def check(
    codes: list[str], operands: Mapping[str, Any], backend: str = "cpu", rtol: float = 0
) -> None:
    """Compares all bits but those of NaN; on a GPU up to `rtol`."""
    ours, theirs = (evaluate(device, codes, operands) for device in ("gpu", "cpu"))
    for code, a, b in zip(codes, ours, theirs, strict=True):
        assert a.dtype == b.dtype, code
        assert a.shape == b.shape, code
        x, y = a.numpy(), b.numpy()
        if backend == "cuda" and rtol:
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol, err_msg=code)
            continue
        np.testing.assert_array_equal(x, y, err_msg=code)
        if x.dtype.kind == "f":
            number = ~np.isnan(y)
            np.testing.assert_array_equal(np.signbit(x[number]), np.signbit(y[number]), code)


def edges(dtype: str) -> np.ndarray:
    """Returns extreme values of a type: limits, signs, small and large."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind == "f":
        return np.array([0.0, -0.0, 1.5, -2.5, 3.0, 0.3, 1e4, -7.0, np.inf, np.nan], kind)
    limits = np.iinfo(kind)
    wanted = [0, 1, 2, 3, 7, 9, 33, limits.max, limits.max // 2, limits.min, -1, -3, 100]
    return np.array([v for v in wanted if limits.min <= v <= limits.max], kind)


@pytest.mark.parametrize("left", ALL_TYPES)
def test_every_operation_on_every_pair_of_types_equals_the_cpu(left, backend):
    for right in ALL_TYPES:
        a, b = (x.ravel() for x in np.meshgrid(edges(left), edges(right)))
        is_floating = "f" in (a.dtype.kind, b.dtype.kind)
        codes = [*COMPARISONS, "a * b"]
        if not is_floating:
            codes += BITWISE
        if not left == right == "bool":
            codes += [*OF_TWO, "math.clamp(a, b, 100)", "math.clamp(b, a, 2.5)"]
            codes += [] if is_floating else ["a << b", "a >> b", "a ** b"]
        check(codes, {"a": a, "b": b})
        if not left == right == "bool":
            powers = ["math.fpow(a, b)", "math.atan2(a, b)"] + ["a ** b"] * is_floating
            check(powers, {"a": a, "b": b}, backend, 2e-3 if "float16" in (left, right) else 1e-5)


@for_each("dtype", [t for t in ALL_TYPES if t != "bool"])
def test_functions_of_one_operand_equal_the_cpu(dtype, backend):
    x = edges(dtype)
    if x.dtype.kind == "f":
        x = np.concatenate([x, np.linspace(-4, 4, 200).astype(dtype)])
    exact = [f"math.{name}(x)" for name in EXACT_FUNCTIONS] + ["-x", "+x", "math.abs(-x)"]
    check(exact + (["~x"] if x.dtype.kind in "iu" else []), {"x": x})
    # float16 is rounded from float.
    tolerance = {"float16": 2e-3, "float64": 1e-12}.get(dtype, 1e-5)
    check(
        [f"math.{name}(x)" for name in LIBRARY_FUNCTIONS], {"x": x[abs(x) < 80]}, backend, tolerance
    )


def test_operations_on_booleans_equal_the_cpu(backend):
    del backend
    check(["~x", "x * x", "x & True", "x ^ x", "x + 1"], {"x": np.array([True, False])})


@for_each(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((4, 2, 3), (2, 1)),
        ((1, 3), (2, 1)),
        ((), (3,)),
        ((), ()),
        ((0, 3), (3,)),
        ((5, 1, 3, 1), (4, 1, 2)),
        ((1, 1, 1, 1, 1, 1, 1), (2, 2, 2, 2, 2, 2, 2)),
        ((40, 50, 3), (50, 3)),
        ((40, 50, 3), (40, 1, 3)),
        ((3, 40, 50), (40, 1)),
    ],
)
def test_broadcasting_equals_the_cpu(left, right, backend):
    del backend
    rng = np.random.default_rng(1)
    a = rng.integers(0, 200, left).astype(np.uint8)
    b = rng.integers(-100, 100, right).astype(np.float32)
    codes = ["a + b", "b - a", "(a - b) * (a + 1.5)", "math.max(a * 2, b) + (b - 1)"]
    check(codes, {"a": a, "b": b})


def test_operands_on_the_host_are_copied(backend):
    del backend
    x = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    mean = np.array([1, 2, 3], np.float32)
    check(["(x - host_mean) / 2", "host_mean * x + np.float32(0.5)"], {"x": x, "host_mean": mean})


def test_programs_may_have_many_intermediate_results(backend):
    del backend
    terms = [f"(x * {i})" for i in range(1, 41)]
    code = f"(lambda t: sum(t[1:], t[0]))([{', '.join(terms)}])"
    check([code], {"x": np.arange(5, dtype=np.int32)})
    shared = "(lambda y: (y * y + y) - y * (y + y * y))(x * 2 + 1)"
    check([shared], {"x": np.arange(5, dtype=np.int16)})


def test_too_many_intermediate_results_are_an_error(backend):
    del backend
    code = f"(lambda t: sum(t[1:], t[0]))([{', '.join(f'(x * {i})' for i in range(1, 71))}])"
    with pytest.raises(errors.UnsupportedError, match="on the GPU"):
        evaluate("gpu", [code], {"x": np.arange(5)})


def test_too_many_axes_are_an_error(backend):
    del backend
    a = np.ones((2, 1) * 5, np.float32)
    b = np.ones((1, 2) * 5, np.float32)
    with pytest.raises(errors.UnsupportedError, match="on the GPU at most 8"):
        evaluate("gpu", ["a + b"], {"a": a, "b": b})


@pytest.mark.parametrize("code", ["a + b", "a & b", "math.sqrt(c)", "c + c"])
def test_errors_equal_those_of_the_cpu(code, backend):
    del backend
    operands = {"a": np.ones((2, 3), np.float32), "b": np.ones(2), "c": np.array([True])}
    messages = []
    for device in ("gpu", "cpu"):
        with pytest.raises((ValueError, TypeError)) as caught:
            evaluate(device, [code], operands)
        messages.append(str(caught.value).splitlines()[0])
    assert messages[0] == messages[1]


def test_subscripts_equal_the_cpu(backend):
    del backend
    codes = ["x[1]", "x[1:3]", "x[::-1, 1:, 2]", "x[..., ::2]", "x[:, :, newaxis]", "x[i, -i:]"]
    codes = [code.replace("i", "host_i") if "x[i" in code else code for code in codes]
    x = np.random.default_rng(3).integers(0, 255, (4, 5, 6)).astype(np.uint8)
    check([*codes, "x[:, :]", "x[3:1]"], {"x": x, "host_i": np.array(2)})
    with pytest.raises(IndexError, match="out of range"):
        evaluate("gpu", ["x[7]"], {"x": x})


def test_samples_of_ragged_batches_broadcast_by_themselves(backend):
    del backend
    rng = np.random.default_rng(2)
    batches = [
        [rng.integers(0, 255, (4 + i, 3 + b, 3)).astype(np.uint8) for i in range(3)]
        for b in range(2)
    ]
    results = {}
    for device in ("gpu", "cpu"):
        pipe = Pipeline(3, 2, None, seed=1)
        with pipe:
            x = fn.external_source(batches, layout="HWC")
            x = x.gpu() if device == "gpu" else x
            pipe.set_outputs(x[1:, :, 0] * 2 + 1, (x - 127.5) / [1.0, 2.0, 3.0], x == x[0, 0, 0])
        with pipe:
            runs = [[t.cpu() for o in pipe.run() for t in o.as_torch_list()] for _ in batches]
        results[device] = [t for run in runs for t in run]
    torch.testing.assert_close(results["gpu"], results["cpu"], rtol=0, atol=0)


def test_a_predicate_must_be_on_the_cpu(backend):
    del backend

    @pipeline_def(batch_size=1, num_threads=1, device_id=None, enable_conditionals=True)
    def define():
        x = fn.external_source([[np.float32(1)]]).gpu()
        y = fn.external_source([[np.float32(2)]])
        return y + 1 if x > 0 else y

    with pytest.raises(errors.TorchdaliError, match="takes a DataNode on the CPU"):
        define()
