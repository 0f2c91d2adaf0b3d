# SPDX-License-Identifier: Apache-2.0
"""Adapters of torchdali: PipelineLoader over each reader, and DataLoader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import torch
from torch.utils.data import DistributedSampler

from benchmarks.elastic.adapter import Batch, Setup
from benchmarks.elastic.sampled import Numbers, SampledLoader
from torchdali import DataLoader, PipelineLoader, fn, pipeline_def, tfrecord
from torchdali.plugin.base_iterator import LastBatchPolicy
from torchdali.plugin.pytorch import DALIGenericIterator
from torchdali.types import BatchInfo

__all__ = ["READERS", "number_of", "numbered"]

_Read = Callable[[Path], Any]  # returns the node that has the number of the sample


def _paths(folder: Path, pattern: str) -> list[str]:
    return [str(path) for path in sorted(folder.glob(pattern))]


def _file(data: Path) -> Any:
    return fn.readers.file(file_list=str(data / "files" / "list.txt"))[1]


def _webdataset(data: Path) -> Any:
    return fn.readers.webdataset(paths=_paths(data / "tar", "*.tar"), ext=["jpg", "cls"])[0]


def _tfrecord(data: Path) -> Any:
    features = {"label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1)}
    paths = _paths(data / "tfrecord", "*.tfrecord")
    indexes = [str(Path(path).with_suffix(".idx")) for path in paths]
    return fn.readers.tfrecord(path=paths, index_path=indexes, features=features)["label"]


def _recordio(data: Path) -> Any:
    paths = _paths(data / "recordio", "*.rec")
    indexes = [str(Path(path).with_suffix(".idx")) for path in paths]
    return fn.readers.mxnet(path=paths, index_path=indexes)[1]


def _lmdb(data: Path) -> Any:
    return fn.readers.caffe(path=str(data / "lmdb"))[1]


def _parquet(data: Path) -> Any:
    return fn.readers.parquet(paths=_paths(data / "tables", "*.parquet"), columns=["label"])


def _arrow(data: Path) -> Any:
    files = [pyarrow.memory_map(path) for path in _paths(data / "tables", "*.arrow")]
    table = pyarrow.concat_tables([pyarrow.ipc.open_stream(file).read_all() for file in files])
    return fn.readers.arrow(table=table, columns=["label"])


def _numpy(data: Path) -> Any:
    return fn.readers.numpy(file_root=str(data / "arrays"), file_filter="*.npy")


def _coco(data: Path) -> Any:
    return fn.readers.coco(
        file_root=str(data / "coco" / "images"),
        annotations_file=str(data / "coco" / "annotations.json"),
        image_ids=True,
    )[3]


def _speech(data: Path) -> Any:
    audio = fn.readers.nemo_asr(
        manifest_filepaths=[str(data / "speech" / "manifest.json")], read_idxs=True
    )
    return audio[-1]


READERS: Mapping[str, _Read] = {
    "file": _file,
    "webdataset": _webdataset,
    "tfrecord": _tfrecord,
    "mxnet": _recordio,
    "caffe": _lmdb,
    "parquet": _parquet,
    "arrow": _arrow,
    "numpy": _numpy,
    "coco": _coco,
    "nemo_asr": _speech,
}


@pipeline_def(enable_checkpointing=True, device_id=None)
def numbered(reader: str, data: str) -> Any:
    """A pipeline whose samples are their numbers, and random values."""
    return READERS[reader](Path(data)), fn.random.uniform(range=[0.0, 1.0])


def number_of(value: torch.Tensor) -> int:
    """Returns the number of a sample: it is a number itself, or begins a file of data.py."""
    if value.dtype == torch.uint8 and value.numel() > 1:
        return int(np.frombuffer(value.numpy().tobytes()[:4], "<i4")[0])
    return int(value.reshape(-1)[0])


class _Pipeline:
    """PipelineLoader over one reader."""

    def __init__(self, reader: str, setup: Setup) -> None:
        self._loader = PipelineLoader(
            numbered,
            batch_size=setup.batch_size,
            pipeline_args={"reader": reader, "data": setup.data, "num_threads": setup.threads},
            shuffle=True,
            seed=setup.seed,
            rank=setup.rank,
            world_size=setup.world_size,
            shards="exact",
            ragged="list",
        )

    def load(self, states: Sequence[Any]) -> None:
        self._loader.load_state_dict(states[-1])  # that of any rank

    def epoch(self, number: int) -> Iterator[Batch]:
        if number < self._loader.epoch:  # nothing is left of it
            return
        self._loader.set_epoch(number)
        for values, noise in self._loader:
            yield Batch([number_of(one) for one in values], [float(one) for one in noise])

    def state(self) -> Any:
        return self._loader.state_dict()


def _dataset(workers: str, setup: Setup) -> SampledLoader:
    """Returns torchdali.DataLoader with torch's DistributedSampler."""
    dataset = Numbers(setup.size)
    sampler = DistributedSampler(
        dataset, setup.world_size, setup.rank, shuffle=True, seed=setup.seed
    )
    loader = DataLoader(
        dataset,
        batch_size=setup.batch_size,
        sampler=sampler,
        num_workers=setup.threads,
        workers=workers,
    )
    return SampledLoader(setup.rank, sampler, loader)


