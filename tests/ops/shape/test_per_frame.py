# SPDX-License-Identifier: Apache-2.0
"""fn.per_frame: marks a tensor as a sequence."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, run_case, run_op

from torchdali import Pipeline, fn

CASES = [
    OpCase("per_frame", "", (5,), dtype=torch.float32),
    OpCase("per_frame", "", [(3, 2), (1, 2)], dtype=torch.int32),
    OpCase("per_frame", "FX", (4, 2)),
    OpCase("per_frame", "XY", (4, 2), {"replace": True}),
    OpCase("per_frame", "FXY", (2, 3, 4), {"replace": True}),
    OpCase("per_frame", "", (0, 2), no_parity="DALI fails to copy a batch without elements"),
]
LAYOUTS = ["F", "F*", "FX", "FY", "FXY", "F*"]


@for_each(("case", "layout"), list(zip(CASES, LAYOUTS, strict=True)))
def test_values_do_not_change_and_the_layout_starts_with_f(case, layout):
    run = run_case(case)
    assert run.layouts == [layout]
    for index, sample in enumerate(run.samples()[0]):
        assert torch.equal(sample, case.input(index))


def test_each_frame_has_its_own_value_of_an_argument():
    pipe = Pipeline(1, 1, device_id=None)
    frames = ramp((3, 1, 4, 1))
    with pipe:
        mirror = fn.per_frame(fn.external_source(name="mirror"))
        pipe.set_outputs(
            fn.flip(fn.external_source(name="x", layout="FHWC"), horizontal=mirror),
        )
    pipe.build()
    pipe.feed_input("x", [frames])
    pipe.feed_input("mirror", [torch.tensor([1, 0, 1], dtype=torch.int32)])
    (out,) = pipe.run()
    expected = torch.stack([frames[0].flip(1), frames[1], frames[2].flip(1)])
    assert torch.equal(out.as_torch_list()[0], expected)


def test_a_scalar_is_an_error():
    with pytest.raises(ValueError, match=r"fn\.per_frame: a scalar has no axis"):
        run_op("per_frame", torch.tensor(1.0))


def test_another_first_axis_needs_replace():
    with pytest.raises(ValueError, match="replace=True"):
        run_op("per_frame", torch.zeros(2, 3), layout="HW")
