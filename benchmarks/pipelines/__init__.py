# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of whole pipelines, as users write them."""
