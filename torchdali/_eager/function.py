# SPDX-License-Identifier: Apache-2.0
"""An operator as a function of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torchdali._common.location import find_user_location
from torchdali._eager import arguments, devices, values
from torchdali._eager.arguments import Options
from torchdali._eager.batch import Batch, Call, batch_of, results
from torchdali._eager.layouts import InputLayouts, permuted
from torchdali._eager.named import FUNCTIONAL, seen_by_users
from torchdali._eager.operation import Operation, Operations, quick_key, tensor_of
from torchdali._engine.schema import OperatorSchema
from torchdali._graph.record import create
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, TorchdaliError, _make

__all__ = ["Function"]

_Tensor = torch.Tensor
_MISSED = object()
_MOST_KNOWN = 256
_NOTHING: Sequence[tuple[_Tensor, str]] = ()
_NUMBERS = (int, float, list, tuple)


class Function:
    """An operator that is called on tensors.

    Args:
        schema: of the operator.
    """

    def __init__(self, schema: OperatorSchema) -> None:
        self.schema = schema
        self._reads_files = schema.name.startswith("decoders.") or schema.name == "peek_image_shape"
        self._operations = Operations(schema)
        self._layouts = InputLayouts(schema)
        # Calls on tensors that were met before, by their arguments.
        self._known: dict[Any, tuple[Operation, Options]] = {}
        # Names of a call's arguments -> those of them that come as tensors, and their types.
        self._changing: dict[tuple[str, ...], tuple[tuple[str, str], ...]] = {}

    def call(self, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Runs the operator; docs/design/eager.md says what comes back."""
        try:
            made = self._short_way(inputs, kwargs)
            return self._long_way(inputs, kwargs) if made is _MISSED else made
        except TorchdaliError as error:
            raise seen_by_users(error, self.schema.fn_name, FUNCTIONAL) from error.__cause__

    # -- one sample

    def _short_way(self, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Runs a call on tensors with arguments that were met before; else returns _MISSED."""
        gpu = devices.CPU
        for value in inputs:
            if type(value) is not _Tensor or value.requires_grad or value.is_nested:
                return _MISSED
            if (found := devices.gpu_of(value)) != gpu:
                if value is not inputs[0]:
                    return _MISSED
                gpu = found
        known, fed = self._known.get((gpu >= 0, quick_key(kwargs))), _NOTHING
        if known is None:
            known, fed = self._with_changing(kwargs, gpu >= 0)
            if known is None:
                return _MISSED
        operation, options = known
        if len(inputs) != operation.num_inputs:
            return _MISSED
        if options.layout and operation.is_plain:
            layout, order = self._layouts.fit(0, inputs[0], options.layout)
            if order is None:
                try:
                    return operation.program().run_plain(inputs[0], layout)
                except TorchdaliError as error:
                    raise _without_sample(error) from error.__cause__
        return self._run(operation, [(value, "") for value in inputs], fed, options, [gpu])

    def _with_changing(
        self, kwargs: dict[str, Any], on_gpu: bool
    ) -> tuple[tuple[Operation, Options] | None, Sequence[tuple[_Tensor, str]]]:
        """Returns what is known of a call some of whose arguments are different in each call."""
        changing = self._changing.get(tuple(kwargs))
        if not changing:
            return None, ()
        rest, fed = dict(kwargs), []
        for name, kind in changing:
            tensor = tensor_of(rest.pop(name), kind)
            if tensor is None:
                return None, ()
            fed.append((tensor, ""))
        return self._known.get((on_gpu, changing, quick_key(rest))), fed

    def _run(
        self,
        operation: Operation,
        inputs: Sequence[tuple[_Tensor, str]],
        fed: Sequence[tuple[_Tensor, str]],
        options: Options,
        gpus: Sequence[int],
    ) -> Any:
        """Runs an operation on one sample, on the GPU that has the inputs."""
        back: str | None = None  # the layout that results get
        pairs = []
        for index, (tensor, own) in enumerate(inputs):
            layout, order = self._layouts.fit(index, tensor, options.layout or own)
            if order is not None:
                back = back or options.layout or own or _inverted(layout, order)
                tensor = tensor.permute(order)
            pairs.append((tensor, layout))
        pairs += fed
        try:
            gpu = devices.find(gpus, options.gpu) if operation.uses_gpu else devices.CPU
            seeds = options.seeds() if options.random else ()
            made = operation.program().run_sample(pairs, seeds, gpu)
        except TorchdaliError as error:
            raise _without_sample(error) from error.__cause__
        if back is not None:
            made = [(permuted(tensor, layout, back), back) for tensor, layout in made]
        return made[0][0] if len(made) == 1 else ([tensor for tensor, _ in made] or None)

    # -- any call

    def _long_way(self, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if any(isinstance(value, DataNode) for value in (*inputs, *kwargs.values())):
            return create(self.schema, inputs, kwargs)
        options, rest = arguments.take_options(self.schema, kwargs)
        given = [value for value in inputs if value is not None]  # optional ones may be left out
        constants, fed = self._operations.split(rest)
        is_batch = (
            options.batched
            or options.batch_size is not None
            or any(map(values.is_batch, given))
            or any(isinstance(v, (Batch, *values.LISTS)) for v in fed.values())
        )
        if is_batch:
            batches = [self._as_batch(value, options) for value in given]
            batches += [v if isinstance(v, Batch) else _argument(v) for v in fed.values()]
            gpus = [b.gpu_id if isinstance(b, Batch) else devices.gpu_of(b[0]) for b in batches]
            operation = self._operations.find(constants, fed, gpus, options.device)
            return self._on_batches(operation, batches, options, gpus)
        pairs = [values.sample(value, reads_files=self._reads_files) for value in given]
        pairs_fed = [values.sample(value) for value in fed.values()]
        gpus = [devices.gpu_of(tensor) for tensor, _ in pairs + pairs_fed]
        operation = self._operations.find(constants, fed, gpus, options.device)
        self._remember(kwargs, fed, operation, options)
        return self._run(operation, pairs, pairs_fed, options, gpus)

    def _remember(
        self, kwargs: dict[str, Any], fed: dict[str, Any], operation: Operation, options: Options
    ) -> None:
        """Lets later calls with such arguments take the short way."""
        own = operation.on_gpu[: operation.num_inputs]
        if len(set(own)) > 1:
            return
        on_gpu = any(own)
        rest = {name: value for name, value in kwargs.items() if name not in fed}
        key: Any = quick_key(rest)
        if key is None or any(type(kwargs[name]) not in _NUMBERS for name in fed):
            return
        if fed:
            changing = tuple((name, self.schema.by_name[name].type) for name in fed)
            self._changing[tuple(kwargs)] = changing
            key = on_gpu, changing, key
        else:
            key = on_gpu, key
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[key] = operation, options

    def _on_batches(
        self,
        operation: Operation,
        given: Sequence[Batch | tuple[_Tensor, str]],
        options: Options,
        gpus: Sequence[int],
    ) -> Any:
        sizes = {len(batch) for batch in given if isinstance(batch, Batch)}
        if options.batch_size is not None:
            sizes.add(options.batch_size)
        if len(sizes) != 1 or min(sizes) < 1:
            raise _make(
                ArgumentError, f"the batches of one call have one size, at least 1, got {sizes}"
            )
        size = sizes.pop()
        back: str | None = None
        whole: list[Batch] = []
        for index, value in enumerate(given):
            batch = value if isinstance(value, Batch) else batch_of([value[0]] * size, value[1])
            if index < operation.num_inputs:
                batch, restored = self._fitted(index, batch, options.layout)
                back = back or restored
            whole.append(batch)
        seeds = options.seeds()
        call = Call(
            operation,
            tuple(whole),
            size,
            seeds[0] if seeds else 0,
            find_user_location(),
            gpu=devices.find(gpus, options.gpu) if operation.uses_gpu else devices.CPU,
        )
        made = results(call)
        if back is not None:
            made = [_restored(batch, back) for batch in made]
        if options.batched:
            dense = [batch.as_tensor() for batch in made]
            return dense[0] if len(dense) == 1 else (dense or None)
        return made[0] if len(made) == 1 else (made or None)

    def _as_batch(self, value: Any, options: Options) -> Batch | tuple[_Tensor, str]:
        """Returns an input as a batch, or as a sample that all samples of the batch share."""
        if isinstance(value, Batch):
            return value
        if options.batched and not values.is_batch(value):
            value = list(values.sample(value)[0].unbind())
        if values.is_batch(value):
            return batch_of(*values.samples(value, reads_files=self._reads_files))
        return values.sample(value, reads_files=self._reads_files)

    def _fitted(self, index: int, batch: Batch, layout: str | None) -> tuple[Batch, str | None]:
        """Returns an input in a layout that the operator reads, and the one that results get.

        What is not computed yet keeps the layout that it will have.
        """
        if not batch.is_computed and layout is None:
            return batch, None
        samples = batch.as_list()
        own = layout or batch.layout
        fits, order = self._layouts.fit(index, samples[0], own)
        if order is not None:
            permuted_samples = [sample.permute(order) for sample in samples]
            return batch_of(permuted_samples, fits, batch.gpu_id), own or _inverted(fits, order)
        return (batch if fits == batch.layout else batch_of(samples, fits, batch.gpu_id)), None


def _argument(value: Any) -> Batch | tuple[_Tensor, str]:
    if isinstance(value, values.LISTS):
        return batch_of(*values.samples(value))
    return values.sample(value)


def _restored(batch: Batch, layout: str) -> Batch:
    """Returns a batch with the axes in the order of `layout`, unless it has others."""
    own = batch.layout
    if sorted(own) != sorted(layout):
        return batch
    samples = [permuted(sample, own, layout) for sample in batch.as_list()]
    return batch_of(samples, layout, batch.gpu_id)


def _inverted(layout: str, order: Sequence[int]) -> str:
    """Returns the layout of data whose axes, in this order, have `layout`."""
    letters = dict(zip(order, layout, strict=True))
    return "".join(letters[axis] for axis in sorted(letters))


def _without_sample(error: TorchdaliError) -> TorchdaliError:
    """Returns an error that says nothing about a batch, because the user has passed none."""
    error.sample = error.batch_size = None
    return error