class _Source:
    """A source of batches for external_source: the part of a rank in the order of an epoch."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup

    def __call__(self, info: BatchInfo) -> list[np.ndarray[Any, Any]]:
        setup = self._setup
        order = np.random.default_rng([setup.seed, info.epoch_idx]).permutation(setup.size)
        first = info.iteration * setup.batch_size
        own = order[setup.rank :: setup.world_size][first : first + setup.batch_size]
        if not len(own):
            raise StopIteration
        return [np.array([i], np.int32) for i in own]


@pipeline_def(enable_checkpointing=True, device_id=None, seed=5)
def sourced(setup: Setup) -> Any:
    """A pipeline over a source of the user."""
    numbers = fn.external_source(source=_Source(setup), batch_info=True)
    return numbers, fn.random.uniform(range=[0.0, 1.0])


class _Sourced(_Pipeline):
    """PipelineLoader over a source. The state of a rank is its own."""

    def __init__(self, setup: Setup) -> None:
        self._rank = setup.rank
        self._loader = PipelineLoader(
            sourced,
            batch_size=setup.batch_size,
            pipeline_args={"setup": setup, "num_threads": setup.threads},
            rank=setup.rank,
            world_size=setup.world_size,
        )

    def load(self, states: Sequence[Any]) -> None:
        self._loader.load_state_dict(states[min(self._rank, len(states) - 1)])


@pipeline_def(enable_checkpointing=True, device_id=None)
def sharded(data: str, shard_id: int, num_shards: int) -> Any:
    """A pipeline over a shard, as those of DALI."""
    _, number = fn.readers.file(
        file_list=str(Path(data) / "files" / "list.txt"),
        shard_id=shard_id,
        num_shards=num_shards,
        random_shuffle=True,
        pad_last_batch=True,
        name="reader",
    )
    return number, fn.random.uniform(range=[0.0, 1.0])


class _Iterator:
    """DALI's iterator, and the checkpoints of pipelines."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._checkpoint: Any = None
        self._iterator: Any = None

    def load(self, states: Sequence[Any]) -> None:
        self._checkpoint = states[min(self._setup.rank, len(states) - 1)]

    def epoch(self, number: int) -> Iterator[Batch]:
        del number  # it counts them
        setup = self._setup
        if self._iterator is None:
            resumed = {} if self._checkpoint is None else {"checkpoint": self._checkpoint}
            pipeline = sharded(
                data=setup.data,
                shard_id=setup.rank,
                num_shards=setup.world_size,
                batch_size=setup.batch_size,
                num_threads=setup.threads,
                seed=setup.seed,
                **resumed,
            )
            self._iterator = DALIGenericIterator(
                pipeline,
                ["number", "noise"],
                reader_name="reader",
                auto_reset=True,
                last_batch_policy=LastBatchPolicy.PARTIAL,
            )
        for batch in self._iterator:
            numbers, noise = batch[0]["number"], batch[0]["noise"]
            yield Batch(numbers.flatten().tolist(), noise.flatten().tolist())

    def state(self) -> Any:
        return self._iterator.checkpoints()[0]


def source(setup: Setup) -> _Sourced:
    """PipelineLoader over a source."""
    return _Sourced(setup)


def iterator(setup: Setup) -> _Iterator:
    """DALI's iterator."""
    return _Iterator(setup)


def _maker(reader: str) -> Callable[[Setup], _Pipeline]:
    return lambda setup: _Pipeline(reader, setup)


def __getattr__(name: str) -> Any:
    if name.startswith("reader_"):
        return _maker(name.removeprefix("reader_"))
    raise AttributeError(name)


def processes(setup: Setup) -> SampledLoader:
    """DataLoader with worker processes."""
    return _dataset("processes", setup)


def threads(setup: Setup) -> SampledLoader:
    """DataLoader with threads."""
    return _dataset("threads", setup)
