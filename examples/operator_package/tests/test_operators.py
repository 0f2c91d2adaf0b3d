# SPDX-License-Identifier: Apache-2.0
"""The operators of this package: python -m pytest examples/operator_package/tests."""

import os
from pathlib import Path

import pytest
import torch
import torchdali_solarize

from torchdali import Pipeline, fn, functional, ops
from torchdali.extension import write_stubs


def test_the_package_adds_its_operators():
    """By being imported."""
    assert torchdali_solarize.OPERATORS == ["my.solarize", "my.random_gain"]


def test_the_typed_modules_are_those_of_torchdali():
    """The package's fn, ops and functional, and the modules in them."""
    import torchdali_solarize.functional.my as typed
    from torchdali_solarize import fn as typed_fn
    from torchdali_solarize.ops import my

    assert typed_fn is fn
    assert my is ops.my
    assert typed.solarize is functional.my.solarize


def test_the_typed_modules_are_up_to_date():
    """Otherwise, run the command in torchdali_solarize/__init__.py."""
    folder = Path(torchdali_solarize.__file__).parent
    assert write_stubs(folder, folder / "_operators.so", check=True) == []


def test_solarize_inverts_bright_elements():
    """Those that are not below the threshold."""
    image = torch.arange(256, dtype=torch.uint8).reshape(16, 16, 1)
    expected = torch.where(image < 100, image, 255 - image)
    assert torch.equal(functional.my.solarize(image, threshold=100), expected)


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_both_halves_agree(device, monkeypatch):
    """Without a GPU, the kernel runs as a loop."""
    if not torch.cuda.is_available():
        monkeypatch.setitem(os.environ, "TORCHDALI_EMULATE_GPU", "1")
    image = torch.arange(240, dtype=torch.uint8).reshape(8, 10, 3)
    pipe = Pipeline(2, 2, device_id=0 if device == "gpu" else None)
    with pipe:
        data = fn.external_source(source=lambda: [image, image[:5]], layout="HWC")
        pipe.set_outputs(fn.my.solarize(data.gpu() if device == "gpu" else data, threshold=9))
    for got, given in zip(pipe.run()[0].as_torch_list(), [image, image[:5]], strict=True):
        assert torch.equal(got.cpu(), torch.where(given < 9, given, 255 - given))
