# SPDX-License-Identifier: Apache-2.0
"""DividedInput: a source that makes the batches of several iterations from data that is fed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torchdali._sources.group import SourceGroup
from torchdali._sources.input import Input
from torchdali._sources.turn import Batches, Fed, Turn
from torchdali.data_node import OpNode
from torchdali.errors import ArgumentError, _make

__all__ = ["DividedInput"]


@dataclass(eq=False)
class _Part(Fed):
    """The batch of one iteration.

    Attributes:
        index: among the batches of the data that was fed at once.
        count: how many those are.
    """

    index: int = 0
    count: int = 1


class DividedInput(Input):
    """An Input whose operator divides fed data, such as a video, into the batches of iterations.

    Its position in a checkpoint is the number of batches that were taken of the data, such as a
    video, that is in use. After resuming, as many are skipped of the first data.

    Args:
        name: of the operator.
        node: the operator, with the arguments `blocking` and `no_copy`.
        batch_size: of the pipeline.
        divide: Executor.divide().
    """

    how_to_feed = "call Pipeline.feed_input() before run()"

    def __init__(
        self,
        name: str,
        node: OpNode,
        batch_size: int,
        divide: Callable[[str, Any], list[Any]],
    ) -> None:
        group = SourceGroup(
            no_copy=node.args.get("no_copy", False),
            blocking=node.args.get("blocking", False),
            location=node.location,
        )
        self.owner = node.schema.fn_name
        super().__init__(group, [(name, node)], batch_size)
        self._expected = [None]  # the operator checks its data
        self._divide = divide
        self._position = 0
        self._skipped = 0  # batches to skip of the next data

    @property
    def has_position(self) -> bool:
        """See Input."""
        return True

    def batches_of(self, data: Any, layout: str | None, cuda_stream: Any = None) -> list[Fed]:
        """See Input."""
        if layout is not None:
            raise self._error(ArgumentError, "feed_input() takes no `layout` for it")
        if getattr(data, "ndim", None) == 1:
            raise _make(
                ArgumentError,
                "feed_input() takes a batch of one sample, got a 1-D array",
                operator=self.owner,
                location=self.location,
                fix="pass a list of the array, [data]",
            )
        tensors, _ = self.convert(data, None, 0, cuda_stream)
        parts = self._divide(self.name, tensors)
        skipped, self._skipped = self._skipped, 0
        if skipped >= len(parts):
            self._skipped = skipped
            raise self._error(
                ArgumentError,
                f"the checkpoint was made after {skipped} batches of the data in use, and this "
                f"has {len(parts)}; after resuming, feed first the data that was in use",
            )
        return [
            _Part((part, ""), index=i, count=len(parts))
            for i, part in enumerate(parts)
            if i >= skipped
        ]

    def take(self, turn: Turn) -> Batches:
        """See Input."""
        taken = super().take(turn)
        head = self._head
        assert isinstance(head, _Part)
        self._position = (head.index + 1) % head.count
        return taken

    def state(self) -> dict[str, Any]:
        """Returns its position after the last take()."""
        return {"iteration": self._position, "epoch": self._epoch, "source": None}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues where state() was called, once the same is fed again."""
        self._position = self._skipped = state["iteration"]
        self._epoch = state["epoch"]
