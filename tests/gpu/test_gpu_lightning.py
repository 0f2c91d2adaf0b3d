# SPDX-License-Identifier: Apache-2.0
"""Lightning with operators on the GPU."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("lightning")

from lightning.pytorch import LightningModule, Trainer

from tests.loader.pipeline.numbered_files import write_numbers
from torchdali import fn, pipeline_def, types
from torchdali.lightning import DataModule

BATCH, FILES = 4, 11
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("keep_random_state"),  # loaders draw seeds
]


@pipeline_def(batch_size=BATCH, num_threads=2)
def numbers(root: Path):
    data, label = fn.readers.file(file_list=f"{root}/list.txt", name="files")
    x = fn.cast(data.gpu(), dtype=types.FLOAT) * 0.5
    return {"x": x, "label": label.gpu()}


class Model(LightningModule):
    """Notes the labels."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
        self.seen: list[int] = []
        self.kind = device

    def training_step(self, batch: Any, _index: int) -> torch.Tensor:
        assert batch["x"].device.type == batch["label"].device.type == self.kind
        self.seen += batch["label"].tolist()
        assert (batch["x"][:, 0] * 2).tolist() == batch["label"].tolist()
        return self.layer(batch["x"]).mean()

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=1e-6)


def test_the_model_gets_batches_of_the_gpu(backend, tmp_path):
    data = DataModule(numbers, pipeline_args={"root": write_numbers(tmp_path / "data", FILES)})
    with torch.random.fork_rng(devices=[]):
        model = Model(backend)
    trainer = Trainer(
        accelerator="gpu" if backend == "cuda" else "cpu",
        devices=1,
        max_epochs=2,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        default_root_dir=tmp_path,
    )
    trainer.fit(model, data)
    assert Counter(model.seen) == dict.fromkeys(range(FILES), 2)


def test_lightning_names_the_gpu_of_the_process(simulated_gpus):
    @pipeline_def(batch_size=BATCH, num_threads=1)
    def define():
        x = fn.external_source(lambda i: [np.ones((2, 2, 3), np.uint8)] * BATCH, layout="HWC")
        return fn.flip(x.gpu())

    for gpu in (0, 1):
        data = DataModule(define)
        data.trainer = SimpleNamespace(
            global_rank=gpu,
            world_size=2,
            local_rank=gpu,
            precision="32-true",
            overfit_batches=0,
            strategy=SimpleNamespace(root_device=torch.device("cuda", gpu)),
        )
        loader = data.train_dataloader()
        assert next(iter(loader)).shape == (BATCH, 2, 2, 3)
        loader.close()
    assert [options["index"] for options in simulated_gpus] == [0, 1]
