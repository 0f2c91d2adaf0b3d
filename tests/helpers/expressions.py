# SPDX-License-Identifier: Apache-2.0
"""Definitions as text, which torchdali and real DALI evaluate alike."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

import torchdali
from torchdali import Pipeline, fn, types

from . import dali_oracle
from .dali_oracle import DaliOutput

# Of `math`; those of the C library, whose last bits differ from one to another.
LIBRARY_FUNCTIONS = [
    "cbrt",
    "exp",
    "log",
    "log2",
    "log10",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
]
# name -> (layout, one list of samples for each iteration)
Sources = Mapping[str, tuple[str, Sequence[Sequence[torch.Tensor]]]]


def _used(expression: str, sources: Sources | None) -> Sources:
    """Returns the sources that the expression names; others could not be fed."""
    names = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
    return {name: source for name, source in (sources or {}).items() if name in names}


def evaluate(
    expression: str,
    sources: Sources | None = None,
    *,
    batch_size: int = 2,
    iterations: int = 1,
    num_threads: int = 1,
) -> list[list[DaliOutput]]:
    """Runs a definition in torchdali.

    Args:
        expression: Python that makes the tuple of outputs, over the names of the sources and fn,
            math, newaxis, np and types.
        sources: the data, under the names that the expression has for them.
        batch_size: the largest batch.
        iterations: how many batches to run.
        num_threads: worker threads.

    Returns:
        For each iteration, the outputs in order, in the form of the oracle's.
    """
    names = {"fn": fn, "newaxis": torchdali.newaxis, "np": np, "types": types}
    names["math"] = getattr(torchdali, "math", None)
    pipe = Pipeline(batch_size, num_threads, None, seed=1, prefetch_queue_depth=1)
    used = _used(expression, sources)
    with pipe:
        for name, (layout, _) in used.items():
            names[name] = fn.external_source(name=name, layout=layout or None)
        pipe.set_outputs(*eval(expression, names))
    results = []
    try:
        pipe.build()
        for iteration in range(iterations):
            for name, (_, batches) in used.items():
                pipe.feed_input(name, list(batches[iteration]))
            results.append([DaliOutput(out.as_torch_list(), out.layout()) for out in pipe.run()])
    finally:
        pipe.close()
    return results


def evaluate_in_dali(
    expression: str, sources: Sources | None = None, *, batch_size: int = 2, iterations: int = 1
) -> list[list[DaliOutput]]:
    """Runs the same in real DALI, on the CPU."""
    fed: dict[str, Any] = {}
    for name, (layout, batches) in _used(expression, sources).items():
        fed[name] = {"batches": [list(batch) for batch in batches], "layout": layout}
    made = ast.parse(expression, mode="eval").body
    assert isinstance(made, ast.Tuple), f"{expression} is no tuple of outputs"
    outputs = [f"output_{i}" for i in range(len(made.elts))]
    return dali_oracle.run_graph(
        [{"expression": expression, "outputs": outputs}],
        outputs,
        fed,
        batch_size=batch_size,
        iterations=iterations,
    )


def assert_same(
    actual: Sequence[Sequence[DaliOutput]], expected: Sequence[Sequence[DaliOutput]]
) -> None:
    """Checks that values, types, shapes and layouts are identical."""
    assert len(actual) == len(expected)
    for ours, theirs in zip(actual, expected, strict=True):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert one.layout == other.layout
            assert len(one.samples) == len(other.samples)
            for a, b in zip(one.samples, other.samples, strict=True):
                assert a.dtype == b.dtype
                assert a.shape == b.shape
                torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


def check_against_dali(expression: str, sources: Sources | None = None, **options: Any) -> None:
    """Fails where torchdali and real DALI give different outputs."""
    assert_same(
        evaluate(expression, sources, **options), evaluate_in_dali(expression, sources, **options)
    )
