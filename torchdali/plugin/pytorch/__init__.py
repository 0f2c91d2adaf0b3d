# SPDX-License-Identifier: Apache-2.0
"""Iterators over batches of torch tensors.

A batch is a list with one dict per pipeline, from the names in `output_map` to torch tensors. The
tensors are the pipeline's outputs without a copy, and stay valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from torchdali._common.unsupported import names_of
from torchdali.errors import ArgumentError, PipelineError, _make
from torchdali.ops import TorchPythonFunction
from torchdali.plugin.base_iterator import LastBatchPolicy, _DaliBaseIterator
from torchdali.plugin.pytorch import fn
from torchdali.plugin.pytorch.torch_utils import feed_ndarray, to_torch_tensor, to_torch_type

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIRaggedIterator",
    "LastBatchPolicy",
    "TorchPythonFunction",
    "feed_ndarray",
    "fn",
    "to_torch_tensor",
    "to_torch_type",
]

_DENSE, _SPARSE_LIST, _SPARSE_COO = "dense", "sparse_list", "sparse_coo"


def _checked_names(output_map: Sequence[str]) -> list[str]:
    if isinstance(output_map, str):
        raise _make(
            ArgumentError, f'`output_map` is the string "{output_map}", expected a list of names'
        )
    names = list(output_map)
    if not names or len(set(names)) != len(names):
        raise _make(
            ArgumentError, f"`output_map` is {names}, expected one or more names, each of them once"
        )
    return names


class _TorchIterator(_DaliBaseIterator):
    """Names the outputs and cuts the last batch; `_to_torch` makes the tensors."""

    _names: list[str]

    def _to_torch(self, name: str, output: Any, count: int) -> Any:
        """Returns the first `count` samples of an output."""
        raise NotImplementedError

    def _convert(
        self, outputs: list[tuple[Any, ...]], valid: tuple[int, ...] | None
    ) -> list[dict[str, Any]]:
        batches = []
        for index, of_pipeline in enumerate(outputs if valid is None else outputs[: len(valid)]):
            if len(of_pipeline) != len(self._names):
                raise _make(
                    ArgumentError,
                    f"`output_map` has {len(self._names)} names, {self._names}, but the pipeline "
                    f"has {len(of_pipeline)} outputs",
                )
            batches.append(
                {
                    name: self._to_torch(
                        name, output, len(output) if valid is None else valid[index]
                    )
                    for name, output in zip(self._names, of_pipeline, strict=True)
                }
            )
        return batches


def _dense(name: str, output: Any, count: int, fix: str) -> torch.Tensor:
    if not output.is_dense_tensor():
        shapes = sorted({tuple(shape) for shape in output.shape()})
        raise _make(
            PipelineError,
            f'output "{name}" cannot be one tensor: its samples have {len(shapes)} shapes, such '
            f"as {list(shapes[0])} and {list(shapes[-1])}",
            fix=fix,
        )
    tensor: torch.Tensor = output.as_torch()
    return tensor if count == len(tensor) else tensor[:count]


class DALIGenericIterator(_TorchIterator):
    """Gives batches of dense tensors: for each pipeline a dict from output names to [N, ...].

    Args:
        pipelines: one Pipeline, or several that run side by side and return one batch each; their
            batch sizes agree.
        output_map: names of the pipelines' outputs, in their order, each of them once.
        size: samples of an epoch, of all pipelines together; -1: until the data ends (then
            `last_batch_policy` has no effect, and there is one pipeline). `reader_name` is better:
            it knows about shards and padding.
        reader_name: name of the reader that says how large an epoch is and whether it is padded.
        auto_reset: the next epoch begins by itself ("yes" or True); with "no", False or None it
            begins when `reset` is called or another ``for`` loop starts.
        fill_last_batch: deprecated; True means FILL, False means PARTIAL.
        dynamic_shape: no effect; shapes may change from batch to batch.
        last_batch_padded: with `size`: the reader pads (`pad_last_batch`), so that an epoch begins
            with a new batch.
        last_batch_policy: FILL, DROP or PARTIAL, see LastBatchPolicy.
        prepare_first_batch: take the first batch when the iterator is made.

    Raises:
        ArgumentError: arguments contradict each other; names and outputs differ in number.
        PipelineError: the samples of an output differ in shape; there is no first batch.

    Note:
        With shards, every rank gets equally many batches in each epoch, so that none waits for
        another. With PARTIAL, a rank whose shard is smaller may therefore get an empty last batch,
        as in DALI. An error in a batch is raised instead of the batch; the epoch continues with
        the one after it.

    Example:
        iterator = DALIGenericIterator(
            pipe, ["data", "label"], reader_name="files", auto_reset=True,
            last_batch_policy=LastBatchPolicy.PARTIAL,
        )
        for epoch in range(10):
            for batch in iterator:
                train_step(batch[0]["data"], batch[0]["label"])
    """

    def __init__(
        self,
        pipelines: Sequence[Any] | Any,
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,  # noqa: ARG002
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        self._names = _checked_names(output_map)
        super().__init__(
            pipelines,
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )

    def _to_torch(self, name: str, output: Any, count: int) -> torch.Tensor:
        return _dense(
            name,
            output,
            count,
            "make them equal in the pipeline (e.g. fn.resize, fn.crop), or use DALIRaggedIterator",
        )


class DALIClassificationIterator(DALIGenericIterator):
    """DALIGenericIterator with the outputs "data" and "label".

    Args:
        pipelines: see DALIGenericIterator, also for all other arguments.
        size: see there.
        reader_name: see there.
        auto_reset: see there.
        fill_last_batch: see there.
        dynamic_shape: see there.
        last_batch_padded: see there.
        last_batch_policy: see there.
        prepare_first_batch: see there.
    """

    def __init__(
        self,
        pipelines: Sequence[Any] | Any,
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        super().__init__(
            pipelines,
            ["data", "label"],
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            dynamic_shape,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )


class DALIRaggedIterator(_TorchIterator):
    """Gives batches whose samples may differ in shape, each output in a form of its choice.

    Args:
        pipelines: see DALIGenericIterator, also for the arguments not named here.
        output_map: names of the pipelines' outputs, in their order.
        size: see DALIGenericIterator.
        reader_name: see there.
        output_types: the form of each output: `DENSE_TAG` ("dense"), one [N, ...] tensor;
            `SPARSE_LIST_TAG` ("sparse_list"), a list of N tensors, views of the output;
            `SPARSE_COO_TAG` ("sparse_coo"), a sparse COO tensor [N, largest extents] that holds
            every element, zeros too. None: all dense.
        auto_reset: see DALIGenericIterator.
        fill_last_batch: see there.
        dynamic_shape: no effect; shapes may change from batch to batch.
        last_batch_padded: see there.
        last_batch_policy: see there.
        prepare_first_batch: see there.

    Raises:
        ArgumentError: an unknown form, or another number of forms than of outputs.
        PipelineError: the samples of a dense output differ in shape.
    """

    DENSE_TAG = _DENSE
    SPARSE_LIST_TAG = _SPARSE_LIST
    SPARSE_COO_TAG = _SPARSE_COO

    def __init__(
        self,
        pipelines: Sequence[Any] | Any,
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        output_types: Sequence[str] | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,  # noqa: ARG002
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        self._names = _checked_names(output_map)
        forms = [_DENSE] * len(self._names) if output_types is None else list(output_types)
        if len(forms) != len(self._names) or not set(forms) <= {_DENSE, _SPARSE_LIST, _SPARSE_COO}:
            raise _make(
                ArgumentError,
                f"`output_types` is {forms}, expected {len(self._names)} of DENSE_TAG, "
                "SPARSE_LIST_TAG and SPARSE_COO_TAG, one for each name in `output_map`",
            )
        self._forms = dict(zip(self._names, forms, strict=True))
        super().__init__(
            pipelines,
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )

    def _to_torch(self, name: str, output: Any, count: int) -> torch.Tensor | list[torch.Tensor]:
        if self._forms[name] == _DENSE:
            fix = "give SPARSE_LIST_TAG or SPARSE_COO_TAG for it in `output_types`"
            return _dense(name, output, count, fix)
        samples: list[torch.Tensor] = output.as_torch_list()[:count]
        return samples if self._forms[name] == _SPARSE_LIST else _sparse_coo(samples, output)


def _sparse_coo(samples: list[torch.Tensor], output: Any) -> torch.Tensor:
    """Returns [N, largest extents] with every element of every sample, in their order."""
    ndim = output.ndim()
    extents = [max((s.shape[axis] for s in samples), default=0) for axis in range(ndim)]
    indices = [
        torch.cat(
            [
                torch.full((1, s.numel()), i),
                # [ndim, elements]: the position of each element in its sample
                torch.ones(s.shape, dtype=torch.bool).nonzero().T,
            ]
        )
        for i, s in enumerate(samples)
    ]
    values = [s.reshape(-1) for s in samples]
    dtype = to_torch_type[output.dtype]
    return torch.sparse_coo_tensor(
        torch.cat(indices, 1) if indices else torch.empty((ndim + 1, 0), dtype=torch.int64),
        torch.cat(values) if values else torch.empty(0, dtype=dtype),
        (len(samples), *extents),
        check_invariants=False,
    )


if not TYPE_CHECKING:  # else a type checker would believe every name
    __getattr__ = names_of(__name__)
