# SPDX-License-Identifier: Apache-2.0
"""Adapters of torchdali's data module for Lightning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from benchmarks.elastic.adapter import Batch, Setup
from benchmarks.elastic.sampled import Numbers
from benchmarks.elastic.torchdali_loaders import number_of, numbered
from torchdali.lightning import DataModule

__all__ = ["lightning_dataset", "lightning_pipeline"]


class _Lightning:
    """Lightning's data module. As in Lightning's checkpoints, the state is that of rank 0."""

    def __init__(self, source: Any, options: Mapping[str, Any], setup: Setup) -> None:
        self._module = DataModule(source, batch_size=setup.batch_size, **options)
        self._loader = self._module.train_dataloader()

    def load(self, states: Sequence[Any]) -> None:
        self._module.load_state_dict(states[0])

    def epoch(self, number: int) -> Iterator[Batch]:
        for owner in (getattr(self._loader, "batch_sampler", None), self._loader):
            sampler = getattr(owner, "sampler", None)
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(number)  # as the trainer does
                break
        for batch in self._loader:
            if isinstance(batch, torch.Tensor):
                yield Batch(batch.tolist())
            else:
                values, noise = batch
                yield Batch([number_of(one) for one in values], [float(one) for one in noise])

    def state(self) -> Any:
        return self._module.state_dict()


def lightning_pipeline(setup: Setup) -> _Lightning:
    """Lightning's module over a pipeline."""
    options = {
        "pipeline_args": {"reader": "file", "data": setup.data, "num_threads": setup.threads},
        "loader_args": {"shuffle": True, "seed": setup.seed, "shards": "exact", "ragged": "list"},
    }
    return _Lightning(numbered, options, setup)


def lightning_dataset(setup: Setup) -> _Lightning:
    """Lightning's module over a dataset."""
    options = {"loader_args": {"num_workers": setup.threads}}
    return _Lightning(Numbers(setup.size), options, setup)
