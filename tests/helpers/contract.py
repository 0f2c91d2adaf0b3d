# SPDX-License-Identifier: Apache-2.0
"""The contract of every operator, as checks of one case: what results may depend on."""

from __future__ import annotations

import functools
import os
from unittest import mock

import pytest
import torch

from torchdali._engine.schema import operator_schema

from .ops import Batch, OpCase, PerSample, run_batches, run_case

__all__ = [
    "assert_same_bytes",
    "check_frames",
    "check_gpu",
    "check_independence",
    "check_resumption",
    "has_values_of_frames",
]


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


def check_independence(case: OpCase) -> None:
    """A result depends on its sample alone, not on the batch, threads or strides."""
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


def has_values_of_frames(case: OpCase) -> bool:
    """Tells whether the samples of a case can be the frames of a sequence, with their values."""
    schema = operator_schema(case.op)
    if not schema.sequences or schema.random or case.more_inputs or case.sees_batch:
        return False
    values = [a for a in case.args.values() if isinstance(a, PerSample)]
    if not case.layout or case.shape is None or not values:
        return False
    return f"F{case.layout}" in schema.inputs[0].layouts and not any(a.layout for a in values)


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


def check_resumption(case: OpCase) -> None:
    """A pipeline that goes on from a checkpoint draws the same values."""
    sizes = [1] * (case.batch - 1) + [1, 2, 1] if case.all_inputs() else [case.batch] * 4
    whole = run_case(case, sizes)
    for resume_after in range(len(sizes)):
        resumed = run_case(case, sizes, resume_after=resume_after)
        assert resumed.layouts == whole.layouts
        assert_same_bytes(resumed.samples(), whole.samples())


def check_gpu(case: OpCase) -> None:
    """The GPU half, emulated, gives the bytes of the CPU."""
    expected = run_case(case)
    with mock.patch.dict(os.environ, TORCHDALI_EMULATE_GPU="1"):
        actual = run_case(case, device="gpu")
    assert actual.layouts == expected.layouts
    assert_same_bytes(actual.samples(), expected.samples())
