# SPDX-License-Identifier: Apache-2.0
"""Data from Python: sources, the queues that they are fed through, and their workers."""
