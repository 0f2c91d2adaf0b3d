# SPDX-License-Identifier: Apache-2.0
"""Expressions as a whole: fused and single steps are equal; errors; merging; what a build costs."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchdali import Pipeline, errors, fn, math, pipeline_def
from torchdali._graph.expression import parse_step

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

DTYPES = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
DTYPES += ["float16", "float32", "float64", "bool"]
# All of them broadcast together; some are larger than a tile.
SHAPES = [(7, 100, 3), (100, 3), (100, 1), (7, 1, 3), (3,), (1,), (), (1, 7, 100, 3)]

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "/": operator.truediv,
    "%": operator.mod,
    "<": operator.lt,
    "==": operator.eq,
    ">=": operator.ge,
    "min": math.min,
    "max": math.max,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "minus": operator.neg,
    "abs": abs,
    "sqrt": math.sqrt,
    "floor": math.floor,
}


def run(
    define: Callable[..., Any],
    operands: Sequence[list[np.ndarray]],
    **options: Any,
) -> list[list[np.ndarray]]:
    """Returns the samples of each output of an expression on batches."""
    size = len(operands[0])
    pipe = Pipeline(batch_size=size, device_id=None, **{"num_threads": 1, **options})
    with pipe:
        nodes = [fn.external_source(name=f"x{i}") for i in range(len(operands))]
        made = define(*nodes)
        pipe.set_outputs(*(made if isinstance(made, tuple) else (made,)))
    try:
        pipe.build()
        for i, batch in enumerate(operands):
            pipe.feed_input(f"x{i}", batch)
        return [[np.array(out.at(i)) for i in range(size)] for out in pipe.run()]
    finally:
        pipe.close()


def samples(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(-50, 50, shape).astype(dtype)


@dataclass(frozen=True)
class Tree:
    """An expression: an operand by its number, a constant, or an operation on trees."""

    name: str
    parts: tuple[Any, ...]

    def build(self, nodes: Sequence[Any]) -> Any:
        """Returns the expression over data nodes."""
        if self.name == "operand":
            return nodes[self.parts[0]]
        if self.name == "constant":
            return self.parts[0]
        values = [part.build(nodes) for part in self.parts]
        return (BINARY if self.name in BINARY else UNARY)[self.name](*values)


operands_of_trees = st.builds(lambda i: Tree("operand", (i,)), st.integers(0, 2))
constants = st.builds(lambda v: Tree("constant", (v,)), st.sampled_from([3, -2, 0.5, 7.25]))


def combine(trees: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    names = st.sampled_from(sorted(BINARY))
    return st.one_of(
        st.builds(lambda n, a, b: Tree(n, (a, b)), names, trees, st.one_of(trees, constants)),
        st.builds(lambda n, a, b: Tree(n, (a, b)), names, constants, trees),
        st.builds(lambda n, a: Tree(n, (a,)), st.sampled_from(sorted(UNARY)), trees),
    )


trees = st.recursive(operands_of_trees, combine, max_leaves=10)


@settings(max_examples=60, deadline=None)
@given(
    several=st.lists(trees, min_size=1, max_size=2),
    dtypes=st.lists(st.sampled_from(DTYPES), min_size=3, max_size=3),
    shapes=st.lists(st.sampled_from(SHAPES), min_size=3, max_size=3),
    seed=st.integers(0, 1000),
)
def test_fused_expressions_are_bit_identical_to_single_steps(several, dtypes, shapes, seed):
    batch = [
        [samples(shape, dtype, seed + 10 * i + j) for j in range(2)]
        for i, (dtype, shape) in enumerate(zip(dtypes, shapes, strict=True))
    ]

    def define(*nodes: Any) -> tuple[Any, ...]:
        return (*(tree.build(nodes) for tree in several), *nodes)

    results = []
    for fusion in ("1", "0"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TORCHDALI_FUSION", fusion)
            try:
                results.append(run(define, batch))
            except errors.ArgumentTypeError as error:  # booleans instead of numbers
                results.append(str(error))
    fused, single = results
    if isinstance(single, str):
        assert fused == single
        return
    for ours, theirs in zip(fused, single, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_array_equal(a, b)
            if a.dtype.kind == "f":
                np.testing.assert_array_equal(
                    np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)])
                )


def test_the_steps_of_an_expression_become_one_operator_and_equal_numpy():
    image = samples((60, 50, 3), "uint8", 1)
    mean = np.array([10.5, 20.25, 30.125], np.float32)
    scale = np.array([0.5, 0.1, 0.3], np.float32)

    def define(x: Any, m: Any, s: Any) -> Any:
        return math.max((x - m) * (1 / s) + 0.5, -3.0) < x

    expected = np.maximum(
        (image - mean) * (np.float32(1) / scale) + np.float32(0.5), np.float32(-3)
    )
    (result,) = run(define, [[image], [mean], [scale]])
    np.testing.assert_array_equal(result[0], expected < image)


def test_shared_steps_are_computed_once():
    x = samples((30, 40), "float32", 1)

    def define(node: Any) -> tuple[Any, ...]:
        shown = node * 2
        twice = shown - 1
        return twice * twice + twice, shown

    result, shown = run(define, [[x]])
    t = x * 2 - 1
    np.testing.assert_array_equal(result[0], t * t + t)
    np.testing.assert_array_equal(shown[0], x * 2)


def test_small_operands_are_combined_before_they_are_broadcast():
    row, column, image = (samples(s, "float32", 3) for s in [(1, 80), (90, 1), (90, 80)])
    column_sum = (column + 1) * (column - 2)

    def define(r: Any, c: Any, i: Any) -> Any:
        both = (c + 1) * (c - 2)  # 90 values, used by two loops
        return i * both + (both / (r + 0.25)) * (r * 2)

    (result,) = run(define, [[row], [column], [image]])
    quarter = np.float32(0.25)
    expected = image * column_sum + (column_sum / (row + quarter)) * (row * 2)
    np.testing.assert_array_equal(result[0], expected)


def test_samples_may_differ_in_shape_and_batches_in_size():
    shapes = [(5, 4), (0, 4), (3000, 4), (1, 4), (2, 4)]
    x = [samples(s, "int16", i) for i, s in enumerate(shapes)]
    y = [samples((4,), "uint8", i) for i in range(len(shapes))]
    (result,) = run(lambda a, b: (a - b) * 2 + a, [x, y], num_threads=3)
    for a, b, r in zip(x, y, result, strict=True):
        np.testing.assert_array_equal(r, (a.astype(np.int32) - b) * 2 + a)


def test_scalars_and_empty_samples_are_supported():
    scalar, nothing = np.float32(2.5), np.zeros((0, 3), np.float32)
    first, second = run(lambda a, b: ((a + 1) * a, b * a + b), [[scalar], [nothing]])
    assert first[0].shape == ()
    assert first[0] == 8.75
    assert second[0].shape == (0, 3)


def test_an_error_inside_an_expression_names_the_line_of_its_step(monkeypatch):
    x, y = samples((2, 3), "float32", 1), samples((2,), "float32", 1)
    messages = []
    for fusion in ("1", "0"):
        monkeypatch.setenv("TORCHDALI_FUSION", fusion)

        def define(a: Any, b: Any) -> Any:
            doubled = a * 2
            wrong = doubled + b
            return -wrong * 3

        with pytest.raises(errors.ArgumentError) as caught:
            run(define, [[x], [y]])
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "arithmetic: operands of `+` have shapes [2, 3] and [2]" in messages[0]
    assert "wrong = doubled + b" in messages[0]
    assert "sample 0 of 1" in messages[0]


def test_a_last_step_that_fails_names_its_own_line():
    def define(a: Any, b: Any) -> Any:
        started = a + 1.5
        broken = started & b
        return broken

    operands = [[samples((2,), "uint8", 1)]] * 2
    with pytest.raises(errors.ArgumentTypeError, match="(?s)`&` takes integers.*broken = "):
        run(define, operands)


def test_expressions_of_two_constants_are_errors():
    with pytest.raises(TypeError, match=r"at least one DataNode, got 1, 2(?s:.*)compute what is"):
        math.min(1, 2)
    with pytest.raises(TypeError, match="at least one DataNode"):
        math.sqrt(2.0)


@pytest.mark.parametrize(
    "operand", ["text", None, 1j, object()], ids=["str", "None", "complex", "object"]
)
def test_an_operand_that_is_no_number_is_an_error_with_its_line(operand):
    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipe:
        node = fn.external_source(name="x")
        for wrong in (lambda: node + operand, lambda: math.max(operand, node)):
            with pytest.raises(TypeError, match="(?s)operand.*test_expressions.py"):
                wrong()


def test_equal_expressions_are_one_operator():
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def definition() -> tuple[Any, ...]:
        x = fn.random.uniform(range=[0.0, 1.0])
        return (x + 1) * 2, (x + 1) * 2, (x + 1.0) * 2, (1 + x) * 2

    pipe = definition()
    pipe.build()
    out = [np.array(o.at(0)) for o in pipe.run()]
    assert out[0] == out[1] == out[2] == out[3]
    pipe.close()


@pytest.mark.parametrize(
    "text",
    [
        "add &0 &1",
        "minus %3",
        "sub &0 127.5:float32",
        "mul -9223372036854775808:int64 &0",
        "bitor &0 18446744073709551615:uint64",
        "add &0 1:bool",
        "min &0 nan:float32",
        "max -inf:float64 &0",
        "add 1e-45:float16 -0.0:float32",
    ],
)
def test_a_step_is_read_back_from_its_text(text):
    step = parse_step(text)
    assert str(step) == text
    assert repr(step) == repr(text)


@pytest.mark.parametrize(
    "text",
    [
        "add &",
        "add &-1",
        "add &9999999",
        "add 1",
        "add 1:int",
        "add 1.5:int32",
        "add 1_0:int32",
        "add 18446744073709551616:uint64",
        "add x:float32",
        "add  &0",
    ],
)
def test_text_that_is_no_step_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011
        parse_step(text)


@pytest.mark.parametrize("operation", BINARY)
def test_an_array_on_the_left_is_an_operand(operation):
    array, data = np.int32([3, 5, 9]), np.int32([1, 2, 3])
    (result,) = run(lambda x: BINARY[operation](array, x), [[data]])
    (expected,) = run(lambda a, x: BINARY[operation](a, x), [[array], [data]])
    np.testing.assert_array_equal(result[0], expected[0])


@pytest.mark.parametrize(
    ("function", "fix"),
    [
        (np.sqrt, "use torchdali.math.sqrt"),
        (np.arctan2, "use torchdali.math.atan2"),
        (np.sum, "fn.reductions.sum"),
        (np.add.reduce, "fn.reductions.sum"),
    ],
)
def test_functions_of_numpy_are_refused_with_what_to_use(function, fix):
    node = fn.external_source(name="x")
    args = (node, node) if function is np.arctan2 else (node,)
    with pytest.raises(errors.ArgumentTypeError, match="functions of NumPy take data") as caught:
        function(*args)
    assert fix in caught.value.fix


def test_results_do_not_depend_on_threads():
    x = [samples((40, 33, 3), "uint8", i) for i in range(16)]
    y = [samples((3,), "float32", i) for i in range(16)]
    one, many = (
        run(lambda a, b: math.exp((a - b) / 50) + a, [x, y], num_threads=n) for n in (1, 8)
    )
    for a, b in zip(one[0], many[0], strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_work_to_build_a_pipeline_is_proportional_to_its_operators():
    def calls(operators: int) -> int:
        """Returns how many functions a build calls."""
        count = 0

        def note(frame: object, event: str, argument: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
        sys.setprofile(note)
        try:
            with pipe:
                x = fn.random.uniform(range=[0.0, 1.0])
                for _ in range(operators // 3):
                    x = fn.copy(x * 2 + 1)
                pipe.set_outputs(x)
            pipe.build()
        finally:
            sys.setprofile(None)
        pipe.close()
        return count

    calls(3)  # what is loaded by the first one
    assert calls(990) - calls(660) <= 1.02 * (calls(660) - calls(330))
