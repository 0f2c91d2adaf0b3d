# SPDX-License-Identifier: Apache-2.0
"""Processes that run Python sources: pool.py is the pipeline's side, process.py theirs."""
