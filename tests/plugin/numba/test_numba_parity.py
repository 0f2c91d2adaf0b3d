# SPDX-License-Identifier: Apache-2.0
"""Numba functions against real DALI 1.35.0: values, types, shapes, layouts, numbers of outputs."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch
from helpers import numba_programs as programs
from helpers.cases import for_each
from helpers.dali_oracle import DaliError, run_program

from torchdali import fn, pipeline_def, types
from torchdali.plugin.numba.fn.experimental import numba_function

pytestmark = pytest.mark.slow

pytest.importorskip("numba")

SIZES = [4, 2, 3]  # of the batches


@pytest.fixture(autouse=True)
def language(monkeypatch):
    for name, value in {"fn": fn, "types": types, "numba_function": numba_function}.items():
        monkeypatch.setattr(programs, name, value)


def run_ours(name: str, **options: Any) -> list[list[tuple[list[torch.Tensor], str]]]:
    options = {"batch_size": 4, "num_threads": 2, "prefetch_queue_depth": 2, **options}

    @pipeline_def(enable_conditionals=True, **options)
    def definition():
        inputs = [
            fn.external_source(
                source=functools.partial(
                    lambda n, i: programs.INPUTS[n][: SIZES[i]] if i < len(SIZES) else None, n
                ),
                layout=programs.LAYOUTS.get(n),
            )
            for n in programs.inputs_of(name)
        ]
        return getattr(programs, name)(*inputs)

    pipe = definition()
    return [[(list(o.as_torch_list()), o.layout()) for o in pipe.run()] for _ in SIZES]


def assert_same(actual: Any, expected: Any) -> None:
    for ours, theirs in zip(actual, expected, strict=True):
        for (samples, layout), (others, other_layout) in zip(ours, theirs, strict=True):
            assert layout == other_layout
            for a, b in zip(samples, others, strict=True):
                torch.testing.assert_close(a, b, rtol=0, atol=0)


@pytest.mark.dali
@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_a_program_gives_what_dali_gives(name):
    sources = {
        n: {
            "batches": [[np.array(s) for s in programs.INPUTS[n][:size]] for size in SIZES],
            "layout": programs.LAYOUTS.get(n, ""),
        }
        for n in programs.inputs_of(name)
    }
    theirs = run_program(programs.__file__, name, sources, batch_size=4, iterations=len(SIZES))
    expected = [[(o.samples, o.layout) for o in outputs] for outputs in theirs]
    assert_same(run_ours(name), expected)


@for_each(
    "name",
    ["permuted_shape", "permuted_batch", "across_samples", "two_outputs", "batch_in_a_branch"],
)
def test_results_do_not_depend_on_threads_and_prefetching(name):
    expected = run_ours(name, num_threads=1, prefetch_queue_depth=1)
    for threads, depth in ((1, 3), (2, 1), (3, 4)):
        actual = run_ours(name, num_threads=threads, prefetch_queue_depth=depth)
        assert_same(actual, expected)


def test_definitions_that_dali_rejects_are_errors():
    """What numba_function of DALI 1.35.0 raises at definition or run, noted by hand."""
    refused = {
        "no inputs": {"in_types": [], "ins_ndim": []},  # DALI: SyntaxError
        "no outputs": {"out_types": [], "outs_ndim": []},  # DALI: RuntimeError
        "seven": {"in_types": [types.UINT8] * 7, "ins_ndim": [1] * 7},  # DALI: ValueError
        "lengths": {"ins_ndim": [1, 1]},  # DALI: AssertionError
        "float16": {"in_types": [types.FLOAT16], "out_types": [types.FLOAT16]},  # RuntimeError
        "no setup_fn": {"outs_ndim": [1, 1], "out_types": [types.UINT8] * 2},  # RuntimeError
    }
    for change in refused.values():
        arguments = {
            "run_fn": programs.scale,
            "in_types": [types.UINT8],
            "ins_ndim": [1],
            "out_types": [types.UINT8],
            "outs_ndim": [1],
            **change,
        }

        @pipeline_def(batch_size=1, num_threads=1)
        def definition(arguments=arguments):
            data = types.Constant(np.zeros(3, np.uint8))
            return numba_function(*[data] * (len(arguments["in_types"]) or 1), **arguments)

        with pytest.raises(RuntimeError):
            definition()


WRONG = {
    "wrong_type": "doesn't match type of the input data",
    "wrong_ndim": "doesn't match the number of dimensions",
    "negative_shape": "non negative",
}


@pytest.mark.dali
@pytest.mark.parametrize("name", WRONG)
def test_runs_that_fail_in_dali_fail(name):
    sources = {"ints": {"batches": [[np.array(s) for s in programs.INPUTS["ints"]]], "layout": ""}}
    with pytest.raises(DaliError, match=WRONG[name]):
        run_program(programs.__file__, name, sources, batch_size=4, iterations=1)
    with pytest.raises(RuntimeError, match=r"`(scale|negative)` \(.*numba_programs.py:\d+\)"):
        run_ours(name)
