# SPDX-License-Identifier: Apache-2.0
"""Iterators for training loops and Numba functions, under DALI's names."""

from typing import TYPE_CHECKING

from torchdali._common.unsupported import names_of

__all__ = ["base_iterator", "numba", "pytorch"]

if not TYPE_CHECKING:  # else a type checker would believe every name
    __getattr__ = names_of(__name__)
