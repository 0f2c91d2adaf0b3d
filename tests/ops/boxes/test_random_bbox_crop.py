# SPDX-License-Identifier: Apache-2.0
"""fn.random_bbox_crop: a random window, and the bounding boxes inside it."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.distributions import same_distribution
from helpers.ops import Input, OpCase, PerSample, run_case, run_dali, run_op
from hypothesis import given
from hypothesis import strategies as st

OP = "random_bbox_crop"
NO_PARITY = "random windows: distributions are compared here"
BOXES = torch.tensor([[0.1, 0.1, 0.3, 0.3], [0.45, 0.45, 0.55, 0.55], [0.7, 0.6, 0.9, 0.95]])
IN_SPACE = torch.tensor([[0.1, 0.1, 0.1, 0.3, 0.3, 0.3], [0.4, 0.5, 0.45, 0.55, 0.7, 0.55]])
LABELS = torch.tensor([5, 6, 7], dtype=torch.int32)
SOME = {"scaling": [0.3, 0.9], "aspect_ratio": [0.5, 2.0], "all_boxes_above_threshold": False}
CROP = {"crop_shape": [50, 60], "input_shape": [200, 100], "all_boxes_above_threshold": False}


def case(args, boxes=BOXES, labels=None, **more):
    more.setdefault("no_parity", NO_PARITY)
    given_labels = () if labels is None else (Input(lambda _: labels),)
    return OpCase(OP, args=args, make=lambda _: boxes, more_inputs=given_labels, **more)


# For comparisons of windows with DALI: the only random operator of the pipeline.
WINDOWS = [
    {**SOME, "allow_no_crop": False},
    {**SOME, "thresholds": [0.0, 0.3, 0.6], "num_attempts": 5},
    {**SOME, "thresholds": [0.1, 0.9], "threshold_type": "overlap", "allow_no_crop": False},
    {"scaling": [0.5, 1.0], "aspect_ratio": [0.5, 2.0], "thresholds": [0.0], "num_attempts": 2},
    {"scaling": [0.2, 0.9], "allow_no_crop": False, "all_boxes_above_threshold": False},
    {"scaling": [0.2, 0.9], "aspect_ratio": [0.5, 0.5], "all_boxes_above_threshold": False},
    # DALI tests the ratio that it made once more, and rounding then fails half of the windows:
    # with `allow_no_crop` it would take the whole image more often.
    {
        "scaling": [0.2, 0.9],
        "aspect_ratio": [1.5, 1.5],
        "input_shape": [200, 100],
        "allow_no_crop": False,
    },
    {**SOME, "input_shape": [100, 200], "allow_no_crop": False},
    {"scaling": [0.5, 1.5], "aspect_ratio": [0.5, 2.0], "allow_no_crop": False},
    {**CROP, "allow_no_crop": False, "num_attempts": 10},
    {**CROP, "allow_no_crop": False, "shape_layout": "HW"},
    {**CROP, "allow_no_crop": False, "crop_shape": [300, 60]},
    {**SOME, "allow_no_crop": False, "thresholds": [0.95], "total_num_attempts": 40},
]
CASES = [case(args) for args in WINDOWS]
CASES += [
    case({**SOME, "output_bbox_indices": True}, labels=LABELS),
    case({**SOME, "output_bbox_indices": True}, labels=LABELS.reshape(3, 1).long()),
    case({**SOME, "bbox_layout": "yxYX", "output_bbox_indices": True}),
    case({**SOME, "bbox_layout": "xXyY", "quiet": True}),
    case({**SOME, "ltrb": False}, boxes=BOXES * 0.5),
    case({**SOME, "bbox_prune_threshold": 0.5}),
    case({**SOME, "allow_no_crop": False}, boxes=BOXES[:0], labels=LABELS[:0]),
    case(
        {
            "crop_shape": PerSample([[50, 60], [30, 30]]),
            "input_shape": PerSample([[200, 100]]),
            "all_boxes_above_threshold": False,
        }
    ),
    case({**SOME, "allow_no_crop": False}, boxes=IN_SPACE),
    case({**SOME, "allow_no_crop": False, "aspect_ratio": [1.0, 1.0]}, boxes=IN_SPACE),
    case({**SOME, "aspect_ratio": [2.0, 2.0, 1.0, 1.0, 0.5, 0.5]}, boxes=IN_SPACE),
    case({**SOME, "bbox_layout": "xyzWHD"}, boxes=IN_SPACE * 0.5),
    # Always the whole image.
    case({}, no_parity=""),
    case({"output_bbox_indices": True}, labels=LABELS, no_parity=""),
    case({"allow_no_crop": False, "threshold_type": "overlap"}, boxes=IN_SPACE, no_parity=""),
    case({"bbox_layout": "xyWH"}, boxes=BOXES * 0.5, algorithm="affine", no_parity=""),
    case({}, boxes=BOXES[:0], labels=LABELS[:0], no_parity=""),
]


# Around a box that most windows miss: these end a round if the threshold is 0.
SMALL = torch.tensor([[0.25, 0.25, 0.32, 0.32]])
MISSES = {"scaling": [0.2, 0.3], "aspect_ratio": [0.5, 2.0], "num_attempts": 10}
ROUNDS = [
    MISSES,
    {**MISSES, "thresholds": [0.0, 0.05, 0.2]},
    {**MISSES, "allow_no_crop": False, "total_num_attempts": 25},
    {**MISSES, "allow_no_crop": False, "total_num_attempts": 25, "thresholds": [0.9]},
]


def named(values):
    return "-".join(f"{n}={v}" for n, v in values.items()) if isinstance(values, dict) else ""


@pytest.mark.parametrize(
    ("args", "boxes"), [(a, BOXES) for a in WINDOWS] + [(a, SMALL) for a in ROUNDS], ids=named
)
@pytest.mark.dali
def test_windows_are_distributed_like_dalis(args, boxes):
    many = case({**args, "quiet": True}, boxes, batch=1500)
    ours = run_case(many).samples()
    theirs = [o.samples for o in run_dali(case(args, boxes, batch=1500), num_outputs=3)]
    for output in (0, 1):
        for axis in range(2):
            a, b = (torch.stack(list(s[output]))[:, axis] for s in (ours, theirs))
            assert same_distribution(a, b), f"output {output}, axis {axis}"
    # The number of boxes that stay is the same, too.
    a, b = (torch.tensor([len(boxes) for boxes in s[2]]) for s in (ours, theirs))
    assert same_distribution(a, b)


@pytest.mark.dali
def test_windows_in_space_are_distributed_like_dalis():
    many = case({**SOME, "allow_no_crop": False}, boxes=IN_SPACE, batch=1500)
    ours, theirs = run_case(many).samples(), [o.samples for o in run_dali(many, num_outputs=3)]
    for axis in range(3):
        assert same_distribution(*(torch.stack(list(s[1]))[:, axis] for s in (ours, theirs)))


def common(boxes: torch.Tensor, start: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
    size = torch.minimum(boxes[:, 2:], end) - torch.maximum(boxes[:, :2], start)
    return size.clamp(min=0).prod(dim=1)


@given(
    seed=st.integers(0, 10**6),
    threshold=st.sampled_from([0.0, 0.2, 0.5]),
    overlap=st.booleans(),
    every=st.booleans(),
)
def test_windows_meet_the_requested_thresholds(seed, threshold, overlap, every):
    anchor, shape, cropped, labels, indices = run_op(
        OP,
        BOXES,
        LABELS,
        scaling=[0.5, 1.0],
        aspect_ratio=[0.5, 2.0],
        thresholds=[threshold],
        threshold_type="overlap" if overlap else "iou",
        all_boxes_above_threshold=every,
        allow_no_crop=False,
        output_bbox_indices=True,
        total_num_attempts=20000,
        num_attempts=10,
        quiet=True,
        seed=seed,
    )
    end = anchor + shape
    assert 0.5 - 1e-6 <= shape[0] / shape[1] <= 2 + 1e-6
    assert ((anchor >= 0) & (end <= 1 + 1e-6) & (shape >= 0.5 - 1e-6)).all()
    inside = common(BOXES, anchor, end)
    areas = (BOXES[:, 2:] - BOXES[:, :2]).prod(dim=1)
    metric = inside / (areas if overlap else areas + shape.prod() - inside)
    reached = metric >= threshold - 1e-5
    # Small boxes never have a large intersection over union with a window.
    if overlap or threshold == 0:
        assert reached.all() if every else reached.any()
    centers = (BOXES[:, 2:] + BOXES[:, :2]) / 2
    kept = ((centers >= anchor) & (centers <= end)).all(dim=1)
    assert indices.tolist() == kept.nonzero().flatten().tolist()
    assert torch.equal(labels, LABELS[kept])
    expected = ((BOXES[kept].reshape(-1, 2, 2) - anchor) / shape).clamp(0, 1).reshape(-1, 4)
    torch.testing.assert_close(cropped, expected)


def test_boxes_are_pruned_by_their_part_inside_the_window():
    args = {"crop_shape": [50, 100], "input_shape": [100, 100], "output_bbox_indices": True}
    boxes = torch.tensor([[0.0, 0.0, 1.0, 1.0], [0.4, 0.0, 0.6, 1.0]])
    for threshold in (0.0, 0.4, 0.6):
        anchor, _, _, indices = run_op(
            OP, boxes, bbox_prune_threshold=threshold, quiet=True, total_num_attempts=1, **args
        )
        start = anchor[0].item() / 100
        parts = [0.5, (min(start + 0.5, 0.6) - max(start, 0.4)) / 0.2]
        assert indices.tolist() == [i for i, p in enumerate(parts) if p > threshold]


def test_box_layouts_are_equivalent_to_ltrb_flags():
    args = {**SOME, "seed": 7, "allow_no_crop": False}
    anchor, shape, boxes = run_op(OP, BOXES, **args)
    swapped = run_op(OP, BOXES[:, [1, 0, 3, 2]], bbox_layout="yxYX", **args)
    assert torch.equal(swapped[0], anchor)
    assert torch.equal(swapped[2][:, [1, 0, 3, 2]], boxes)
    sizes = torch.cat([BOXES[:, :2], BOXES[:, 2:] - BOXES[:, :2]], dim=1)
    with_sizes = run_op(OP, sizes, bbox_layout="xyWH", **args)
    assert torch.equal(with_sizes[1], shape)
    ends = with_sizes[2][:, :2] + with_sizes[2][:, 2:]
    torch.testing.assert_close(ends, boxes[:, 2:], rtol=0, atol=1e-5)


def test_the_best_attempt_is_used_if_no_window_fits(capfd):
    impossible = {"thresholds": [1.0], "scaling": [0.1, 0.2], "total_num_attempts": 30}
    args = {**impossible, "allow_no_crop": False, "aspect_ratio": [0.5, 2.0]}
    _, shape, _ = run_op(OP, BOXES, **args)
    assert (shape <= 0.2).all()
    assert "found no window" in capfd.readouterr().err
    run_op(OP, BOXES, quiet=True, **args)
    assert capfd.readouterr().err == ""


def test_an_impossible_request_terminates():
    args = {"aspect_ratio": [50.0, 60.0], "scaling": [0.5, 0.9], "allow_no_crop": False}
    _, shape, boxes = run_op(OP, BOXES, quiet=True, **args)
    assert shape.tolist() == [1.0, 1.0]
    assert torch.equal(boxes, BOXES)


def test_windows_of_a_seed_equal_the_golden_values():
    anchor, shape, _ = run_op(OP, BOXES, seed=1234, allow_no_crop=False, **SOME)
    assert [v.hex() for v in (*anchor.tolist(), *shape.tolist())] == GOLDEN


GOLDEN = [
    "0x1.c4221a0000000p-2",
    "0x1.27411c0000000p-4",
    "0x1.d66a260000000p-2",
    "0x1.8e25ee0000000p-1",
]


@for_each(
    ("args", "message"),
    [
        ({"thresholds": []}, "`thresholds` is empty"),
        ({"thresholds": [1.5]}, "`thresholds` has 1.5"),
        ({"threshold_type": "x"}, '`threshold_type` is "x"'),
        ({"scaling": [0.5]}, "`scaling` must be two numbers"),
        ({"scaling": [0.9, 0.5]}, "`scaling` must be two numbers"),
        ({"aspect_ratio": [2.0, 1.0]}, "`aspect_ratio` has the range 2 to 1"),
        ({"aspect_ratio": [1.0, 1.0, 1.0]}, "`aspect_ratio` has 3 values"),
        ({"num_attempts": 0}, "`num_attempts` is 0"),
        ({"total_num_attempts": 0}, "`total_num_attempts` is 0"),
        ({"crop_shape": [5, 5]}, "`crop_shape` needs `input_shape`"),
        ({**CROP, "scaling": [0.5, 1.0]}, "`crop_shape` excludes `scaling`"),
        ({**CROP, "allow_no_crop": True}, "`crop_shape` excludes `allow_no_crop`"),
        ({**CROP, "crop_shape": [50]}, "`crop_shape` has 1 value, expected 2"),
        ({**CROP, "crop_shape": [0, 5]}, "`crop_shape` has 0, expected 1 or more"),
        ({**CROP, "shape_layout": "HWD"}, '`shape_layout` is "HWD"'),
        ({"bbox_layout": "xyWY"}, '`bbox_layout` is "xyWY"'),
        ({"bbox_layout": "xyXY", "ltrb": False}, "`ltrb` excludes `bbox_layout`"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(ValueError, match=message):
        run_op(OP, BOXES, **args)


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        (BOXES * 2, "box 1 goes from 0.9 to 1.1 in x"),
        (torch.full((1, 4), float("nan")), "box 0 goes from nan to nan"),
        (torch.zeros(4), r"input `boxes` has shape \[4\]"),
        (torch.zeros(2, 3), r"input `boxes` has shape \[2, 3\]"),
        (torch.zeros(2, 4, dtype=torch.float64), "input `boxes` is float64"),
    ],
)
def test_wrong_boxes_are_errors_that_name_the_box(boxes, message):
    with pytest.raises(RuntimeError, match=message):
        run_op(OP, boxes)


def test_the_number_of_labels_must_match_the_boxes():
    with pytest.raises(ValueError, match=r"input `labels` has shape \[2\], expected one for each"):
        run_op(OP, BOXES, LABELS[:2])
