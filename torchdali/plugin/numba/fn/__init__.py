# SPDX-License-Identifier: Apache-2.0
"""Functions that make operators of Numba functions."""

from torchdali.plugin.numba.fn import experimental

__all__ = ["experimental"]
