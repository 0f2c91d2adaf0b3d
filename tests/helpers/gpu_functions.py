# SPDX-License-Identifier: Apache-2.0
"""Pipelines of Python functions on the GPU."""

from __future__ import annotations

import numpy as np
import torch

from torchdali import Pipeline, fn, pipeline_def

BATCH = 4


def samples(ragged: bool = True, dtype: object = np.float32) -> list[np.ndarray]:
    return [
        np.arange(6 * (2 + i * ragged)).reshape(2 + i * ragged, 6).astype(dtype)
        for i in range(BATCH)
    ]


def pipeline(function, data=None, kind="torch_python_function", **options) -> Pipeline:
    data = samples() if data is None else data
    flags = {key: options.pop(key) for key in ("enable_conditionals",) if key in options}

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, seed=7, **flags)
    def define():
        x = fn.external_source([data], cycle=True)
        made = getattr(fn, kind)(x, device="gpu", function=function, **options)
        return tuple(made) if isinstance(made, list) else made

    return define()


def assert_samples(actual: list[torch.Tensor], expected: list[np.ndarray]) -> None:
    assert len(actual) == len(expected)
    for ours, theirs in zip(actual, expected, strict=True):
        theirs = torch.from_numpy(np.array(theirs))
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
