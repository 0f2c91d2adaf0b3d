# SPDX-License-Identifier: Apache-2.0
"""DALI's name for the module of batches and tensors."""

from torchdali.tensors import TensorCPU, TensorListCPU

__all__ = ["TensorCPU", "TensorListCPU"]
