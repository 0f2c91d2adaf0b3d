# SPDX-License-Identifier: Apache-2.0
"""Operators that call PyTorch, where DALI has them; they are those of torchdali.fn."""

from torchdali.fn import torch_python_function

__all__ = ["torch_python_function"]
