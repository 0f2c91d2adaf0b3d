# SPDX-License-Identifier: Apache-2.0
"""fn.ssd_random_crop: a random window of an image and its boxes."""

from __future__ import annotations

import pytest
import torch
from helpers.distributions import same_distribution
from helpers.ops import Input, OpCase, run_case, run_dali, run_op

OP = "ssd_random_crop"
NO_PARITY = "random windows: distributions are compared here"
pytestmark = pytest.mark.filterwarnings("ignore:fn.ssd_random_crop is deprecated")
HEIGHT, WIDTH = 40, 60
BOXES = torch.tensor([[0.1, 0.1, 0.45, 0.5], [0.3, 0.25, 0.9, 0.95]])
LABELS = torch.tensor([5, 6], dtype=torch.int32)


def image(_: int) -> torch.Tensor:
    """Returns an image whose pixels say where they are."""
    rows, columns = torch.meshgrid(torch.arange(HEIGHT), torch.arange(WIDTH), indexing="ij")
    return torch.stack([rows, columns], -1).to(torch.uint8)


def case(args, boxes=BOXES, labels=LABELS, **more):
    inputs = (Input(lambda _: boxes), Input(lambda _: labels))
    return OpCase(OP, "HWC", args=args, make=image, more_inputs=inputs, no_parity=NO_PARITY, **more)


CASES = [
    case({}),
    case({"num_attempts": 20}, labels=LABELS[:, None].long()),
    case({"num_attempts": 3}, boxes=BOXES[:0], labels=LABELS[:0]),
]


def test_windows_boxes_and_labels_belong_together():
    pixels, boxes, labels = run_case(case({"num_attempts": 10}, batch=300)).samples()
    whole = 0
    for cropped, kept, names in zip(pixels, boxes, labels, strict=True):
        (top, left), (bottom, right) = cropped[0, 0].tolist(), cropped[-1, -1].tolist()
        assert torch.equal(cropped, image(0)[top : bottom + 1, left : right + 1])
        whole += cropped.shape == image(0).shape
        size = torch.tensor([right + 1 - left, bottom + 1 - top]).float()
        assert (size >= torch.tensor([WIDTH, HEIGHT]) * 0.3 - 1).all()
        assert 0.4 < (size[0] / WIDTH) / (size[1] / HEIGHT) < 2.4
        start, extent = torch.tensor([left, top]), torch.tensor([WIDTH, HEIGHT])
        assert len(kept) == len(names) > 0
        for box, name in zip(kept, names, strict=True):
            original = BOXES[(name == LABELS).nonzero()[0, 0]].reshape(2, 2) * extent
            expected = ((original - start) / size).clamp(0, 1)
            torch.testing.assert_close(box.reshape(2, 2), expected, rtol=0, atol=0.1)
    assert 0.05 < whole / 300 < 0.6


def test_distributions_are_those_of_dali():
    one = case({"num_attempts": 5}, batch=800)
    ours = run_case(one).samples()
    theirs = [out.samples for out in run_dali(one, num_outputs=3)]

    def facts(outputs):
        return torch.stack(
            [
                torch.tensor([*p.shape[:2], *p[0, 0].tolist(), len(b)]).float()
                for p, b in zip(outputs[0], outputs[1], strict=True)
            ]
        )

    a, b = facts(ours), facts(theirs)
    for column in range(a.shape[1]):
        assert same_distribution(a[:, column], b[:, column]), column


@pytest.mark.parametrize("of", [run_case, "dali"])
def test_edges_are_rounded_to_the_nearest_pixel(of):
    """A box that is inside of all windows says where they are exactly."""
    box = torch.tensor([[0.45, 0.4, 0.55, 0.6]])
    one = case({"num_attempts": 5}, boxes=box, labels=LABELS[:1], batch=400)
    if of == "dali":
        pixels, boxes, _ = (out.samples for out in run_dali(one, num_outputs=3))
    else:
        pixels, boxes, _ = of(one).samples()
    seen = 0
    for cropped, kept in zip(pixels, boxes, strict=True):
        start, end = kept.double().reshape(2, 2)
        if kept.min() <= 0 or kept.max() >= 1:  # the window cuts the box
            continue
        size = (box[0, 2:] - box[0, :2]).double() / (end - start)
        begin = box[0, :2].double() - start * size
        extent = torch.tensor([WIDTH, HEIGHT])
        first, last = cropped[0, 0].flip(0), cropped[-1, -1].flip(0) + 1
        assert ((begin * extent - first).abs() < 0.501).all()
        assert (((begin + size) * extent - last).abs() < 0.501).all()
        seen += cropped.shape != image(0).shape
    assert seen > 50


def test_it_is_deprecated_as_in_dali():
    with pytest.warns(DeprecationWarning, match=r"fn\.ssd_random_crop .*use fn\.random_bbox_crop"):
        run_case(CASES[0])


def test_wrong_inputs_are_errors():
    def run(boxes=BOXES, labels=LABELS, **args):
        return run_op(OP, image(0), boxes, labels, **args)

    with pytest.raises(ValueError, match="`num_attempts` is 0"):
        run(num_attempts=0)
    with pytest.raises(ValueError, match="one for each of the 2 boxes"):
        run(labels=LABELS[:1])
    with pytest.raises(ValueError, match=r"\[2, 2\], expected \(boxes, 4\)"):
        run(boxes=BOXES[:, :2])
    with pytest.raises(ValueError, match="a box goes from"):
        run(boxes=BOXES * 2)
    with pytest.raises(TypeError, match="`boxes` is float64"):
        run(boxes=BOXES.double())
