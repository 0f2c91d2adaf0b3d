# SPDX-License-Identifier: Apache-2.0
"""The contract of every operator, over all cases of tests/ops: what results may depend on."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import torch
from helpers.case_files import (
    all_cases,
    cases_by_operator,
    files,
    modules,
    operators,
    operators_of,
    parameters,
)
from helpers.cases import check_each
from helpers.ops import Batch, OpCase, PerSample, find, run_batches, run_case

from torchdali import Pipeline
from torchdali._engine.schema import registry

SCHEMAS = registry()
CASES = cases_by_operator()
# A source decides what a batch holds: it takes no samples, and has tests of its own.
SOURCES = [name for name in operators() if SCHEMAS[name].source]
# Written in Python, with arguments of its own; every case gets its samples through it.
PYTHON_SOURCES = {"external_source"}
# The arguments of each source: a function that writes data into a folder and returns them.
ARGUMENTS_OF_SOURCES = {
    op: make for module in modules() for op, make in getattr(module, "SOURCES", {}).items()
}

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def assert_same_bytes(actual: Batch, expected: Batch) -> None:
    """Compares all samples of all outputs; NaN equals NaN of the same bits."""
    for ours, theirs in zip(actual, expected, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert a.shape == b.shape
            assert a.dtype == b.dtype
            flat_a, flat_b = a.contiguous().reshape(-1), b.contiguous().reshape(-1)
            if flat_a.numel():
                assert torch.equal(flat_a.view(torch.uint8), flat_b.view(torch.uint8))


def non_contiguous(sample: torch.Tensor) -> torch.Tensor:
    """Returns an equal tensor whose elements are not next to each other."""
    if sample.ndim == 0:
        return sample
    return torch.stack([sample, sample], dim=sample.ndim)[..., 0]


def test_files_list_the_operators_of_their_cases():
    """Otherwise ``--op`` would not find them."""
    for module in modules():
        found = {case.op for case in getattr(module, "CASES", [])}
        assert found <= set(operators_of(Path(str(module.__file__)))), f"add OPERATORS to {module}"
    # Expressions have no function in fn.
    assert [path.stem for path in files() if not operators_of(path)] == [
        "test_arithmetic",
        "test_arithmetic_values",
    ]


def test_every_operator_has_cases():
    for name in operators():
        file = f"test_{name.replace('.', '_')}.py"
        assert name in CASES or name in SOURCES, (
            f"fn.{name} has no case: add some to CASES in tests/ops/ROOM/{file}"
        )


def test_every_source_has_arguments_to_run_with():
    for name in set(SOURCES) - PYTHON_SOURCES:
        assert name in ARGUMENTS_OF_SOURCES, f"add fn.{name} to SOURCES in its test file"


@pytest.mark.parametrize("op", parameters(CASES))
def test_a_result_depends_on_its_sample_alone(op):
    """Not on the batch, the number of threads or strides; and inputs stay as they were."""

    def check(case: OpCase) -> None:
        inputs: list[tuple[torch.Tensor, torch.Tensor]] = []

        def remember(sample: torch.Tensor) -> torch.Tensor:
            sample = sample.contiguous()
            inputs.append((sample, sample.clone()))
            return sample

        whole = run_case(case, prepare=remember)
        for sample, before in inputs:
            torch.testing.assert_close(sample, before, rtol=0, atol=0, equal_nan=True)
        others = {"8 threads, strided": run_case(case, num_threads=8, prepare=non_contiguous)}
        if not case.sees_batch:
            others["batches of 1"] = run_case(case, [1] * case.batch)
        if not case.sees_batch and case.batch > 1 and case.all_inputs():
            others[f"batches of 1 and {case.batch - 1}"] = run_case(case, [1, case.batch - 1])
        for how, run in others.items():
            try:
                assert run.layouts == whole.layouts
                assert_same_bytes(run.samples(), whole.samples())
            except AssertionError as error:
                raise AssertionError(f"one batch and {how} differ: {error}") from error

    check_each(CASES[op], check)


def has_values_of_frames(case: OpCase) -> bool:
    """Tells whether the samples of a case can be the frames of a sequence, with their values."""
    schema = SCHEMAS[case.op]
    if not schema.sequences or schema.random or case.more_inputs or case.sees_batch:
        return False
    values = [a for a in case.args.values() if isinstance(a, PerSample)]
    if not case.layout or case.shape is None or not values:
        return False
    return f"F{case.layout}" in schema.inputs[0].layouts and not any(a.layout for a in values)


CASES_OF_FRAMES = cases_by_operator([case for case in all_cases() if has_values_of_frames(case)])


@pytest.mark.parametrize("op", parameters(CASES_OF_FRAMES))
def test_frames_with_their_own_arguments_equal_samples(op):
    check_each(CASES_OF_FRAMES[op], check_frames)


def check_frames(case: OpCase) -> None:
    """Compares the samples of a case with one sequence that has them as its frames."""
    if isinstance(case.shape, list):
        case = case.replace(shape=case.shape[0])  # frames of one size
    samples = run_case(case)
    frames = range(case.batch)
    sources = {"data": (f"F{case.layout}", [[torch.stack([case.input(i) for i in frames])]])}
    constants = {}
    for name, value in case.args.items():
        if isinstance(value, PerSample):
            values = torch.stack([value.at(i) for i in frames])
            sources[name] = ("F" + "*" * (values.ndim - 1), [[values]])
        else:
            constants[name] = value
    run_sequence = functools.partial(
        run_batches, case.op, sources, 1, constants, batch_sizes=[1], seed=case.seed
    )
    shapes = {tuple(s.shape) for s in samples.samples()[0]}
    if len(shapes) > 1 and case.op != "rotate":
        with pytest.raises(ValueError, match="of the sequence would have shape"):
            run_sequence()
        return
    run = run_sequence()
    for out, expected in zip(run.batches[0], samples.samples(), strict=True):
        for frame, sample in zip(out[0], expected, strict=True):
            if frame.shape == sample.shape:  # rotate gives all frames the largest canvas
                torch.testing.assert_close(frame, sample, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("op", parameters(name for name in CASES if SCHEMAS[name].random))
def test_a_resumed_pipeline_draws_the_same_values(op):
    def check(case: OpCase) -> None:
        sizes = [1] * (case.batch - 1) + [1, 2, 1] if case.all_inputs() else [case.batch] * 4
        whole = run_case(case, sizes)
        for resume_after in range(len(sizes)):
            resumed = run_case(case, sizes, resume_after=resume_after)
            assert resumed.layouts == whole.layouts
            assert_same_bytes(resumed.samples(), whole.samples())

    check_each(CASES[op], check)


@pytest.mark.parametrize("op", parameters(set(SOURCES) - PYTHON_SOURCES))
def test_a_source_resumes_at_any_batch(op, tmp_path):
    arguments = ARGUMENTS_OF_SOURCES[op](tmp_path)

    def make(checkpoint=None):
        pipe = Pipeline(4, 2, device_id=None, enable_checkpointing=True, checkpoint=checkpoint)
        with pipe:
            made = find(op)(name="source", **arguments)
            made = list(made.values()) if isinstance(made, dict) else made
            pipe.set_outputs(*(made if isinstance(made, list | tuple) else [made]))
        return pipe

    def run(pipe):
        return [bytes(s.numpy()) for out in pipe.run() for s in out.as_torch_list()]

    pipe = make()
    for _ in range(9):
        resumed = make(pipe.checkpoint())
        ahead = [run(resumed) for _ in range(3)]
        assert run(pipe) == ahead[0]
