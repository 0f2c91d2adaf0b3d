# SPDX-License-Identifier: Apache-2.0
"""The loaders under test."""

from __future__ import annotations

from benchmarks.elastic.adapter import CHANGES, Entry

__all__ = ["LOADERS"]

_OURS = "benchmarks.elastic.torchdali_loaders"
_LIGHTNING = "benchmarks.elastic.lightning_loaders"
_TORCH = "benchmarks.elastic.torch_loaders"
_GRAIN = "benchmarks.elastic.grain_loaders"
_PYTHON = "TORCHDALI_ELASTIC_PYTHON"

_READERS = (
    *("file", "webdataset", "tfrecord", "mxnet", "caffe", "parquet", "arrow", "numpy", "coco"),
    "nemo_asr",
)

_SIZES = ("batch size", "world size")

LOADERS: dict[str, Entry] = (
    {
        f"torchdali-{reader}": Entry(
            f"`PipelineLoader`, `readers.{reader}`",
            f"{_OURS}:reader_{reader}",
            values_follow=True,
            large=reader == "file",
        )
        for reader in _READERS
    }
    | {
        "torchdali-source": Entry(
            "`PipelineLoader`, `external_source`",
            f"{_OURS}:source",
            dict.fromkeys(_SIZES, "the position of a source belongs to its rank"),
        ),
        "torchdali-iterator": Entry(
            "`DALIGenericIterator`, `checkpoints()`",
            f"{_OURS}:iterator",
            dict.fromkeys(_SIZES, "shards are contiguous, as in DALI"),
        ),
        "torchdali-processes": Entry(
            "`torchdali.DataLoader`, `DistributedSampler`", f"{_OURS}:processes", equalizes=True
        ),
        "torchdali-threads": Entry(
            "`torchdali.DataLoader`, `DistributedSampler`, threads",
            f"{_OURS}:threads",
            equalizes=True,
        ),
        "torchdali-lightning": Entry(
            "`torchdali.lightning.DataModule`, a pipeline",
            f"{_LIGHTNING}:lightning_pipeline",
            values_follow=True,
        ),
        "torchdali-lightning-dataset": Entry(
            "`torchdali.lightning.DataModule`, a dataset",
            f"{_LIGHTNING}:lightning_dataset",
            equalizes=True,
        ),
    }
    | {
        "torch": Entry(
            "torch `DataLoader`, `DistributedSampler`, batches skipped",
            f"{_TORCH}:torch_loader",
            {
                "batch size": "the number of batches to skip is counted",
                "world size": "the number of batches to skip is counted on each rank",
            },
            equalizes=True,
            package="torch",
        ),
        "torchdata": Entry(
            "torchdata `StatefulDataLoader`, `StatefulDistributedSampler`",
            f"{_TORCH}:stateful",
            {
                "threads": "`num_workers` must be that of the state",
                "batch size": "not mentioned",
                "world size": "not mentioned",
            },
            equalizes=True,
            package="torchdata",
        ),
        "webdataset": Entry(
            "webdataset, shards split by node and worker",
            f"{_TORCH}:webdataset",
            dict.fromkeys(CHANGES, "there is no state; resampling is recommended"),
            package="webdataset",
        ),
        "datasets": Entry(
            "datasets, streaming, `split_dataset_by_node`, shuffled",
            f"{_TORCH}:hugging_face",
            {
                "nothing": "samples of the shuffle buffer are lost",
                "threads": "samples of the shuffle buffer are lost",
                "batch size": "samples of the shuffle buffer are lost",
                "world size": "not mentioned",
            },
            package="datasets",
        ),
        "mosaicml": Entry(
            "MosaicML Streaming",
            "benchmarks.elastic.mosaic_loader:mosaic",
            {},
            equalizes=True,
            package="mosaicml-streaming",
            python=_PYTHON,
            keeps_global_batch=True,
        ),
        "litdata": Entry(
            "LitData",
            "benchmarks.elastic.litdata_loader:litdata",
            {
                "threads": "an error says that the number of workers must not change",
                "batch size": "an error says that the batch size must not change",
                "world size": "an error says that the number of ranks must not change",
            },
            package="litdata",
            python=_PYTHON,
        ),
        "grain-loader": Entry(
            "Grain `DataLoader`",
            f"{_GRAIN}:grain_loader",
            {
                "threads": "an error says that the number of workers must not change",
                "batch size": "not mentioned",
                "world size": "an error says that the shards must not change",
            },
            package="grain",
            python=_PYTHON,
        ),
        "grain-dataset": Entry(
            "Grain `MapDataset`",
            f"{_GRAIN}:grain_dataset",
            {"batch size": "not mentioned", "world size": "not mentioned"},
            package="grain",
            python=_PYTHON,
        ),
    }
)
