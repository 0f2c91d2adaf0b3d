# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of single operators and of what the engine itself costs."""
