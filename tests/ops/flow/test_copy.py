# SPDX-License-Identifier: Apache-2.0
"""fn.copy: a copy of the input."""

from __future__ import annotations

import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, run_case

from torchdali import Pipeline, fn

DTYPES = [torch.uint8, torch.int16, torch.float16, torch.float32, torch.float64, torch.bool]
CASES = [OpCase("copy", "HWC", (5, 7, 3), dtype=dtype) for dtype in DTYPES]
CASES += [OpCase("copy", "", ()), OpCase("copy", "AB", [(2, 0), (3, 4)]), OpCase("copy", "", (4,))]


@for_each("case", CASES)
def test_the_output_equals_the_input(case):
    run = run_case(case)
    assert run.layouts == [case.layout]
    for index, actual in enumerate(run.samples()[0]):
        assert actual.dtype == case.dtype
        assert torch.equal(actual, case.input(index))


def test_the_output_is_a_copy():
    x = ramp((2, 3))
    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipe:
        pipe.set_outputs(fn.copy(fn.copy(fn.external_source(name="x", no_copy=True))))
    pipe.build()
    pipe.feed_input("x", [x])
    (output,) = pipe.run()
    pipe.close()
    output.as_torch()[0, 0, 0] = 99
    assert x[0, 0] == 0
