# SPDX-License-Identifier: Apache-2.0
"""Pipelines in debug mode, and comparisons with the same pipelines without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from torchdali import Pipeline, pipeline_def

from .inputs import random_tensor

BATCH = 3


def images(iteration: int = 0) -> list[torch.Tensor]:
    """Returns samples of a batch; each iteration has its own."""
    return some_images(iteration, BATCH)


def some_images(iteration: int, count: int) -> list[torch.Tensor]:
    """Returns images() of a batch of another size."""
    return [random_tensor((4, 5, 3), torch.uint8, 10 * iteration + i) for i in range(count)]


def debugged(definition: Callable[..., Any], **options: Any) -> Pipeline:
    """Returns a pipeline in debug mode."""
    return pipeline_def(  # type: ignore[no-any-return]
        definition,
        **{"batch_size": BATCH, "num_threads": 2, "device_id": None, "debug": True, **options},
    )()


def values(batch: Any) -> list[torch.Tensor]:
    """Returns copies of the samples of an output."""
    return [sample.clone() for sample in batch.as_torch_list()]


def assert_equal(ours: Sequence[Any], theirs: Sequence[Any]) -> None:
    """Compares the outputs of two pipelines: layouts, types and values."""
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.layout() == b.layout()
        assert a.dtype == b.dtype
        for x, y in zip(values(a), values(b), strict=True):
            torch.testing.assert_close(x, y, rtol=0, atol=0, equal_nan=True)


def both(
    definition: Callable[..., Any],
    iterations: int = 3,
    before: Callable[[Pipeline, int], None] = lambda pipe, iteration: None,
    **options: Any,
) -> tuple[Pipeline, Pipeline]:
    """Runs a definition with and without debug mode; the outputs must be equal.

    Args:
        definition: of the pipeline.
        iterations: how many to run.
        before: is called with each pipeline and the iteration before it runs.
        options: of the pipeline.

    Returns:
        The pipeline without debug mode, and the one with it.
    """
    made = pipeline_def(definition, **{"batch_size": BATCH, "num_threads": 2, "seed": 5, **options})
    plain, debug = made(), made(debug=True)
    for iteration in range(iterations):
        before(plain, iteration)
        before(debug, iteration)
        assert_equal(debug.run(), plain.run())
    return plain, debug
