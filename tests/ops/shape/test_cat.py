# SPDX-License-Identifier: Apache-2.0
"""fn.cat and fn.stack: join several inputs."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp, random_tensor
from helpers.ops import Input, OpCase, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

OPERATORS = ["cat", "stack"]

DTYPES = [torch.int8, torch.uint16, torch.int32, torch.int64, torch.float16, torch.bool]


def more(*shapes, layout="", dtype=torch.uint8) -> tuple[Input, ...]:
    return tuple(
        Input(lambda i, s=s, n=n: random_tensor(s, dtype, 100 * n + i), layout)
        for n, s in enumerate(shapes, 1)
    )


CASES = [
    OpCase("cat", "HWC", (3, 4, 2), args, more_inputs=more(*shapes, layout="HWC"))
    for args, shapes in (
        ({}, [(2, 4, 2), (1, 4, 2)]),
        ({"axis": 1}, [(3, 5, 2), (3, 0, 2)]),
        ({"axis": -1}, [(3, 4, 1), (3, 4, 3), (3, 4, 12)]),
        ({"axis_name": "W"}, [(3, 1, 2)]),
        ({}, []),
    )
]
CASES += [
    OpCase("cat", "", (3, 2), {"axis": 1}, t, more_inputs=more((3, 1), (3, 5), dtype=t))
    for t in DTYPES
]
CASES += [
    OpCase("cat", "HW", (3, 2), {"axis": 1}, more_inputs=more((3, 2))),
    OpCase("cat", "", (3, 2), {"axis": 1}, more_inputs=more((3, 2), layout="HW")),
    OpCase("cat", "", (0,), more_inputs=more((2,))),
    OpCase("cat", "", [(3,), (1,), (2,)], more_inputs=more((2,))),
]
CASES += [  # inputs without elements
    OpCase("cat", layout, shape, {"axis": axis}, more_inputs=more(*others))
    for layout, shape, axis, others in (
        ("", (0, 3), 0, [(2, 4), (0, 7), (1, 4)]),
        ("HW", (0, 3), 0, [(2, 4)]),
        ("", (2, 4), 1, [(0, 3)]),
        ("", (3, 0), 0, [(2, 5)]),
        ("", (0, 3), 0, [(0, 4)]),
        ("", (2, 0), 1, [(2, 3)]),
    )
]
CASES += [
    OpCase("cat", "", (3, 0), more_inputs=more((2, 0))).replace(
        no_parity="DALI returns the first input of a batch without elements"
    )
]
CASES += [
    OpCase("stack", "HW", (3, 4), args, more_inputs=more((3, 4), (3, 4), layout="HW"))
    for args in (
        {},
        {"axis": 1},
        {"axis": 2, "axis_name": "C"},
        {"axis": -1, "axis_name": "C"},
        {"axis": -2},
        {"axis_name": "F"},
    )
]
CASES += [
    OpCase("stack", "", (2,), {"axis": 1}, t, more_inputs=more((2,), dtype=t)) for t in DTYPES
]
CASES += [
    OpCase("stack", "", (), {"axis_name": "X"}, more_inputs=more((), ())),
    OpCase("stack", "HW", (3, 4), {"axis_name": "F"}),
    OpCase("stack", "HW", (3, 4), {"axis": 1}),
    OpCase("stack", "", (2, 0), more_inputs=more((2, 0))),
]


@for_each("case", CASES)
def test_matches_torch(case):
    for i, out in enumerate(run_case(case).samples()[0]):
        parts = [one.make(i) for one in case.all_inputs()]
        if case.op == "cat":
            # torch.cat refuses inputs without elements whose other extents differ.
            full = [part for part in parts if part.numel()]
            parts = full or [p for p in parts if p.shape[1:] == parts[0].shape[1:]]
        axis = "HWC".index("W") if case.args.get("axis_name") == "W" else case.args.get("axis", 0)
        expected = torch.cat(parts, axis) if case.op == "cat" else torch.stack(parts, axis)
        assert torch.equal(out.view(torch.uint8), expected.view(torch.uint8)) if out.ndim else True


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(0, 2))
def test_slicing_the_result_restores_the_inputs(extents, axis):
    shape = [2, 3, 2]
    parts = []
    for seed, extent in enumerate(extents):
        shape[axis] = extent
        parts.append(random_tensor(tuple(shape), torch.float32, seed))
    joined = run_op("cat", *parts, axis=axis)
    assert torch.equal(joined, torch.cat(parts, axis))


@for_each(
    ("op", "inputs", "args", "message"),
    [
        ("cat", [(2, 3), (2, 4)], {}, "differ along axis 1, not 0"),
        ("cat", [(2, 3), (2,)], {}, "another number of dimensions"),
        ("cat", [(), ()], {}, "fn.stack"),
        ("cat", [(2, 3)], {"axis": 2}, "axis 2 of `axis`"),
        ("cat", [(2, 3)], {"axis": -3}, "axis -3 of `axis`"),
        ("cat", [(2, 3)], {"axis": 0, "axis_name": "W"}, "exclude each other"),
        ("cat", [(2, 3)], {"axis_name": "WH"}, "expected one letter"),
        ("cat", [(2, 3)], {"axis_name": "W"}, "not in the layout"),
        ("stack", [(2, 3), (2, 4)], {}, "has the shape"),
        ("stack", [(2, 3)], {"axis": 3}, "axis 3 of `axis`"),
        ("stack", [(2, 3)], {"axis_name": "C"}, "needs an input with a layout"),
        ("stack", [(2, 3)], {"axis_name": ""}, "expected one letter"),
    ],
)
def test_wrong_arguments_are_errors(op, inputs, args, message):
    with pytest.raises((ValueError, IndexError), match=message) as caught:
        run_op(op, *[ramp(shape) for shape in inputs], **args)
    assert str(caught.value).startswith(f"fn.{op}: ")


@pytest.mark.parametrize("op", ["cat", "stack"])
def test_different_types_are_an_error(op):
    with pytest.raises(TypeError, match="input 1 has elements of float32"):
        run_op(op, ramp((2,)), ramp((2,), torch.float32))
