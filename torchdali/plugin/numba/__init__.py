# SPDX-License-Identifier: Apache-2.0
"""Numba functions inside a pipeline, compiled once and run on the engine's threads without the GIL.

Numba is needed only if a function is used: ``pip install numba``.
"""

from torchdali.plugin.numba import experimental, fn

__all__ = ["experimental", "fn"]
