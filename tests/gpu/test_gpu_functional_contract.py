# SPDX-License-Identifier: Apache-2.0
"""Every operator on tensors of a GPU gives what its GPU half gives in a pipeline."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers.case_files import cases_by_operator, parameters
from helpers.cases import check_each
from helpers.ops import OpCase, PerSample, run_case

from torchdali import functional
from torchdali._eager.functions import schemas
from torchdali.functional import Batch
from torchdali.tensors import TensorCPU

SCHEMAS = schemas()
CASES = {
    op: cases
    for op, cases in cases_by_operator().items()
    if op in SCHEMAS and SCHEMAS[op].has_kernel
}

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def find(op: str) -> Any:
    function: Any = functional
    for part in op.split("."):
        function = getattr(function, part)
    return function


def arguments(case: OpCase, of_samples: Any) -> dict[str, Any]:
    """Returns the arguments; `of_samples` makes those with a value for each sample."""
    given = {
        name: of_samples(value) if isinstance(value, PerSample) else value
        for name, value in case.args.items()
    }
    if SCHEMAS[case.op].random:
        given["seed"] = case.seed
    return given


def as_list(made: Any) -> list[Any]:
    return made if isinstance(made, list) else [made]


@pytest.mark.parametrize("op", parameters(CASES))
def test_results_are_those_of_a_pipeline(op, backend, gpu_tensors):
    def check(case: OpCase) -> None:
        if "seed" in case.args:
            pytest.skip("the seed of an operator in a pipeline, which is not that of the pipeline")
        inputs = case.all_inputs()
        expected = run_case(case, device="gpu").samples()
        made = find(op)(
            *(
                Batch([gpu_tensors.put(one.make(i)) for i in range(case.batch)], one.layout)
                for one in inputs
            ),
            **arguments(case, lambda v: Batch([v.at(i) for i in range(case.batch)], v.layout)),
        )
        for batch, theirs in zip(as_list(made), expected, strict=True):
            assert batch.gpu_id == 0
            for ours, other in zip(batch.as_list(), theirs, strict=True):
                assert ours.device.type == backend
                torch.testing.assert_close(ours, other, rtol=0, atol=0, equal_nan=True)
        # `layout` is that of all inputs, or an argument of the operator.
        if case.sees_batch or any(one.layout for one in inputs[1:]):
            return
        if inputs[0].layout and (len(inputs) > 1 or "layout" in SCHEMAS[op].by_name):
            return
        layout = {"layout": inputs[0].layout} if inputs[0].layout else {}
        made = find(op)(
            *(gpu_tensors.put(one.make(0)) for one in inputs),
            **arguments(case, lambda v: TensorCPU(v.at(0), v.layout)),
            **layout,
        )
        for ours, theirs in zip(as_list(made), expected, strict=True):
            torch.testing.assert_close(ours, theirs[0], rtol=0, atol=0, equal_nan=True)

    check_each(CASES[op], check)
