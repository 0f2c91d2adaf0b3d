# SPDX-License-Identifier: Apache-2.0
"""fn.element_extract: frames of a sequence as separate outputs."""

from __future__ import annotations

import pytest
import torch
from helpers.inputs import ramp
from helpers.ops import OpCase, run_case, run_op

CASES = [
    OpCase("element_extract", "FHWC", (4, 2, 3, 1), {"element_map": [0, 2]}),
    OpCase("element_extract", "FHWC", [(4, 2, 3, 1), (3, 1, 2, 3)], {"element_map": [1, 1, 2]}),
    OpCase("element_extract", "", (4, 2), {"element_map": 3}, dtype=torch.float32),
    OpCase("element_extract", "FX", (4, 2), {"element_map": [3]}, dtype=torch.int64),
    OpCase("element_extract", "", (2, 1), {"element_map": [0]}, dtype=torch.bool),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_outputs_are_the_frames(case):
    run = run_case(case)
    frames = case.args["element_map"]
    for output, frame in enumerate([frames] if isinstance(frames, int) else frames):
        assert run.layouts[output] == case.layout[1:]
        for i, sample in enumerate(run.samples()[output]):
            assert torch.equal(sample, case.input(i)[frame])


@pytest.mark.parametrize(
    ("shape", "layout", "frames", "message"),
    [
        ((4, 2), "FX", [4], "`element_map` has 4, and the sequence 4 frames"),
        ((4, 2), "FX", [-1], "`element_map` has -1"),
        ((4, 2), "FX", [], "is empty"),
        ((4, 2), "HW", [0], 'does not begin with "F"'),
        ((4,), "F", [0], "at least 2 dimensions"),
    ],
    ids=str,
)
def test_wrong_arguments_are_errors(shape, layout, frames, message):
    with pytest.raises((ValueError, IndexError), match=message) as caught:
        run_op("element_extract", ramp(shape), layout=layout, element_map=frames)
    assert str(caught.value).startswith("fn.element_extract: ")
