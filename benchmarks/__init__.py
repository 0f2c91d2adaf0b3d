# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: ``make bench DATA=DIR`` runs them; CONTRIBUTING.md explains how to add one."""
