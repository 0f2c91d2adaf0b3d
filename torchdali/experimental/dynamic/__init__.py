# SPDX-License-Identifier: Apache-2.0
"""DALI's dynamic mode: `Tensor` and `Batch`, operators on them, readers as iterators.

Results are those of pipelines, and are computed when they are read. The names are those of DALI 2;
the guide is docs/guide/functional.md.
"""

import sys

from torchdali._common.unsupported import names_of as _names_of
from torchdali._eager.settings import get_num_threads
from torchdali.experimental.dynamic import math, random, readers
from torchdali.experimental.dynamic._context import EvalContext, EvalMode, set_num_threads
from torchdali.experimental.dynamic._data import (
    Batch,
    Tensor,
    as_batch,
    as_tensor,
    batch,
    tensor,
)
from torchdali.experimental.dynamic._device import Device, device
from torchdali.experimental.dynamic._operators import imread
from torchdali.experimental.dynamic._operators import install as _install
from torchdali.experimental.dynamic._types import (
    DataType,
    DType,
    ImageType,
    InterpType,
    bfloat16,
    bool,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    type_id,
    uint8,
    uint16,
    uint32,
    uint64,
)

__all__ = [
    "Batch",
    "DType",
    "DataType",
    "Device",
    "EvalContext",
    "EvalMode",
    "ImageType",
    "InterpType",
    "Tensor",
    "as_batch",
    "as_tensor",
    "batch",
    "bfloat16",
    "bool",
    "device",
    "dtype",
    "float16",
    "float32",
    "float64",
    "get_num_threads",
    "imread",
    "int8",
    "int16",
    "int32",
    "int64",
    "math",
    "random",
    "readers",
    "set_num_threads",
    "tensor",
    "type_id",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

_install(sys.modules[__name__])
__getattr__ = _names_of(__name__)
