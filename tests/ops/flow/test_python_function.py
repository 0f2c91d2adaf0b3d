# SPDX-License-Identifier: Apache-2.0
"""fn.python_function and its variants as operators; tests/functions tests the functions."""

from __future__ import annotations

import numpy as np
import torch
from helpers.ops import Input, OpCase

OPERATORS = ["dl_tensor_python_function", "python_function", "torch_python_function"]

WHY = "a function is no data; tests/functions/test_function_parity.py compares the three"


def plus_one(x):
    return x + 1


def transposed(x):
    return x.T


def first_row(x, y):
    return x[:1] + np.sum(y).astype(x.dtype), y


def sorted_by_sum(xs):
    return [np.full((2,), i, np.int32) for i in range(len(xs))]


def backwards(x):
    return x.flip(0)


def noise(x):
    import torchdali

    return x + torchdali.current_sample().numpy.random(x.shape).astype(np.float32)


def same(x):
    return x


def _case(function, layout="HW", shape=((3, 4), (2, 5)), op="python_function", **args):
    more = args.pop("more_inputs", ())
    dtype = args.pop("dtype", torch.float32)
    args = {"function": function, **args}
    shape = list(shape) if isinstance(shape[0], tuple) else shape
    return OpCase(op, layout, shape, args, dtype=dtype, no_parity=WHY, more_inputs=more)


CASES = [
    _case(plus_one, dtype=torch.uint8),
    _case(plus_one, workers="threads", output_layouts="HW"),
    _case(transposed, output_layouts=["WH"]),
    _case(
        first_row,
        num_outputs=2,
        output_layouts=["HW"],
        more_inputs=(Input(lambda i: torch.full((i + 1,), i)),),
    ),
    _case(noise),
    _case(noise, workers="threads", seed=3),
    _case(backwards, op="torch_python_function"),
    _case(same, op="dl_tensor_python_function", batch_processing=False),
    _case(same, op="dl_tensor_python_function"),
]
