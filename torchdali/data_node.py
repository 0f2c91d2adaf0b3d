# SPDX-License-Identifier: Apache-2.0
"""DALI's name for the module of DataNode."""

from torchdali.graph import DataNode

__all__ = ["DataNode"]
