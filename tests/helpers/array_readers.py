# SPDX-License-Identifier: Apache-2.0
"""Pipelines of one reader of arrays, and the same reader in real DALI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from torchdali import Pipeline, fn

from .dali_oracle import run_graph
from .ops import find


def build(
    op: str,
    batch_size: int = 1,
    num_threads: int = 2,
    tensors: Mapping[str, Sequence[Any]] | None = None,
    **args: Any,
) -> Pipeline:
    """Builds a pipeline of a reader, which is named "reader".

    Args:
        op: the reader.
        batch_size: the size of all batches.
        num_threads: worker threads.
        tensors: arguments with a value for each sample of a batch, the same in all batches.
        args: the other arguments.
    """
    pipe = Pipeline(batch_size, num_threads, device_id=None, seed=7)
    with pipe:
        sources = {
            name: fn.external_source(source=[list(values)], cycle=True, batch=True)
            for name, values in (tensors or {}).items()
        }
        made = find(op)(name="reader", **args, **sources)
        pipe.set_outputs(*(made if isinstance(made, list | tuple) else [made]))
    pipe.build()
    return pipe


def read(op: str, batches: int = 1, **args: Any) -> list[list[torch.Tensor]]:
    """Returns the samples of each output of a reader, of some batches; arguments as in build()."""
    pipe = build(op, **args)
    results = [pipe.run() for _ in range(batches)]
    return [
        [sample.clone() for result in results for sample in result[i].as_torch_list()]
        for i in range(len(results[0]))
    ]


def read_in_dali(
    op: str,
    batches: int = 1,
    batch_size: int = 1,
    tensors: Mapping[str, Sequence[Any]] | None = None,
    outputs: int = 1,
    **args: Any,
) -> tuple[list[list[torch.Tensor]], list[str]]:
    """Returns what read() returns, from real DALI, and the source of each sample."""
    sources = {
        name: {"batches": [[np.asarray(v) for v in values]] * batches}
        for name, values in (tensors or {}).items()
    }
    names = [f"output{i}" for i in range(outputs)]
    node = {"op": op, "args": args, "tensors": {n: n for n in sources}, "outputs": names}
    results = run_graph([node], names, sources, batch_size=batch_size, iterations=batches)
    samples = [[s for result in results for s in result[i].samples] for i in range(outputs)]
    return samples, [info for result in results for info in result[0].source_info]


def assert_equal(actual: Sequence[torch.Tensor], expected: Sequence[Any]) -> None:
    """Compares samples: element types, shapes and bits."""
    assert len(actual) == len(expected)
    for ours, theirs in zip(actual, expected, strict=True):
        theirs = torch.as_tensor(theirs)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert ours.contiguous().numpy().tobytes() == theirs.contiguous().numpy().tobytes()
