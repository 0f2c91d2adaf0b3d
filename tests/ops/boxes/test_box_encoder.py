# SPDX-License-Identifier: Apache-2.0
"""fn.box_encoder: matches anchors with boxes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import Input, OpCase, run_case, run_op

OP = "box_encoder"


def boxes(count: int, seed: int) -> torch.Tensor:
    corners = torch.rand(count, 2, 2, generator=torch.Generator().manual_seed(seed))
    return corners.sort(dim=1).values.reshape(count, 4)


def labels(count: int) -> torch.Tensor:
    return torch.arange(1, count + 1, dtype=torch.int32)


ANCHORS = boxes(40, 99).flatten().tolist()
GRID = [0, 0, 0.5, 0.5, 0.5, 0.5, 1, 1, 0, 0.5, 0.5, 1, 0.2, 0.2, 0.8, 0.8]


def case(args, count=6, anchors=ANCHORS, make=None, **more):
    given = make or (lambda i: boxes(count, i))
    return OpCase(
        OP,
        args={"anchors": list(anchors), **args},
        make=given,
        more_inputs=(Input(lambda i: labels(len(given(i)))),),
        algorithm="affine",
        **more,
    )


def fixed(*rows):
    return lambda _: torch.tensor(rows, dtype=torch.float32)


CASES = [
    case(args)
    for args in [
        {},
        {"criteria": 0.1},
        {"criteria": 0.0},
        {"criteria": 1.0},
        {"offset": True},
        {"offset": True, "scale": 300.0, "means": [0.1, 0.2, 0.3, 0.4], "stds": [0.1, 0.1, 0.2, 2]},
        {"means": [0.1, 0.2, 0.3, 0.4], "scale": 2.0},
    ]
]
CASES += [
    case({}, count=0),
    case({"criteria": 0.2}, count=1),
    # Ties go to the last anchor and the last box.
    case({"criteria": 0.25}, anchors=GRID, make=fixed([0, 0, 1, 1], [0, 0, 1, 1])),
    case({"criteria": 0.249}, anchors=GRID, make=fixed([0, 0, 1, 1], [0, 0, 0.5, 0.5])),
    case({}, anchors=[0.5, 0.5, 1, 1], make=fixed([0.5, 0.5, 0.9, 0.9], [0, 0, 1, 1])),
    case({}, anchors=[0.7, 0.7, 1, 1, 0.5, 0.5, 0.6, 0.6], make=fixed([0.1, 0.1, 0.2, 0.2])),
    case({}, anchors=GRID, make=fixed([0.1, 0.1, 0.1, 0.1])),
]


def iou(a: np.ndarray, b: np.ndarray) -> float:
    size = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    common = np.prod(np.maximum(size, 0))
    return common / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common)


@for_each("case", CASES[:9], ids=lambda c: str({**c.args, "anchors": None}))
def test_matches_reference(case):
    encoded, got = run_case(case).samples()
    anchors = np.array(case.args["anchors"]).reshape(-1, 4)
    for index in range(case.batch):
        given = case.input(index).double().numpy()
        match = np.full(len(anchors), -1)
        table = np.array([[iou(b, a) for a in anchors] for b in given]).reshape(-1, len(anchors))
        for a in range(len(anchors)):
            if len(given) and table[:, a].max() > case.args.get("criteria", 0.5):
                match[a] = table[:, a].argmax()
        for b in range(len(given)):
            match[table[b].argmax()] = b
        np.testing.assert_array_equal(got[index], match + 1)
        if case.args.get("offset"):
            continue
        expected = np.where(match[:, None] >= 0, given[match] if len(given) else anchors, anchors)
        centers = [(expected[:, :2] + expected[:, 2:]) / 2, expected[:, 2:] - expected[:, :2]]
        np.testing.assert_allclose(encoded[index], np.concatenate(centers, axis=1), atol=1e-6)


def test_decoding_offsets_restores_the_boxes():
    args = {"anchors": ANCHORS, "means": [0.1, 0.2, 0.3, 0.4], "stds": [0.1, 0.2, 0.3, 0.5]}
    given, numbers = boxes(5, 3), labels(5)
    plain, found = run_op(OP, given, numbers, anchors=ANCHORS)
    offsets, _ = run_op(OP, given, numbers, offset=True, **args)
    anchors = torch.tensor(ANCHORS).reshape(-1, 4)
    centers, sizes = (anchors[:, :2] + anchors[:, 2:]) / 2, anchors[:, 2:] - anchors[:, :2]
    offsets = offsets * torch.tensor(args["stds"]) + torch.tensor(args["means"])
    back = torch.cat([offsets[:, :2] * sizes + centers, offsets[:, 2:].exp() * sizes], dim=1)
    torch.testing.assert_close(back[found > 0], plain[found > 0], rtol=1e-4, atol=1e-5)


@for_each(
    ("args", "message"),
    [
        ({"anchors": [0.0, 0.0, 1.0]}, "`anchors` has 3 values"),
        ({"anchors": []}, "`anchors` has 0 values"),
        ({"criteria": 1.5}, "`criteria` is 1.5"),
        ({"criteria": -0.5}, "`criteria` is -0.5"),
        ({"means": [0.0]}, "`means` has 1 value"),
        ({"stds": [1.0, 1.0, 0.0, 1.0]}, "`stds` has 0"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(ValueError, match=message):
        run_op(OP, boxes(2, 1), labels(2), **{"anchors": ANCHORS, **args})


@pytest.mark.parametrize(
    ("given", "numbers", "message"),
    [
        (torch.zeros(2, 3), labels(2), r"input `boxes` has shape \[2, 3\]"),
        (torch.zeros(4), labels(1), r"input `boxes` has shape \[4\]"),
        (torch.zeros(2, 4, dtype=torch.float64), labels(2), "input `boxes` is float64"),
        (torch.zeros(2, 4), labels(1), r"input `labels` has shape \[1\]"),
        (torch.zeros(2, 4), torch.zeros(2), "input `labels` is float32, expected integers"),
    ],
)
def test_wrong_boxes_and_labels_are_errors(given, numbers, message):
    with pytest.raises(RuntimeError, match=message):
        run_op(OP, given, numbers, anchors=ANCHORS)
