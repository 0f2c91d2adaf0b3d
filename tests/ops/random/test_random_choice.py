# SPDX-License-Identifier: Apache-2.0
"""fn.random.choice: elements of a list, or numbers below a bound."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.ops import Input, OpCase, PerSample, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

OP = "random.choice"
NO_PARITY = "random values, and DALI 1.35 has no such operator; its laws are tested here"
LIST = torch.tensor([3.5, -1.0, 7.0, 100.0])
DTYPES = [torch.uint8, torch.int8, torch.uint16, torch.int32, torch.int64, torch.uint64]
DTYPES += [torch.float16, torch.float64]


def case(a, args=None, **more):
    return OpCase(OP, args=args or {}, make=lambda _: a, no_parity=NO_PARITY, seed=11, **more)


CASES = [
    case(LIST),
    case(LIST, {"shape": [4, 3]}),
    case(LIST, {"shape": PerSample([[2, 1], [1, 3]])}),
    case(LIST, {"shape": 9, "p": [0.1, 0.2, 0.0, 0.7]}),
    case(LIST, {"shape": 9, "p": PerSample([[0.25, 0.25, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0]])}),
    case(LIST.reshape(2, 2), {"shape": 3}),
    case(torch.zeros(2, 3, 0), {"shape": 3}),
    case(torch.tensor(10), {"shape": 20}),
    case(LIST, {"shape": [0, 3]}),
    case(LIST, more_inputs=(Input(lambda i: torch.zeros(i + 1, 2)),)),
    *(case(torch.tensor(100).to(dtype), {"shape": 9}) for dtype in DTYPES[:6]),
    *(case(torch.arange(9).to(dtype), {"shape": 9}) for dtype in DTYPES),
]


@given(values=st.lists(st.integers(-99, 99), min_size=1), seed=st.integers(0, 99))
def test_choices_are_elements_of_the_list(values, seed):
    chosen = run_op(OP, torch.tensor(values), shape=[20], seed=seed)
    assert set(chosen.tolist()) <= set(values)


def test_elements_have_the_requested_frequency():
    chosen = run_op(OP, LIST, shape=[40000])
    assert all(abs((chosen == v).sum() - 10000) < 400 for v in LIST)
    weighted = run_op(OP, LIST, shape=[40000], p=[0.1, 0.2, 0.0, 0.7])
    counts = [int((weighted == v).sum()) for v in LIST]
    assert counts[2] == 0
    assert all(abs(c - e) < 400 for c, e in zip(counts, [4000, 8000, 0, 28000], strict=True))
    below = run_op(OP, torch.tensor(5), shape=[40000])
    assert (torch.bincount(below, minlength=5) - 8000).abs().max() < 400


def test_rows_of_a_matrix_are_chosen_whole():
    rows = torch.arange(12).reshape(4, 3)
    chosen = run_op(OP, rows, shape=[50])
    assert chosen.shape == (50, 3)
    assert {tuple(r) for r in chosen.tolist()} == {tuple(r) for r in rows.tolist()}


def test_choices_of_a_seed_equal_the_golden_values():
    assert run_op(OP, torch.tensor(100), shape=[8], seed=1234).tolist() == GOLDEN
    weighted = run_op(OP, LIST, shape=[8], seed=1234, p=[0.25, 0.25, 0.25, 0.25])
    assert weighted.tolist() == GOLDEN_WEIGHTED


GOLDEN = [85, 79, 32, 5, 92, 25, 74, 40]
GOLDEN_WEIGHTED = [100.0, 100.0, -1.0, 3.5, 100.0, -1.0, 7.0, -1.0]


@for_each(
    ("a", "args", "message"),
    [
        (torch.tensor(0), {}, "input `a` is 0, expected 1 or more"),
        (torch.tensor(-3), {}, "input `a` is -3, expected 1 or more"),
        (torch.zeros(0), {}, "input `a` has extent 0, expected 1 or more"),
        (torch.tensor(2.5), {}, "a single float32, expected an integer"),
        (LIST, {"p": [0.5, 0.5]}, "`p` has 2 values, expected one for each of the 4"),
        (LIST, {"p": [0.5, 0.5, 0.5, 0.5]}, "`p` adds up to 2, expected 1"),
        (LIST, {"p": [-0.5, 0.5, 0.5, 0.5]}, "`p` has -0.5, expected 0 to 1"),
        (LIST, {"p": [float("nan"), 0.5, 0.5, 0.0]}, "`p` has nan"),
        (LIST, {"shape": [-1]}, "`shape` has a negative extent"),
        (LIST, {"shape": [1 << 30, 1 << 30]}, "too many values"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(a, args, message):
    with pytest.raises(RuntimeError, match=message):
        run_op(OP, a, **args)


def test_a_shape_and_an_input_exclude_each_other():
    with pytest.raises(ValueError, match="`shape` excludes the input `shape_like`"):
        run_op(OP, LIST, torch.zeros(3), shape=[3])


def test_drawing_no_elements_takes_no_time():
    drawn = run_op("random.choice", torch.zeros(3, 0), shape=[2**40])
    assert drawn.shape == (2**40, 0)


@for_each(
    ("layout", "extents", "args", "expected"),
    [
        ("FHW", (5, 3, 4), {"shape": [2]}, "FHW"),
        ("FHW", (5, 3, 4), {}, "HW"),
        ("FHW", (5, 3, 4), {"shape": [2, 3]}, ""),
        ("X", (5,), {"shape": 3}, "X"),
        ("X", (5,), {}, ""),
        ("", (5, 3), {"shape": 3}, ""),
    ],
)
def test_the_layout_is_that_of_the_elements(layout, extents, args, expected):
    run = run_case(OpCase(OP, layout, extents, args))
    assert run.layouts == [expected]
