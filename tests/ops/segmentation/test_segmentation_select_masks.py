# SPDX-License-Identifier: Apache-2.0
"""fn.segmentation.select_masks: the polygons of some masks, and their vertices."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import Input, OpCase, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

OP = "segmentation.select_masks"
POLYGONS = [[0, 0, 3], [1, 3, 7], [2, 7, 10]]


def ids(*numbers: int) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.int32)


def case(chosen, polygons=POLYGONS, dtype=torch.float32, columns=2, **more):
    rows = torch.tensor(polygons, dtype=torch.int32).reshape(-1, 3)
    return OpCase(
        OP,
        make=lambda i: ids(*chosen[i % len(chosen)]),
        more_inputs=(Input(lambda _: rows), Input(lambda _: ramp((10, columns)).to(dtype))),
        **more,
    )


CASES = [
    case([(1,)]),
    case([(2, 0), (1,), ()]),
    case([(2, 0), (1, 2, 0)], args={"reindex_masks": True}),
    case([()], polygons=[]),
    case([(7,)], polygons=[[7, 4, 4], [3, 0, 10]]),
    *(
        case([(0, 2)], dtype=dtype, columns=3)
        for dtype in (torch.uint8, torch.int32, torch.float64, torch.float16)
    ),
    case(
        [(1, 0)],
        polygons=[[0, 0, 3], [1, 3, 7], [1, 0, 2], [0, 8, 9]],
        no_parity="of several polygons of a mask DALI 1.35 keeps the last only",
    ),
]


@for_each("case", CASES)
def test_matches_reference(case):
    polygons, vertices = run_case(case).samples()
    for index in range(case.batch):
        chosen = case.input(index).tolist()
        given_polygons = case.more_inputs[0].make(index).tolist()
        given_vertices = case.more_inputs[1].make(index)
        expected, rows = [], [given_vertices[:0]]
        for place, mask in enumerate(chosen):
            for owner, begin, end in given_polygons:
                if owner == mask:
                    start = sum(len(r) for r in rows)
                    name = place if case.args.get("reindex_masks") else mask
                    expected.append([name, start, start + end - begin])
                    rows.append(given_vertices[begin:end])
        assert polygons[index].tolist() == expected
        assert polygons[index].shape == (len(expected), 3)
        assert torch.equal(vertices[index], torch.cat(rows))


@given(order=st.permutations([0, 1, 2]))
def test_selecting_all_masks_is_the_identity(order):
    polygons = torch.tensor(POLYGONS, dtype=torch.int32)
    vertices = ramp((10, 2)).float()
    moved = run_op(OP, ids(*order), polygons, vertices)
    back = run_op(OP, ids(0, 1, 2), *moved)
    assert torch.equal(back[0], polygons)
    assert torch.equal(back[1], vertices)


@for_each(
    ("chosen", "polygons", "vertices", "message"),
    [
        (ids(5), POLYGONS, ramp((10, 2)), "mask 5 of `mask_ids` has no polygon"),
        (ids(1, 1), POLYGONS, ramp((10, 2)), "mask 1 is in `mask_ids` twice"),
        (ids(0), [[0, 5, 20]], ramp((10, 2)), r"polygon 0 of mask 0 has the vertices \[5, 20\)"),
        (ids(0), [[0, 5, 3]], ramp((10, 2)), r"has the vertices \[5, 3\)"),
        (ids(0), [[0, -1, 3]], ramp((10, 2)), r"has the vertices \[-1, 3\)"),
        (ids(0), [[0, 1]], ramp((10, 2)), r"input `polygons` has shape \[1, 2\]"),
        (ids(0), POLYGONS, ramp((10,)), r"input `vertices` has shape \[10\]"),
        (ids(0).reshape(1, 1), POLYGONS, ramp((10, 2)), r"input `mask_ids` has shape \[1, 1\]"),
        (ids(0).long(), POLYGONS, ramp((10, 2)), "input `mask_ids` is int64"),
        (
            ids(1, 2),
            [[1, 0, 2**31 - 1], [2, 0, 1]],
            torch.empty(2**31 - 1, 0),
            "have 2147483648 vertices together, more than int32 can number",
        ),
    ],
)
def test_inconsistent_inputs_are_errors(chosen, polygons, vertices, message):
    with pytest.raises(RuntimeError, match=message):
        run_op(OP, chosen, torch.tensor(polygons, dtype=torch.int32), vertices)
