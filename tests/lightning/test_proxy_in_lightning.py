# SPDX-License-Identifier: Apache-2.0
"""Datasets with a proxy under Lightning's Trainer, with the real package."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data import DistributedSampler

from tests.loader.trainers.numbered_images import Model, Proxied, resized
from torchdali.plugin.pytorch.experimental import proxy

lightning = pytest.importorskip("lightning.pytorch")
data = pytest.importorskip("lightning.pytorch.utilities.data")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("keep_random_state"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture
def server():
    with proxy.DALIServer(resized()) as made:
        yield made


@pytest.mark.parametrize("num_workers", [0, 2])
def test_lightning_trains_and_replaces_the_sampler(server, num_workers):
    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = Model()

        def training_step(self, batch, _index):
            assert torch.equal(batch["pixel_values"][:, 0, 0, 0].long(), batch["labels"])
            return self.model(batch["pixel_values"], batch["labels"])["loss"]

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    loader = proxy.DataLoader(server, Proxied(server.proxy), batch_size=4, num_workers=num_workers)
    module = Module()
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(module, loader)
    assert module.model.seen == [list(range(i, min(i + 4, 22))) for i in range(0, 22, 4)] * 2
    # As with several processes.
    sampler = DistributedSampler(range(22), 2, 0, shuffle=False)
    part = data._update_dataloader(loader, sampler)
    assert part.dali_server is server
    assert [n for batch in part for n in batch["labels"].tolist()] == list(range(0, 22, 2))
