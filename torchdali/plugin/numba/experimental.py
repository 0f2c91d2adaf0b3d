# SPDX-License-Identifier: Apache-2.0
"""The operator object of ``torchdali.plugin.numba.fn.experimental.numba_function``."""

from typing import TYPE_CHECKING

from torchdali._common.unsupported import names_of
from torchdali.plugin.numba._function import NumbaFunction

__all__ = ["NumbaFunction"]

if not TYPE_CHECKING:  # else a type checker would believe every name
    __getattr__ = names_of(__name__)
