# SPDX-License-Identifier: Apache-2.0
"""What the benchmark of single operators measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """One use of an operator.

    Args:
        define: (module with DALI's API, inputs) -> output or outputs.
        inputs: names of operators.INPUTS.
        opencv, numpy, librosa: the equivalent on the arrays of one sample; None if there is none.
        torchaudio: the same on tensors.
        copies: whether the operator only copies its input, so that memcpy() is a peer.
    """

    define: Callable[..., Any]
    inputs: tuple[str, ...] = ("image",)
    opencv: Callable[..., Any] | None = None
    numpy: Callable[..., Any] | None = None
    torchaudio: Callable[..., Any] | None = None
    librosa: Callable[..., Any] | None = None
    copies: bool = False
