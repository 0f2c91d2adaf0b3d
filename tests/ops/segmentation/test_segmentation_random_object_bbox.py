# SPDX-License-Identifier: Apache-2.0
"""fn.segmentation.random_object_bbox: the bounding box of an object of a mask."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.distributions import same_distribution
from helpers.ops import OpCase, PerSample, run_case, run_dali, run_op
from hypothesis import given
from hypothesis import strategies as st

OP = "segmentation.random_object_bbox"
NO_PARITY = "random boxes: distributions are compared here"
MASK = torch.zeros(12, 13, dtype=torch.int32)
MASK[0, 0:10] = 1
MASK[3:6, 3:6] = 1
MASK[8, 0:2] = 2
MASK[9, 2] = 2  # touches another blob at a corner
MASK[7:11, 5:13] = 3
MASK[8:10, 6:12] = 0  # a ring
ONE = torch.zeros(6, 7, dtype=torch.int32)
ONE[2:4, 1] = ONE[3, 1:5] = ONE[1:4, 4] = 5
LABELS = torch.tensor([[0, 0, 1, 1], [0, 0, 2, 3]], dtype=torch.int32)
DTYPES = [torch.uint8, torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32]


def case(args, mask=MASK, dtype=torch.int32, **more):
    more.setdefault("no_parity", NO_PARITY)
    return OpCase(OP, args=args, make=lambda _: mask.to(dtype), **more)


def exact(args, mask=ONE, dtype=torch.int32, **more):
    """Returns a case with one possible result."""
    return case(args, mask, dtype, no_parity="", **more)


RANDOM = [
    {"format": "box"},
    {"format": "box", "k_largest": 1},
    {"format": "box", "threshold": [2, 2], "k_largest": 1},
    {"format": "box", "ignore_class": True},
    {"format": "box", "ignore_class": True, "k_largest": 3},
    {"format": "box", "class_weights": [3.0, 1.0]},
    {"format": "box", "classes": [1, 2, 9], "class_weights": [1.0, 2.0, 8.0]},
    {"format": "box", "classes": [1, 1, 3]},
    {"format": "box", "foreground_prob": 0.25},
    {"format": "box", "background": 1, "threshold": 2},
]
CASES = [case(args) for args in RANDOM]
CASES += [
    case(
        {
            "classes": PerSample([[1, 2], [3]]),
            "class_weights": PerSample([[0.5, 0.5], [1.0]]),
            "threshold": PerSample([[1, 1], [2, 3]]),
            "foreground_prob": PerSample([0.5, 1.0]),
            "background": PerSample([0, 7]),
            "output_class": True,
        }
    ),
    case({}, dtype=torch.int64),
    case({"classes": [1]}, dtype=torch.bool),
]
CASES += [exact({"output_class": True, "format": f}) for f in ("anchor_shape", "start_end", "box")]
CASES += [exact({"classes": [5]}, dtype=dtype) for dtype in DTYPES]
CASES += [
    exact({"cache_objects": True}),
    exact({"foreground_prob": 0.0, "output_class": True}),
    exact({"classes": [9], "output_class": True}),
    exact({"classes": [5, 0], "foreground_prob": 0.0, "output_class": True}),
    exact({"classes": [5], "background": 8, "foreground_prob": 0.0, "output_class": True}),
    exact({"threshold": [3, 5]}),
    exact({"class_weights": [0.0, 0.0]}),
    exact({"class_weights": [0.0, 0.0, 1.0], "background": 1, "output_class": True}, LABELS),
    exact({"class_weights": [0.0, 1.0], "background": 4, "output_class": True}, LABELS),
    exact({"class_weights": [1.0, 0.0], "background": -3, "output_class": True}, LABELS),
    exact({"class_weights": [0.0, 1.0], "output_class": True}, LABELS),
    exact({}, mask=-ONE),
    exact({}, mask=ONE.reshape(6, 1, 7)),
    exact({}, mask=ONE.reshape(6, 7, 1)),
    exact({}, mask=ONE[3]),
    exact({"format": "box"}, mask=torch.zeros(0, 5)),
    exact({"output_class": True}, mask=torch.zeros(3, 5)),
]


def reference_boxes(mask: np.ndarray) -> dict[int, set[tuple[int, ...]]]:
    """Returns the boxes of the blobs of each label but 0, found by flood fill."""
    boxes: dict[int, set[tuple[int, ...]]] = {}
    seen = np.zeros(mask.shape, bool)
    for first in np.ndindex(*mask.shape):
        if seen[first] or mask[first] == 0:
            continue
        seen[first] = True
        queue, members = deque([first]), []
        while queue:
            at = queue.popleft()
            members.append(at)
            for axis in range(mask.ndim):
                for step in (-1, 1):
                    near = list(at)
                    near[axis] += step
                    inside = 0 <= near[axis] < mask.shape[axis]
                    near = tuple(near)
                    if inside and not seen[near] and mask[near] == mask[at]:
                        seen[near] = True
                        queue.append(near)
        low, high = np.min(members, axis=0), np.max(members, axis=0) + 1
        boxes.setdefault(int(mask[first]), set()).add((*low.tolist(), *high.tolist()))
    return boxes


@pytest.mark.parametrize("args", RANDOM, ids=str)
@pytest.mark.dali
def test_boxes_are_distributed_like_dalis(args):
    many = case(args, batch=2000)
    (ours,) = run_case(many).samples()
    theirs = run_dali(many)[0].samples
    code = torch.tensor([1000, 100, 10, 1])
    assert same_distribution(*(torch.stack(list(s)).long() @ code for s in (ours, theirs)))


@given(
    shape=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    labels=st.integers(1, 4),
    seed=st.integers(0, 10**6),
)
def test_boxes_are_those_of_the_blobs(shape, labels, seed):
    rng = np.random.default_rng(seed)
    mask = rng.integers(0, labels + 1, shape).astype(np.int32)
    boxes = reference_boxes(mask)
    box, label = run_op(OP, torch.from_numpy(mask), format="box", output_class=True, seed=seed)
    if not boxes:
        assert box.tolist() == [0] * len(shape) + shape
        return
    assert tuple(box.tolist()) in boxes[label.item()]
    largest, label = run_op(
        OP, torch.from_numpy(mask), format="box", k_largest=1, output_class=True, seed=seed
    )
    volumes = {
        b: np.prod(np.subtract(b[len(shape) :], b[: len(shape)])) for b in boxes[label.item()]
    }
    assert volumes[tuple(largest.tolist())] == max(volumes.values())


def test_formats_are_equivalent():
    start, shape = run_op(OP, ONE)
    assert (start.tolist(), shape.tolist()) == ([1, 1], [3, 4])
    start, end = run_op(OP, ONE, format="start_end")
    assert (start.tolist(), end.tolist()) == ([1, 1], [4, 5])
    assert run_op(OP, ONE, format="box").tolist() == [1, 1, 4, 5]


def test_boxes_of_a_seed_equal_the_golden_values():
    boxes = run_op(OP, [MASK] * 5, format="box", seed=1234)
    assert [b.tolist() for b in boxes] == GOLDEN


GOLDEN = [[7, 5, 11, 13], [0, 0, 1, 10], [8, 0, 9, 2], [7, 5, 11, 13], [7, 5, 11, 13]]


@for_each(
    ("args", "message"),
    [
        ({"format": "x"}, '`format` is "x"'),
        ({"k_largest": 0}, "`k_largest` is 0"),
        ({"ignore_class": True, "classes": [1]}, "`ignore_class` excludes"),
        ({"ignore_class": True, "output_class": True}, "`ignore_class` excludes"),
        (
            {"classes": [1, 2], "class_weights": [1.0]},
            "`class_weights` has 1 values, and `classes`",
        ),
        ({"class_weights": [-1.0, 2.0]}, "`class_weights` has -1"),
        ({"background": 2, "classes": [1, 2]}, "`background` is 2, which is one of the classes"),
        ({"threshold": [1, 2, 3]}, "`threshold` has 3 values"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(ValueError, match=message):
        run_op(OP, MASK, **args)


def test_inputs_that_are_no_label_masks_are_errors():
    with pytest.raises(TypeError, match="input `mask` is float32, expected integers"):
        run_op(OP, torch.zeros(3, 3))
    with pytest.raises(ValueError, match="input `mask` is a single value"):
        run_op(OP, torch.tensor(3))
