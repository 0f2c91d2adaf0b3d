# SPDX-License-Identifier: Apache-2.0
"""fn.sequence_rearrange: the frames of a sequence in another order."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, PerSample, run_case, run_op

from torchdali import fn, pipeline_def

CASES = [
    OpCase("sequence_rearrange", "FHWC", (4, 2, 3, 1), {"new_order": order})
    for order in ([3, 0], [0, 0, 1, 1, 3], [1, 2, 3], [2], [3, 2, 1, 0])
]
CASES += [
    OpCase("sequence_rearrange", "", (4, 2), {"new_order": 1}, dtype=t)
    for t in (torch.float32, torch.int64, torch.bool, torch.float16)
]
CASES += [
    OpCase("sequence_rearrange", "FX", (4, 2), {"new_order": PerSample([[1], [3, 2], [0, 0, 0]])}),
    OpCase("sequence_rearrange", "FX", [(4, 2), (2, 5)], {"new_order": [1, 0]}),
    OpCase(
        "sequence_rearrange", "FX", (4, 0), {"new_order": [1, 0]}, no_parity="DALI copies nothing"
    ),
]


@for_each("case", CASES)
def test_matches_torch(case):
    order = case.args["new_order"]
    for i, out in enumerate(run_case(case).samples()[0]):
        frames = order.at(i) if isinstance(order, PerSample) else torch.tensor(order).reshape(-1)
        assert torch.equal(out, case.input(i)[frames.long()])


def test_reversing_twice_is_the_identity():
    x = ramp((5, 2, 3))
    once = run_op("sequence_rearrange", x, new_order=[4, 3, 2, 1, 0])
    assert torch.equal(run_op("sequence_rearrange", once, new_order=[4, 3, 2, 1, 0]), x)


@for_each(
    ("shape", "layout", "order", "message"),
    [
        ((4, 2), "FX", [4], "`new_order` has 4, and the sequence 4 frames"),
        ((4, 2), "FX", [-1], "`new_order` has -1"),
        ((4, 2), "FX", [], "is empty"),
        ((4, 2), "FX", PerSample([torch.zeros(0, dtype=torch.int32)]), "is empty"),
        ((0, 2), "FX", [0], "0 frames"),
        ((4, 2), "HW", [0], 'does not begin with "F"'),
        ((4,), "F", [0], "at least 2 dimensions"),
    ],
)
def test_wrong_arguments_are_errors(shape, layout, order, message):
    with pytest.raises((ValueError, IndexError), match=message) as caught:
        run_op("sequence_rearrange", ramp(shape), layout=layout, new_order=order)
    assert str(caught.value).startswith("fn.sequence_rearrange: ")


def test_large_sequences_are_copied_whole():
    """Outputs of more than 16 MB are copied with stores that bypass the caches."""
    generator = torch.Generator().manual_seed(1)
    data = torch.randint(0, 256, (40, 8, 51, 1021), dtype=torch.uint8, generator=generator)

    @pipeline_def(batch_size=40, num_threads=2, device_id=None)
    def define():
        frames = fn.external_source(lambda: data, no_copy=True, layout="FHW")
        return fn.sequence_rearrange(frames, new_order=[7, 2, 2, 0, 5])

    assert torch.equal(define().run()[0].as_torch(), data[:, [7, 2, 2, 0, 5]])
