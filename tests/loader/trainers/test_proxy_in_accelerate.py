# SPDX-License-Identifier: Apache-2.0
"""Datasets with a proxy under Accelerate, with the real package."""

from __future__ import annotations

import pytest
import torch
from numbered_images import Proxied, resized

from torchdali.plugin.pytorch.experimental import proxy

accelerate = pytest.importorskip("accelerate")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("keep_random_state"),
    pytest.mark.filterwarnings("ignore"),
]
ALL = [list(range(i, min(i + 4, 22))) for i in range(0, 22, 4)]


@pytest.fixture
def server():
    with proxy.DALIServer(resized()) as made:
        yield made


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("kind", ["torch", "proxy"])
def test_accelerate_gets_data(server, kind, num_workers):
    dataset, options = Proxied(server.proxy), {"batch_size": 4, "num_workers": num_workers}
    if kind == "proxy":
        loader = proxy.DataLoader(server, dataset, **options)
    else:
        loader = torch.utils.data.DataLoader(dataset, **options)
    accelerator = accelerate.Accelerator(cpu=True)
    try:
        found = []
        for batch in accelerator.prepare(loader):
            assert torch.equal(batch["pixel_values"][:, 0, 0, 0].long(), batch["labels"])
            found.append(batch["labels"].tolist())
        assert found == ALL
    finally:
        accelerator.free_memory()
        accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
        accelerate.state.GradientState._reset_state()
