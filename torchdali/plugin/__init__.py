# SPDX-License-Identifier: Apache-2.0
"""Iterators for training loops, under DALI's names."""

__all__ = ["base_iterator", "pytorch"]
