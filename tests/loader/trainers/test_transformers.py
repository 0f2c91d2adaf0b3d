# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer with a loader that has a pipeline, with the real package."""

from __future__ import annotations

import pytest
import torch
from numbered_images import Images, Model, train

import torchdali

pytest.importorskip("accelerate")
transformers = pytest.importorskip("transformers")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("keep_random_state"),
    pytest.mark.filterwarnings("ignore"),
]


class Trainer(transformers.Trainer):
    workers = 0
    prepares = True

    def _loader(self, dataset, shuffle):
        loader = torchdali.DataLoader(
            dataset, batch_size=4, shuffle=shuffle, num_workers=self.workers, pipeline=train
        )
        return self.accelerator.prepare(loader) if self.prepares else loader

    def get_train_dataloader(self):
        return self._loader(self.train_dataset, True)

    def get_eval_dataloader(self, eval_dataset=None):
        return self._loader(self.eval_dataset, False)


def make(folder, **options):
    arguments = transformers.TrainingArguments(
        str(folder), num_train_epochs=3, use_cpu=True, report_to=[], disable_tqdm=True,
        learning_rate=0.05, logging_strategy="no", save_strategy="steps", save_steps=8, seed=1,
        remove_unused_columns=False, **options,
    )  # fmt: skip
    torch.manual_seed(0)
    return Trainer(Model(), arguments, train_dataset=Images(), eval_dataset=Images())


@pytest.mark.parametrize("prepares", [True, False])
@pytest.mark.parametrize("workers", [0, 2])
def test_the_trainer_trains_evaluates_and_resumes(tmp_path, monkeypatch, workers, prepares):
    monkeypatch.setattr(Trainer, "workers", workers)
    monkeypatch.setattr(Trainer, "prepares", prepares)
    trainer = make(tmp_path)
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    assert trainer.state.global_step == 18
    assert trainer.evaluate()["eval_loss"] < before
    seen = trainer.model.seen
    for epoch in range(3):
        labels = [label for batch in seen[6 * epoch : 6 * epoch + 6] for label in batch]
        assert sorted(labels) == list(range(22))
    again = make(tmp_path)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-8"))
    assert again.state.global_step == 18
    assert len(again.model.seen) == 10  # two batches of the second epoch are skipped
    assert sorted(label for batch in again.model.seen[4:] for label in batch) == list(range(22))
