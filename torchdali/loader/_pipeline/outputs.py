# SPDX-License-Identifier: Apache-2.0
"""Converts the outputs of a pipeline to tensors in the user's structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from torchdali._graph.pytree import Structure
from torchdali.errors import ArgumentError, ArgumentTypeError, PipelineError, _make
from torchdali.tensors import TensorListCPU

__all__ = ["RAGGED", "OutputConverter", "Padded", "with_mask"]

RAGGED = ("list", "padded", "nested")

# Without uint64, which int64 cannot hold.
_LABEL_TYPES = {
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.uint16,
    torch.int32,
    torch.uint32,
    torch.int64,
}


class Padded(NamedTuple):
    """Samples of different shapes as one tensor.

    Attributes:
        data: [N, largest extents]; zero outside the samples.
        lengths: int64 [N, D], the extents of each sample.
    """

    data: torch.Tensor
    lengths: torch.Tensor


class OutputConverter:
    """Converts the outputs of one pipeline.

    Args:
        structure: of the outputs.
        ragged: form of outputs whose samples differ in shape: one of RAGGED for all of them, or a
            dict by the path of the output.
        labels: integer outputs with one element per sample become int64 [N].

    Raises:
        ArgumentError: there is no such form, or no such output.
        ArgumentTypeError: `ragged` is neither a string nor a mapping.
    """

    def __init__(
        self, structure: Structure, ragged: str | Mapping[str, str] | None, labels: bool
    ) -> None:
        self._structure = structure
        self._labels = labels
        self._forms: list[str | None] = [None] * len(structure.paths)
        if isinstance(ragged, str):
            self._forms = [_form(ragged)] * len(structure.paths)
        elif isinstance(ragged, Mapping):
            for path, form in ragged.items():
                if str(path) not in structure.paths:
                    known = ", ".join(f'"{known}"' for known in structure.paths)
                    raise _make(
                        ArgumentError,
                        f'`ragged` names the output "{path}", which the pipeline does not have; '
                        f"it has {known}",
                    )
                self._forms[structure.paths.index(str(path))] = _form(form)
        elif ragged is not None:
            raise _make(
                ArgumentTypeError,
                f"`ragged` is {ragged!r}, expected one of {_known()}, or a dict from outputs to "
                "them",
            )

    def batch(self, leaves: Sequence[TensorListCPU], count: int) -> Any:
        """Returns the first `count` samples of the outputs in the user's structure."""
        structure = self._structure
        if len(leaves) != len(structure.paths):
            raise _make(
                PipelineError,
                f"the pipeline has {len(leaves)} outputs, it had {len(structure.paths)}",
            )
        return structure.rebuild(
            [
                self._convert(structure.paths[i], leaf, self._forms[i], count)
                for i, leaf in enumerate(leaves)
            ]
        )

    def _convert(self, path: str, leaf: TensorListCPU, form: str | None, count: int) -> Any:
        if form is None:
            tensor = _dense(path, leaf)
            tensor = tensor if count == len(tensor) else tensor[:count]
            return self._as_label(tensor)
        samples = leaf.as_torch_list()[:count]
        if form == "list":
            return samples
        return _padded(samples, leaf.ndim()) if form == "padded" else _nested(path, samples)

    def _as_label(self, tensor: torch.Tensor) -> torch.Tensor:
        if not self._labels or tensor.dtype not in _LABEL_TYPES:
            return tensor
        if tensor.dim() > 2 or (tensor.dim() == 2 and tensor.shape[1] != 1):
            return tensor
        return tensor.reshape(len(tensor)).to(torch.int64)


def with_mask(batch: Any, valid: Sequence[bool], wanted: bool | str) -> Any:
    """Returns a batch with its mask: bool [N], False for samples that are padding.

    Args:
        batch: in the user's structure.
        valid: the mask.
        wanted: True: return a pair; a string: add the mask to the batch under this key; False:
            return the batch alone.

    Raises:
        ArgumentError: the batch is no dict, or has that key.
    """
    if wanted is False:
        return batch
    mask = torch.tensor(valid, dtype=torch.bool)
    if wanted is True:
        return batch, mask
    if not isinstance(batch, dict) or wanted in batch:
        problem = (
            f'has an output "{wanted}" already'
            if isinstance(batch, dict)
            else f"returns a {type(batch).__name__}, expected a dict"
        )
        raise _make(
            ArgumentError,
            f'`mask` is "{wanted}", but the definition {problem}',
            fix="use another key, or mask=True for pairs of batch and mask",
        )
    batch[wanted] = mask
    return batch


def _known() -> str:
    return ", ".join(f'"{form}"' for form in RAGGED)


def _form(form: Any) -> str:
    if form not in RAGGED:
        raise _make(ArgumentError, f"`ragged` is {form!r}, expected one of {_known()}")
    return str(form)


def _dense(path: str, leaf: TensorListCPU) -> torch.Tensor:
    if not leaf.is_dense_tensor():
        shapes = sorted({tuple(shape) for shape in leaf.shape()})
        what = f'output "{path}"' if path else "the output"
        raise _make(
            PipelineError,
            f"{what} cannot be one tensor: its samples have {len(shapes)} shapes, such as "
            f"{list(shapes[0])} and {list(shapes[-1])}",
            fix="make them equal in the pipeline (fn.resize, fn.crop), or pass `ragged`: "
            '"list", "padded" or "nested"',
        )
    return leaf.as_torch()


def _padded(samples: Sequence[torch.Tensor], ndim: int) -> Padded:
    lengths = torch.tensor([list(s.shape) for s in samples], dtype=torch.int64)
    lengths = lengths.reshape(len(samples), ndim)
    largest = lengths.amax(0).tolist() if samples else [0] * ndim
    dtype = samples[0].dtype if samples else torch.uint8
    device = samples[0].device if samples else None
    data = torch.zeros((len(samples), *largest), dtype=dtype, device=device)
    for row, sample in zip(data, samples, strict=True):
        row[tuple(slice(extent) for extent in sample.shape)] = sample
    return Padded(data, lengths)


def _nested(path: str, samples: Sequence[torch.Tensor]) -> torch.Tensor:
    if len({(s.dim(), s.shape[1:]) for s in samples}) > 1 or (samples and not samples[0].dim()):
        raise _make(
            PipelineError,
            f'output "{path}" cannot be a nested tensor: its samples differ in more than their '
            "first axis",
            fix='pass `ragged` "list" or "padded" for it',
        )
    made: torch.Tensor = torch.nested.nested_tensor(list(samples), layout=torch.jagged)
    return made
