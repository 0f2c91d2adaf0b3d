# SPDX-License-Identifier: Apache-2.0
"""How samples and batches look when they are printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

__all__ = ["describe", "shown_shapes", "text"]

_EDGE_ITEMS = 3
_THRESHOLD = 1000
_MAX_SAMPLES = 6
_MAX_SHAPES = 16


def text(values: torch.Tensor | Sequence[torch.Tensor]) -> str:
    """Returns the values of a tensor, or of the first tensors of a list."""
    if isinstance(values, torch.Tensor):
        shown = np.array2string(
            values.cpu().numpy(),
            prefix="    ",
            edgeitems=_EDGE_ITEMS,
            threshold=_THRESHOLD,
            separator=" ",
        )
        return f"    {shown}"
    data = ",\n".join(text(sample) for sample in values[:_MAX_SAMPLES])
    if len(values) > _MAX_SAMPLES:
        data += f",\n    ... {len(values) - _MAX_SAMPLES} more samples"
    return data or "    []"


def shown_shapes(shapes: list[tuple[int, ...]]) -> str:
    """Returns a list of shapes as text, cut if it is long."""
    if len(shapes) <= _MAX_SHAPES:
        return str(shapes)
    return f"{str(shapes[:_MAX_SHAPES])[:-1]}, ... {len(shapes) - _MAX_SHAPES} more]"


def describe(name: str, data: str, fields: Sequence[tuple[str, Any]]) -> str:
    """Returns ``name(data, key=value, ...)``, with one field per line; None fields are left out."""
    lines = [data, *(f"    {key}={value}" for key, value in fields if value is not None)]
    return f"{name}(\n" + ",\n".join(lines) + ")"
