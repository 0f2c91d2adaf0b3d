# SPDX-License-Identifier: Apache-2.0
"""A model that records its samples, and datasets, for tests of torchdali.lightning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningModule
from torch.utils.data import Dataset

from tests.loader.pipeline.numbered_files import labels


class Recorder(LightningModule):
    """Records (epoch, labels) of every batch, and writes them to files in `out` if it is given."""

    def __init__(self, out: str | None = None) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.out = out
        self.seen: dict[str, list[tuple[int, list[int]]]] = {}

    def note(self, stage: str, batch: Any) -> None:
        found = (self.current_epoch, labels([batch]))
        self.seen.setdefault(stage, []).append(found)
        if self.out is not None and not self.trainer.sanity_checking:
            with (Path(self.out) / f"{stage}-{self.global_rank}.jsonl").open("a") as file:
                file.write(json.dumps(found) + "\n")

    def step(self, stage: str, batch: Any) -> torch.Tensor:
        first = next(iter(batch.values())) if "noise" not in batch else batch
        self.note(stage, first)
        return self.layer(first["noise"].reshape(-1, 1).float()).mean()

    def training_step(self, batch: Any, _index: int) -> torch.Tensor:
        return self.step("train", batch)

    def validation_step(self, batch: Any, _index: int, dataloader_idx: int = 0) -> None:
        self.step(f"val{dataloader_idx}" if dataloader_idx else "val", batch)

    def test_step(self, batch: Any) -> None:
        self.step("test", batch)

    def predict_step(self, batch: Any, _index: int) -> Any:
        self.note("predict", batch)
        return batch["label"]

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def of_epoch(self, epoch: int, stage: str = "train") -> list[int]:
        """Returns the labels seen in an epoch."""
        return [label for e, found in self.seen.get(stage, []) if e == epoch for label in found]


class Numbers(Dataset):
    """Samples 0 to `count` - 1."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"label": index, "noise": float(index)}
