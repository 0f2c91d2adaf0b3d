# SPDX-License-Identifier: Apache-2.0
"""Operators that call PyTorch, under DALI's module name; they are those of torchdali.fn."""

from torchdali.fn import torch_python_function

__all__ = ["torch_python_function"]
