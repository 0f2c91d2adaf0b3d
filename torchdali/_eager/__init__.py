# SPDX-License-Identifier: Apache-2.0
"""Operators that run at once on tensors, by plans that are kept; docs/design/eager.md."""
