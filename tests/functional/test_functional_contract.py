# SPDX-License-Identifier: Apache-2.0
"""Every operator on tensors gives what it gives in a pipeline, over all cases of tests/ops."""

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
CASES = {op: cases for op, cases in cases_by_operator().items() if op in SCHEMAS}

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def find(op: str) -> Any:
    function: Any = functional
    for part in op.split("."):
        function = getattr(function, part)
    return function


def options_of(case: OpCase) -> dict[str, Any]:
    """Returns the constant arguments, with the seed of the case's pipeline."""
    given = {name: a for name, a in case.args.items() if not isinstance(a, PerSample)}
    if SCHEMAS[case.op].random:
        given["seed"] = case.seed
    return given


def on_batch(case: OpCase) -> list[list[torch.Tensor]]:
    """Returns the samples of each output."""
    samples = range(case.batch)
    inputs = [Batch([one.make(i) for i in samples], one.layout) for one in case.all_inputs()]
    args = options_of(case)
    for name, value in case.args.items():
        if isinstance(value, PerSample):
            args[name] = Batch([value.at(i) for i in samples], value.layout)
    if not SCHEMAS[case.op].min_inputs and not inputs:
        args["batch_size"] = case.batch
    made = find(case.op)(*inputs, **args)
    return [batch.as_list() for batch in (made if isinstance(made, list) else [made])]


def on_first_sample(case: OpCase) -> list[torch.Tensor]:
    """Returns the outputs for the first sample by itself."""
    inputs = [TensorCPU(one.make(0), one.layout) for one in case.all_inputs()]
    args = options_of(case)
    for name, value in case.args.items():
        if isinstance(value, PerSample):
            args[name] = TensorCPU(value.at(0), value.layout)
    made = find(case.op)(*inputs, **args)
    return made if isinstance(made, list) else [made]


def assert_same(actual: torch.Tensor, expected: torch.Tensor) -> None:
    assert type(actual) is torch.Tensor
    torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("op", parameters(CASES))
def test_results_are_those_of_a_pipeline(op, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files

    def check(case: OpCase) -> None:
        if "seed" in case.args:
            pytest.skip("the seed of an operator in a pipeline, which is not that of the pipeline")
        expected = run_case(case).samples()
        for ours, theirs in zip(on_batch(case), expected, strict=True):
            for a, b in zip(ours, theirs, strict=True):
                assert_same(a, b)
        if case.sees_batch:
            return
        for a, theirs in zip(on_first_sample(case), expected, strict=True):
            assert_same(a, theirs[0])

    check_each(CASES[op], check)


def test_every_operator_without_a_source_is_a_function():
    left_out = {"constant", "dl_tensor_python_function", "python_function", "torch_python_function"}
    for name in cases_by_operator():
        if name not in left_out:
            assert callable(find(name)), name
