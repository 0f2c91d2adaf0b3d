# SPDX-License-Identifier: Apache-2.0
"""fn.shapes: the extents of each sample."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, run_case, run_op

from torchdali import types

DTYPES = [types.INT32, types.UINT32, types.INT64, types.UINT64, types.FLOAT, types.FLOAT64]
CASES = [OpCase("shapes", "HWC", [(5, 7, 3), (2, 0, 1)], {"dtype": t}) for t in DTYPES]
CASES += [
    OpCase("shapes", "", (4,)),
    OpCase("shapes", "", ()),
    OpCase("shapes", "HW", (3, 4), {"type": types.FLOAT}, dtype=torch.float16),
]


@for_each("case", CASES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_returns_the_shape(case):
    dtype = case.args.get("dtype", case.args.get("type", types.INT64))
    for index, actual in enumerate(run_case(case).samples()[0]):
        assert actual.dtype == types.to_torch_type(dtype)
        assert actual.tolist() == list(case.input(index).shape)


def test_dtypes_too_small_for_an_extent_are_errors():
    with pytest.raises(TypeError, match="fn.shapes: `dtype` is uint8, expected int32"):
        run_op("shapes", ramp((2, 3)), dtype=types.UINT8)


def test_the_old_name_of_dtype_is_deprecated():
    with pytest.warns(DeprecationWarning, match="`type` is the old name of `dtype`"):
        assert run_op("shapes", ramp((2, 3)), type=types.FLOAT).dtype == torch.float32
