# SPDX-License-Identifier: Apache-2.0
"""Iterators for training loops, under DALI's names."""
