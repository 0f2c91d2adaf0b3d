# SPDX-License-Identifier: Apache-2.0
"""How tensors of torch go into the engine and out of it: docs/design/packaging.md."""

import subprocess
import sys

import pytest
import torch

from torchdali import fn, pipeline_def

PROGRAM = """
import torch
{before}
from torchdali import fn, pipeline_def

SAMPLES = [
    torch.arange(6).to(torch.uint16).view(2, 3).t(),
    torch.zeros(0, 4, dtype=torch.uint16),
]

@pipeline_def(batch_size=2, num_threads=2, device_id=None)
def define():
    x = fn.external_source(lambda: SAMPLES, batch=True)
    doubled = fn.torch_python_function(x, function=lambda t: t.to(torch.float64).t() * 2)
    capsules = fn.dl_tensor_python_function(doubled, function=lambda batch: batch)
    return x, doubled, fn.python_function(capsules, function=lambda a: a[::-1]), x + 1

for output in define().run():
    for sample in output.as_torch_list():
        print(sample.dtype, sample.stride(), sample.tolist())
"""


@pytest.mark.skipif(not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"), reason="no table")
def test_a_torch_without_a_table_for_dlpack_gives_the_same_tensors():
    printed = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM.format(before=before)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for before in ("", "del torch.Tensor.__dlpack_c_exchange_api__")
    ]
    assert printed[0] == printed[1]
    assert len(printed[0].splitlines()) == 8


@pytest.mark.parametrize("shape", [(), (0, 4), (2, 0, 3), (1, 3)], ids=str)
def test_tensors_have_torchs_strides(shape):
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def define():
        x = fn.external_source(lambda: [torch.zeros(shape)] * 2, batch=True)
        return fn.python_function(x + 1, function=lambda a: a)

    for sample in define().run()[0].as_torch_list():
        assert sample.stride() == torch.zeros(shape).stride()
