# SPDX-License-Identifier: Apache-2.0
"""DataNodeDebug: a data node that has its batch already, in a pipeline in debug mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from torchdali.data_node import DataNode
from torchdali.tensors import TensorListCPU, TensorListGPU, unwrap, wrap

if TYPE_CHECKING:
    from torchdali.data_node import OpNode

__all__ = ["Batch", "DataNodeDebug"]


@dataclass(frozen=True)
class Batch:
    """What an operator gave for the samples that took its branch.

    Attributes:
        data: the samples.
        present: their indices in the batch of the run; None: all.
        adopted: the user passed the data to an operator.
    """

    data: TensorListCPU | TensorListGPU
    present: tuple[int, ...] | None
    adopted: bool = False

    def samples(self) -> Sequence[int]:
        """Returns the indices of its samples in the batch of the run."""
        return range(len(self.data)) if self.present is None else self.present

    def select(self, wanted: Sequence[int] | None) -> Batch:
        """Returns the batch of some samples; None: all of them.

        Samples that took another branch are empty. Only operators that merge
        branches take such samples, and they do not read them.
        """
        if wanted is None or list(wanted) == list(self.samples()):
            return self
        tensors = dict(zip(self.samples(), self.data.as_torch_list(), strict=True))
        absent = torch.empty(0, dtype=torch.uint8)
        for tensor in tensors.values():
            absent = tensor.new_empty([0] * tensor.dim())
            break
        _, layout, names = unwrap(self.data)
        if names is not None:
            known = dict(zip(self.samples(), names, strict=True))
            names = [known.get(i, "") for i in wanted]
        chosen = [tensors.get(i, absent) for i in wanted]
        return Batch(wrap(chosen, layout, names), tuple(wanted))


class DataNodeDebug(DataNode):
    """A batch with data: the output of an operator in debug mode.

    It can be used like any DataNode. Operators run when they are called, on the whole batch.
    """

    __slots__ = ("batch",)

    def __init__(self, source: OpNode, index: int, batch: Batch) -> None:
        several = source.num_outputs > 1
        name = f"{source.name}[{index}]" if several else source.name
        super().__init__(name, "cpu" if source.device == "cpu" else "gpu", source, index)
        self.hold(batch)

    def hold(self, batch: Batch) -> None:
        """Takes a batch in place of the one it has."""
        self.batch = batch
        data = batch.data
        self.layout = data.layout() or None
        self.ndim, self.dtype = (data.ndim(), data.dtype) if len(data) else (None, None)

    def get(self) -> TensorListCPU | TensorListGPU:
        """Returns the samples; inside a conditional those that took the branch. No copy."""
        return self.batch.data

    def __repr__(self) -> str:
        data = repr(self.batch.data).replace("\n", "\n    ")
        return f'DataNodeDebug(\n    name="{self.name}",\n    data={data})'

    __str__ = __repr__
