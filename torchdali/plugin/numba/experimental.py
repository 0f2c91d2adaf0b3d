# SPDX-License-Identifier: Apache-2.0
"""The operator object of ``torchdali.plugin.numba.fn.experimental.numba_function``."""

from torchdali.plugin.numba._function import NumbaFunction

__all__ = ["NumbaFunction"]
