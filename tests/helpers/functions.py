# SPDX-License-Identifier: Apache-2.0
"""Pipelines of one Python function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torchdali import Pipeline, fn

SAMPLES = [np.arange(6, dtype=np.uint8).reshape(2, 3) + i for i in range(3)]


def pipeline_of(
    function: Callable[..., Any],
    operator: str = "python_function",
    *,
    options: dict[str, Any] | None = None,
    **args: Any,
) -> Pipeline:
    """Returns a pipeline that calls a function with the three SAMPLES."""
    if operator == "dl_tensor_python_function":
        args.setdefault("batch_processing", False)
    with Pipeline(3, 2, None, seed=1, **(options or {})) as pipe:
        x = fn.external_source(lambda: SAMPLES, batch=True)
        made = getattr(fn, operator)(x, function=function, **args)
        made = made if isinstance(made, list) else [x if made is None else made]
        pipe.set_outputs(*made)
    return pipe
