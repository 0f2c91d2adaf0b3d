# SPDX-License-Identifier: Apache-2.0
"""The batches of one run in debug mode: their size, and the samples of a branch."""

from __future__ import annotations

from torchdali._graph.debug_node import Batch, DataNodeDebug
from torchdali.data_node import DataNode, OpNode
from torchdali.errors import PipelineError, _make

__all__ = ["BatchSize", "wanted_samples", "with_data"]


class BatchSize:
    """The size of the batches of one run: that of its first batch.

    Attributes:
        value: None: no batch was checked yet.
    """

    def __init__(self) -> None:
        self.value: int | None = None
        self._origin = ""

    def check(self, batch: Batch, node: OpNode, what: str) -> None:
        """Raises PipelineError if a whole batch has another size."""
        if batch.present is not None:
            return
        if self.value is None:
            self.value = len(batch.data)
            self._origin = f"{node.schema.fn_name} at {node.location}"
        elif self.value != len(batch.data):
            raise _make(
                PipelineError,
                f"batches of one run have one size: {what} has {len(batch.data)} samples, expected "
                f"{self.value}, from {self._origin}",
                operator=node.schema.fn_name,
                location=node.location,
                fix="where the size of batches varies, call the external sources before operators "
                "without inputs; one value for all samples is a types.Constant",
            )


def wanted_samples(node: OpNode) -> tuple[int, ...] | None:
    """Returns the samples that take the branch of a call; None: all."""
    if not node.guards:
        return None
    wanted: set[int] | None = None
    for predicate, value in node.guards:
        batch = with_data(predicate).batch
        holds = {
            sample
            for sample, truth in zip(batch.samples(), batch.data.as_torch_list(), strict=True)
            if bool(truth) == value
        }
        wanted = holds if wanted is None else wanted & holds
    assert wanted is not None
    return tuple(sorted(wanted))


def with_data(node: DataNode) -> DataNodeDebug:
    """Returns a node that has data; raises PipelineError if it has none."""
    if isinstance(node, DataNodeDebug):
        return node
    raise _make(
        PipelineError,
        f"{node!r} was made outside the definition, and a pipeline in debug mode runs only "
        "what is called inside",
        location=node.source.location if node.source else None,
        fix="make the operator in the definition",
    )
