# SPDX-License-Identifier: Apache-2.0
"""What the batches of an external source have to be like."""

from __future__ import annotations

import torch

from torchdali._common.enums import DALIDataType
from torchdali._engine.dtypes import to_torch_type
from torchdali._sources.kinds import OWNER
from torchdali._sources.turn import Batch
from torchdali.data_node import OpNode
from torchdali.errors import ArgumentError, ArgumentTypeError, LayoutError, TorchdaliError, _make

__all__ = ["Expected"]


class Expected:
    """What the batches of one output have to be like: as declared, and as those before them.

    As in DALI, element type, number of dimensions and layout do not change while a pipeline runs.
    Batches without a layout may come before those that have one.

    Args:
        name: of the operator.
        node: the operator, with what is declared.
    """

    def __init__(self, name: str, node: OpNode) -> None:
        self._name = name
        self._node = node
        declared = node.args.get("dtype")
        self._dtype = None if declared is None else DALIDataType(declared)
        self._ndim: int | None = node.args.get("ndim")
        self._layout: str = node.args.get("layout") or ""
        self._last: tuple[DALIDataType, int, str] | None = None

    def check(self, dtype: DALIDataType, ndim: int, layout: str) -> None:
        """Checks a batch, and expects the next ones to be like it.

        Raises:
            ArgumentTypeError, ArgumentError, LayoutError: it is different.
        """
        found = dtype, ndim, layout
        if found == self._last:
            return
        if self._dtype is not None and dtype is not self._dtype:
            raise self._differs(ArgumentTypeError, f"{self._dtype.name} data", dtype.name)
        if self._ndim is not None and ndim != self._ndim:
            raise self._differs(ArgumentError, f"samples of {self._ndim} dimensions", str(ndim))
        if self._layout and layout != self._layout:
            raise self._differs(LayoutError, f'data with layout "{self._layout}"', f'"{layout}"')
        self._dtype, self._ndim, self._layout = dtype, ndim, layout
        self._last = found

    def filler(self, batch_size: int) -> Batch:
        """Returns a batch of samples without data, for a batch of which all samples failed."""
        ndim = self._ndim if self._ndim is not None else len(self._layout) or 1
        dtype = to_torch_type(self._dtype or DALIDataType.UINT8)
        return torch.empty((batch_size, *[0] * ndim), dtype=dtype), self._layout

    def _differs(self, cls: type[TorchdaliError], expected: str, got: str) -> TorchdaliError:
        first = self._last is None
        since = "" if first else ", as in the batches before,"
        return _make(
            cls,
            f"`{self._name}` takes{since} {expected}, got {got}",
            operator=OWNER,
            location=self._node.location,
            fix=None if first else "convert the data, or use another fn.external_source for it",
        )
