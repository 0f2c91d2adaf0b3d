# SPDX-License-Identifier: Apache-2.0
"""Builds wheels for all distributions with glibc 2.28 or newer: ``python -m tools.manylinux``."""
