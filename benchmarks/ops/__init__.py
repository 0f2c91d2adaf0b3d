# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of single operators and of the engine's own overhead."""
