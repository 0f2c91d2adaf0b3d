# SPDX-License-Identifier: Apache-2.0
"""Batches for the tests of tensors."""

from __future__ import annotations

import pytest
from helpers.inputs import counting

from torchdali.tensors import TensorListCPU


@pytest.fixture
def dense() -> TensorListCPU:
    return TensorListCPU(counting(2, 3, 4), layout="HW")


@pytest.fixture
def ragged() -> TensorListCPU:
    return TensorListCPU([counting(2, 3), counting(1, 5)], layout="HW")
