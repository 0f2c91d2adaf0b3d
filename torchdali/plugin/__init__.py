# SPDX-License-Identifier: Apache-2.0
"""Iterators for training loops and Numba functions, under DALI's names."""

__all__ = ["base_iterator", "numba", "pytorch"]
