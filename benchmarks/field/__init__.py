# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of other projects, by their own methods: ``make bench-field DATA=DIR``.

A module of its own for each benchmark, with ``PEERS``, ``make(peer, axes)`` and
``measure(options)``. docs/guide/field_benchmarks.md describes the methods and where they differ
from those of the others; published.py has the figures that they published.
"""
