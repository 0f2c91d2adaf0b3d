# SPDX-License-Identifier: Apache-2.0
"""Names of operators that exist only to say why they cannot run."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.ops import run_op

from torchdali import functional
from torchdali._engine.schema import registry
from torchdali.errors import UnsupportedError

CLIP = torch.zeros(2, 16, 16, 3, dtype=torch.uint8)
MESSAGE = r"(?s)optical_flow.*cannot run: it needs.*Optical Flow SDK.*torchvision"


def test_these_names_exist():
    assert [schema.name for schema in registry().values() if schema.never] == ["optical_flow"]


@for_each("device", ["cpu", "gpu"])
def test_optical_flow_says_what_it_needs_and_what_to_use(device):
    with pytest.raises(UnsupportedError, match=MESSAGE):
        run_op("optical_flow", CLIP, layout="FHWC", device=device, output_grid=4)


def test_so_does_the_function_on_tensors():
    with pytest.raises(UnsupportedError, match=MESSAGE):
        functional.optical_flow(CLIP)
