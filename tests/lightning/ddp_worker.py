# SPDX-License-Identifier: Apache-2.0
"""One of the processes that torchrun starts: Lightning's Trainer with ddp on the CPU.

    torchrun --standalone --nproc-per-node 2 ddp_worker.py ROOT OUT CHECKPOINT STOP_AT_STEP

Resumes from CHECKPOINT if that exists; at step STOP_AT_STEP it writes CHECKPOINT and is killed.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import Callback

from tests.lightning.modules import Recorder
from tests.loader.pipeline.numbered_files import numbers
from torchdali.lightning import DataModule


class KillAt(Callback):
    """Saves a checkpoint after a step; then every process is killed."""

    def __init__(self, step: int, path: Path) -> None:
        self.step, self.path = step, path

    def on_train_batch_end(self, trainer: Any, *_args: Any) -> None:
        if trainer.global_step == self.step:
            trainer.save_checkpoint(self.path)
            trainer.strategy.barrier()
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    root, out, checkpoint, stop_at = (*map(Path, sys.argv[1:4]), int(sys.argv[4]))
    torch.set_num_threads(1)
    data = DataModule(
        numbers,
        numbers,
        batch_size=4,
        pipeline_args={"root": root, "num_threads": 1},
        stages={"train": {"loader_args": {"shuffle": True}}},
    )
    trainer = Trainer(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        strategy="ddp",
        max_epochs=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[KillAt(stop_at, checkpoint)],
    )
    resumed = checkpoint if checkpoint.exists() else None
    trainer.fit(Recorder(str(out)), data, ckpt_path=resumed, weights_only=False)


if __name__ == "__main__":
    main()
