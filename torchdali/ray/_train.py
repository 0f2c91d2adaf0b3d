# SPDX-License-Identifier: Apache-2.0
"""DataConfig: has the workers of Ray Train read their datasets together. Needs ray[train]."""

from __future__ import annotations

from typing import Any

import ray.train

from torchdali.ray._shared import SharedDataset, Shuffle

__all__ = ["DataConfig"]


class DataConfig(ray.train.DataConfig):  # type: ignore[misc]  # its types are optional
    """The `dataset_config` of a trainer whose workers use RayLoader.

    ray.train.get_dataset_shard() then returns a SharedDataset, which only RayLoader reads.

    Args:
        datasets_to_split: the names of the datasets that workers share; of others, each worker gets
            an iterator over all of it.
        shuffle: see SharedDataset; of the datasets that workers share.

    Example:
        TorchTrainer(train, datasets={"train": dataset}, dataset_config=DataConfig(), ...)
    """

    def __init__(self, datasets_to_split: Any = "all", *, shuffle: Shuffle | None = None) -> None:
        super().__init__(datasets_to_split)
        self._shared, self._shuffle = datasets_to_split, shuffle

    def configure(
        self,
        datasets: dict[str, Any],
        world_size: int,
        worker_handles: Any,
        worker_node_ids: Any,
        **kwargs: Any,
    ) -> list[dict[str, Any]]:
        """See Ray. Called before training, and again if the workers are started again."""
        shared = datasets if self._shared == "all" else {*self._shared}
        others = {name: one for name, one in datasets.items() if name not in shared}
        output: list[dict[str, Any]] = super().configure(
            others, world_size, worker_handles, worker_node_ids, **kwargs
        )
        for name, dataset in datasets.items():
            if name in shared:
                together: Any = SharedDataset(dataset, self._shuffle)
                for own in output:
                    own[name] = together
        return output
