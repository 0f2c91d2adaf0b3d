# SPDX-License-Identifier: Apache-2.0
"""What a DataLoader with `accelerate` needs before it has looked at its dataset."""

from __future__ import annotations

import logging
import mmap
import sys
from collections.abc import Callable, Mapping
from typing import Any

from torchdali.errors import ArgumentError, _make
from torchdali.loader._dataset.worker_info import get_worker_info

__all__ = ["CollateElsewhere", "check_accelerated", "is_compiled", "say", "user_collate"]

_LOGGER = logging.getLogger("torchdali.accelerate")
_said: set[str] = set()  # reports of this process


def say(report: str) -> None:
    """Logs a report once, on standard error if the program does not log information."""
    if report in _said:
        return
    _said.add(report)
    if _LOGGER.hasHandlers() and _LOGGER.isEnabledFor(logging.INFO):
        _LOGGER.info(report)
    else:
        sys.stderr.write(f"torchdali: {report}\n")


def is_compiled(dataset: Any) -> bool:
    """Returns whether a dataset is one that compile_dataset() has returned."""
    module = sys.modules.get("torchdali.loader._compiled.compiled")
    return module is not None and isinstance(dataset, module.CompiledDataset)


def check_accelerated(pipeline: Any, engine: Mapping[str, Any]) -> None:
    """Checks the arguments of a loader with `accelerate`.

    Args:
        pipeline: of the user.
        engine: the arguments `pipeline_options`, `jpeg_index` and `fields`.

    Raises:
        ArgumentError: they contradict each other.
    """
    from torchdali.loader._dataset.pipeline_options import PipelineOptions

    for name, value in {"pipeline": pipeline, "fields": engine["fields"]}.items():
        if value is not None:
            raise _make(
                ArgumentError,
                f"DataLoader: `accelerate` with `{name}`: the operators follow from the dataset",
                fix=f"leave out `{name}` or `accelerate`",
            )
    PipelineOptions(engine["pipeline_options"], engine["jpeg_index"])


class CollateElsewhere:
    """The `collate_fn` of a loader with `accelerate`, which our iterators do not call.

    A loader of another class that was made from the attributes of ours calls it. It has the dataset
    of the user, whose samples are right, but made by Python.

    Args:
        collate: of the user, or torch's.
        name: of the dataset's class.
    """

    def __init__(self, collate: Callable[[Any], Any], name: str) -> None:
        self.collate, self._name = collate, name
        self._has_said = mmap.mmap(-1, 1)  # is shared with workers that are forked

    def __getstate__(self) -> dict[str, Any]:
        return {"collate": self.collate, "_name": self._name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["collate"], state["_name"])  # type: ignore[misc]

    def __call__(self, samples: Any) -> Any:
        """Returns a batch; says once that `accelerate` was lost."""
        worker = get_worker_info()
        if not self._has_said[0] and (worker is None or worker.id == 0):
            self._has_said[0] = 1
            say(
                f"{self._name} runs in Python, as before: this loader was made of a "
                "DataLoader(accelerate=True) by another package, and has its dataset only. Pass "
                "torchdali.compile_dataset(dataset) as dataset: its samples are made by the engine "
                "in any loader"
            )
        return self.collate(samples)


def user_collate(collate: Any) -> Any:
    """Returns the `collate_fn` that the user has passed, or torch's."""
    return collate.collate if isinstance(collate, CollateElsewhere) else collate
