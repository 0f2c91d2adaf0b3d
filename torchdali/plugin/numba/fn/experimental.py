# SPDX-License-Identifier: Apache-2.0
"""numba_function, under the name that DALI has for it."""

from torchdali.plugin.numba._function import numba_function

__all__ = ["numba_function"]
