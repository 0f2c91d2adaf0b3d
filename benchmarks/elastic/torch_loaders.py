# SPDX-License-Identifier: Apache-2.0
"""Adapters of loaders in torchdali's environment: torch, torchdata, webdataset, datasets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets
import torch
import webdataset as wds
from datasets.distributed import split_dataset_by_node
from torch.utils.data import DataLoader, DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

from benchmarks.elastic.adapter import Batch, Setup
from benchmarks.elastic.sampled import Numbers, SampledLoader

__all__ = ["hugging_face", "stateful", "torch_loader", "webdataset"]


class _TorchLoader:
    """torch's DataLoader. It has no state: trainers count batches, and skip as many."""

    def __init__(self, setup: Setup) -> None:
        dataset = Numbers(setup.size)
        self._sampler = DistributedSampler(
            dataset, setup.world_size, setup.rank, shuffle=True, seed=setup.seed
        )
        self._loader = DataLoader(
            dataset, setup.batch_size, sampler=self._sampler, num_workers=setup.threads
        )
        self._skip = self._taken = 0

    def load(self, states: Sequence[Any]) -> None:
        self._skip = states[0]

    def epoch(self, number: int) -> Iterator[Batch]:
        self._sampler.set_epoch(number)
        self._taken, self._skip = self._skip, 0
        for batch in itertools.islice(self._loader, self._taken, None):
            self._taken += 1
            yield Batch(batch.tolist())

    def state(self) -> Any:
        return self._taken


class _WebDataset:
    """webdataset: shards are split among nodes and workers; there is no state of the position."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup

    def load(self, states: Sequence[Any]) -> None:
        raise NotImplementedError("webdataset has no state: an epoch begins again")

    def epoch(self, number: int) -> Iterator[Batch]:
        setup = self._setup
        urls = [str(path) for path in sorted((Path(setup.data) / "tar").glob("*.tar"))]
        shuffled = wds.detshuffle(100, seed=setup.seed, epoch=number - 1)
        pipeline = wds.DataPipeline(
            wds.SimpleShardList(urls),
            shuffled,
            wds.split_by_node,
            wds.split_by_worker,
            wds.tarfile_to_samples(),
            wds.shuffle(20),
            wds.decode(),
            wds.to_tuple("cls"),
        )
        loader = wds.WebLoader(
            pipeline, batch_size=setup.batch_size, num_workers=min(setup.threads, 1)
        )
        for (numbers,) in loader:
            yield Batch([int(one) for one in numbers])

    def state(self) -> Any:
        return None


class _HuggingFace:
    """datasets, streaming: split_dataset_by_node() and torchdata's StatefulDataLoader."""

    def __init__(self, setup: Setup) -> None:
        datasets.disable_progress_bars()
        files = [str(path) for path in sorted((Path(setup.data) / "tables").glob("*.parquet"))]
        stream = datasets.load_dataset(
            "parquet", data_files=files, split="train", streaming=True, cache_dir=setup.data
        )
        stream = stream.shuffle(seed=setup.seed, buffer_size=20)
        self._stream = split_dataset_by_node(stream, setup.rank, setup.world_size)
        self._loader = StatefulDataLoader(
            self._stream, setup.batch_size, num_workers=min(setup.threads, 1)
        )
        self._rank = setup.rank

    def load(self, states: Sequence[Any]) -> None:
        self._loader.load_state_dict(states[min(self._rank, len(states) - 1)])

    def epoch(self, number: int) -> Iterator[Batch]:
        self._stream.set_epoch(number)
        for batch in self._loader:
            yield Batch(torch.as_tensor(batch["label"]).tolist())

    def state(self) -> Any:
        return self._loader.state_dict()


def torch_loader(setup: Setup) -> _TorchLoader:
    """Torch's DataLoader."""
    return _TorchLoader(setup)


def stateful(setup: Setup) -> SampledLoader:
    """StatefulDataLoader of torchdata, with its StatefulDistributedSampler."""
    dataset = Numbers(setup.size)
    sampler = StatefulDistributedSampler(
        dataset, setup.world_size, setup.rank, shuffle=True, seed=setup.seed
    )
    loader = StatefulDataLoader(
        dataset, setup.batch_size, sampler=sampler, num_workers=setup.threads
    )
    return SampledLoader(setup.rank, sampler, loader)


def webdataset(setup: Setup) -> _WebDataset:
    """The package webdataset."""
    return _WebDataset(setup)


def hugging_face(setup: Setup) -> _HuggingFace:
    """The package datasets."""
    return _HuggingFace(setup)
