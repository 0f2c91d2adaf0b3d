# SPDX-License-Identifier: Apache-2.0
"""Definitions with conditions against real DALI 1.35.0: values, types, shapes, layouts."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch
from helpers import conditional_function_programs, conditional_programs
from helpers.cases import for_each
from helpers.dali_oracle import DaliError, run_program

from torchdali import fn, pipeline_def, types

MODULES = [conditional_programs, conditional_function_programs]
PROGRAMS = {name: module for module in MODULES for name in module.PROGRAMS}  # name -> its module
OURS_ONLY = [name for module in MODULES for name in module.OURS_ONLY]
# The batches differ in size.
SIZES = [5, 2, 4]


@pytest.fixture(autouse=True)
def language(monkeypatch):
    for module in MODULES:
        monkeypatch.setattr(module, "fn", fn)
        monkeypatch.setattr(module, "types", types)


def inputs_of(name: str) -> list[str]:
    code = PROGRAMS[name].PROGRAMS[name].__code__
    return [n for n in code.co_varnames[: code.co_argcount] if n in conditional_programs.INPUTS]


def batch(name: str, iteration: int) -> Any:
    return conditional_programs.INPUTS[name][: SIZES[iteration]]


def sources_of(name: str, iterations: int) -> dict[str, Any]:
    return {
        n: {
            "batches": [[np.array(sample) for sample in batch(n, i)] for i in range(iterations)],
            "layout": conditional_programs.LAYOUTS.get(n, ""),
        }
        for n in inputs_of(name)
    }


def run_ours(name: str, **options: Any) -> list[list[tuple[list[torch.Tensor], str]]]:
    names = inputs_of(name)
    options = {"batch_size": 5, "num_threads": 2, "prefetch_queue_depth": 2, **options}

    @pipeline_def(enable_conditionals=True, **options)
    def definition():
        inputs = {
            n: fn.external_source(
                source=functools.partial(lambda n, i: batch(n, i) if i < len(SIZES) else None, n),
                layout=conditional_programs.LAYOUTS.get(n),
            )
            for n in names
        }
        return PROGRAMS[name].PROGRAMS[name](**inputs)

    pipe = definition()
    return [
        [(list(out.as_torch_list()), out.layout()) for out in pipe.run()] for _ in range(len(SIZES))
    ]


@pytest.mark.dali
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in OURS_ONLY])
def test_programs_equal_dali(name):
    sources = sources_of(name, len(SIZES))
    expected = run_program(
        PROGRAMS[name].__file__, name, sources, batch_size=5, iterations=len(SIZES)
    )
    actual = run_ours(name)
    for ours, theirs in zip(actual, expected, strict=True):
        for (samples, layout), output in zip(ours, theirs, strict=True):
            assert layout == output.layout
            for a, b in zip(samples, output.samples, strict=True):
                torch.testing.assert_close(a, b, rtol=0, atol=0)


@pytest.mark.dali
@pytest.mark.parametrize("name", OURS_ONLY)
def test_programs_that_dali_rejects_fail_there(name):
    sources = sources_of(name, 1)
    with pytest.raises(DaliError):
        run_program(PROGRAMS[name].__file__, name, sources, batch_size=5)
    run_ours(name)


@for_each("name", PROGRAMS)
def test_results_do_not_depend_on_threads_and_prefetching(name):
    expected = run_ours(name, num_threads=1, prefetch_queue_depth=1)
    for threads, depth in ((1, 3), (2, 1), (3, 2), (4, 4)):
        actual = run_ours(name, num_threads=threads, prefetch_queue_depth=depth)
        for ours, theirs in zip(actual, expected, strict=True):
            for (a, layout), (b, other) in zip(ours, theirs, strict=True):
                assert layout == other
                for x, y in zip(a, b, strict=True):
                    torch.testing.assert_close(x, y, rtol=0, atol=0)
