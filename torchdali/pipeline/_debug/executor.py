# SPDX-License-Identifier: Apache-2.0
"""Runs the operators of a definition as they are called: the executor of debug mode."""

from __future__ import annotations

import dataclasses
import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from torchdali._engine.extension import _C
from torchdali._engine.schema import operator_schema
from torchdali._graph.debug_node import Batch, DataNodeDebug
from torchdali._graph.scope import Scope, open_scopes, push_scope
from torchdali._sources.group import SourceGroup
from torchdali._sources.input import Input
from torchdali._sources.turn import Turn
from torchdali.data_node import DataNode, OpNode
from torchdali.errors import PipelineError, UnsupportedError, _make
from torchdali.pipeline._debug.batches import BatchSize, wanted_samples, with_data
from torchdali.pipeline._debug.call_site import CallSite
from torchdali.pipeline._debug.calls import Calls
from torchdali.pipeline._device import make_device
from torchdali.tensors import TensorCPU, TensorListCPU, TensorListGPU, unwrap, wrap
from torchdali.tensors._placement import on_gpu

__all__ = ["EagerExecutor"]

_ARRAYS = (np.ndarray, torch.Tensor, TensorCPU)
_BATCHES = (TensorListCPU, TensorListGPU)
_Data = TensorListCPU | TensorListGPU


class EagerExecutor:
    """Takes the place of the engine's executor in a Run.

    schedule() runs the definition once, wait() returns its outputs. While the definition runs, the
    scope has this object as its runner, so that each operator comes here when it is called. Not
    thread-safe.

    Args:
        define: calls the user's function and returns its outputs, nodes or batches.
        scope: of the pipeline.
        owner: the pipeline, for Pipeline.current().
        batch_size: the greatest number of samples in a batch.
        seed: of the pipeline.
        device_id: its GPU, used if an operator runs on one.
        stream_priority: of the stream of its kernels.
        threads: num_threads and set_affinity for the engine.

    Attributes:
        calls: the operators that the definition calls.
        inputs: the external sources by the names of their operators.
        num_outputs: of the definition, once it has run.
        begun: runs that have taken their data; a run that was interrupted takes the same again.
        next_epoch: that reset() begins.
        fed_early: batches that were fed before the first run, by name.
    """

    def __init__(
        self,
        define: Callable[[], Sequence[DataNode | _Data]],
        scope: Scope,
        owner: weakref.ref[Any],
        *,
        batch_size: int,
        seed: int,
        device_id: int | None,
        stream_priority: int | None,
        **threads: Any,
    ) -> None:
        self.calls = Calls(seed)
        self.inputs: dict[str, Input] = {}
        self.num_outputs = 0
        self._define, self._scope, self._owner = define, scope, owner
        self._batch_size = batch_size
        self._device_options = device_id, stream_priority
        self._device: Any = None  # the GPU; made for the first operator that needs it
        self._engine_options = {"batch_size": batch_size, **threads}
        self._threads: Any = None  # an executor whose threads all engines use
        self.fed_early: Mapping[str, tuple[_Data, ...]] = {}
        self.begun = 0
        self.next_epoch = 0
        self._epoch = 0
        # Outputs of runs, the oldest first, and the number of those that the user has.
        self._results: tuple[list[tuple[Any, str, Any]], ...] = ()
        self._held: list[tuple[Any, str, Any]] | None = None
        self._ended: StopIteration | None = None  # of a source, while an error was raised
        self._is_running = False
        self._first_id = 0  # of the samples of this run
        self._size = BatchSize()

    # -- for Run

    @property
    def pending(self) -> int:
        """Number of runs whose outputs were not taken."""
        return len(self._results)

    @property
    def oldest(self) -> int:
        """`begun` before the oldest run whose outputs were not taken; -1: there is none."""
        return self.begun - len(self._results) if self._results else -1

    @property
    def holds(self) -> bool:
        """Whether wait() returns the same outputs again; set to False when the user has them."""
        return self._held is not None

    @holds.setter
    def holds(self, holds: bool) -> None:
        assert not holds
        if self._held is not None:
            self._held, self._results = None, self._results[1:]

    @property
    def _turn(self) -> Turn:
        return Turn(self._epoch, self.begun)

    def schedule(self) -> None:
        """Runs the definition.

        Raises:
            StopIteration: a source has ended.
            Exception: what an operator or the user's function raised.
        """
        if self._is_running:
            raise _make(
                PipelineError,
                "Pipeline: a definition in debug mode cannot run the pipeline that it defines",
            )
        if self._ended is not None:
            self._ended = None
            raise StopIteration
        for source in self.inputs.values():  # before any of them returns its data
            source.require(self._turn)
        self.calls.begin_run()
        self._size = BatchSize()
        try:
            outputs = self._call_definition()
        except StopIteration:
            raise
        except Exception:
            self._after_failure()
            raise
        finally:
            self.calls.end_run()
        size = self._size.value or self._batch_size
        results = (*self._results, [unwrap(batch) for batch in outputs])
        self.calls.is_traced, self.num_outputs = True, len(outputs)
        self._results, self.begun, self._first_id = results, self.begun + 1, self._first_id + size
        for source in self.inputs.values():
            source.settle()

    def _call_definition(self) -> list[_Data]:
        scope, scopes = self._scope, open_scopes()
        depth = len(scopes)
        try:
            scope.names = itertools.count()
            scope.runner = self
            self._is_running = True
            push_scope(scope, self._owner())
            return [
                value if isinstance(value, _BATCHES) else with_data(value).get()
                for value in self._define()
            ]
        finally:
            # Nothing is called here, so that Ctrl-C cannot leave any of it out.
            del scopes[depth:]
            self._is_running = False
            scope.runner = None
            scope.guards = ()
            scope.sinks = []

    def wait(self) -> list[tuple[Any, str, Any]]:
        """Returns the outputs of the oldest run that was not taken."""
        self._held = self._results[0]
        return self._held

    def release_unused_memory(self) -> None:
        """Frees unused memory."""
        for site in self.calls.sites:
            site.release_unused_memory()

    def reset(self) -> None:
        """Begins the next epoch after the end of the data."""
        self._ended, self._epoch = None, self.next_epoch
        for source in set(self.inputs.values()):
            source.reset(self._epoch)
        for site in self.calls.sites:
            site.reset()

    def close(self) -> None:
        """Ends the threads and frees all memory."""
        self.calls.drop(0)
        if self._threads is not None:
            self._threads.close()
        self._results, self._held = (), None

    def reader_meta(self, name: str) -> Any:
        """Returns the facts about a reader, None if the operator is none."""
        for site in self.calls.sites:
            if site.node.name == name and site.has_engine:
                return site.reader_meta()
        return None

    def feed_early(self, name: str, data: Any, layout: str | None, cuda_stream: Any) -> None:
        """Keeps a batch for an external source that the first run may call."""
        there = on_gpu(data)
        group = SourceGroup(device="gpu" if there else "cpu")
        device = self._gpu(self._placeholder("gpu")) if there else None
        batch = Input(group, [None], self._batch_size, device).convert(data, layout, 0, cuda_stream)
        earlier = self.fed_early.get(name, ())
        self.fed_early = {**self.fed_early, name: (*earlier, wrap(*batch))}

    # -- for record.create(): the runner of the scope

    def adopt(self, value: Any, *, argument: bool) -> Any:
        """Returns a batch that the user passes as data as a node; all else as it is.

        A TensorListCPU and a list of arrays are batches; so is an array that is passed as an input.
        A list of batches or nodes is several calls.
        """
        if isinstance(value, _BATCHES):
            return self._node_of(value)
        if isinstance(value, (list, tuple)) and value:
            if all(isinstance(item, _ARRAYS) for item in value):
                there = all(on_gpu(item) for item in value)
                return self._node_of((TensorListGPU if there else TensorListCPU)(list(value)))
            if not argument and all(isinstance(item, (DataNode, *_BATCHES)) for item in value):
                return [self.adopt(item, argument=False) for item in value]
        if not argument and isinstance(value, (np.ndarray, torch.Tensor)) and value.ndim:
            return self._node_of((TensorListGPU if on_gpu(value) else TensorListCPU)(value))
        return value

    def _node_of(self, batch: _Data) -> DataNodeDebug:
        device = "gpu" if isinstance(batch, TensorListGPU) else "cpu"
        return DataNodeDebug(self._placeholder(device), 0, Batch(batch, None, adopted=True))

    def _placeholder(self, device: str) -> OpNode:
        """Returns an operator for data that no operator has made."""
        return OpNode(
            schema=operator_schema("external_source"),
            name="data",
            named=False,
            inputs=(),
            arg_inputs={},
            args={},
            seed=None,
            device=device,
            preserve=False,
            num_outputs=1,
            location=None,
            scope=self._scope.token,
        )

    def run(self, node: OpNode) -> tuple[DataNode, ...]:
        """Runs an operator that the definition calls."""
        if node.schema.external and node.group is None:
            raise _make(
                UnsupportedError,
                "debug mode cannot feed this operator",
                operator=node.schema.fn_name,
                location=node.location,
                fix="run the pipeline without debug=True",
            )
        site, dropped = self.calls.next(node)
        self._keep_fed(dropped)
        wanted = wanted_samples(node)
        if site.source is not None:
            return self._take_input(site, node, wanted)
        if site.node.schema.source:  # asked in every run, whichever samples take the branch
            batches = [batch.select(wanted) for batch in self._execute(site, node, None)]
        elif wanted is not None and not wanted:
            batches = [Batch(wrap([], ""), ())] * site.node.num_outputs
        else:
            batches = self._execute(site, node, wanted)
        return tuple(DataNodeDebug(site.node, i, batch) for i, batch in enumerate(batches))

    def _execute(self, site: CallSite, node: OpNode, wanted: tuple[int, ...] | None) -> list[Batch]:
        """Runs one operator on the samples that are wanted, and returns its outputs."""
        given = [with_data(i).batch for i in (*node.inputs, *node.arg_inputs.values())]
        inputs = []
        for position, batch in enumerate(given):
            if not (batch.adopted and wanted is not None and len(batch.data) == len(wanted)):
                self._size.check(batch, node, f"input {position}")
                # All samples are wanted, but some are absent, if branches are merged.
                batch = batch.select(range(self._size.value or 0) if wanted is None else wanted)
            inputs.append(batch.data)
        if not site.has_engine:
            if self._threads is None:
                self._threads = _C.Executor([], [], **self._engine_options)
            site.device = self._gpu(node)
            site.start(self._threads, self._engine_options)
        ids = range(self._size.value or self._batch_size) if wanted is None else wanted
        results = site.run(self.begun, inputs, [self._first_id + i for i in ids])
        batches = [Batch(wrap(*result), wanted) for result in results]
        if batches and wanted is None:
            self._size.check(batches[0], node, "the output")
        return batches

    def _take_input(
        self, site: CallSite, node: OpNode, wanted: tuple[int, ...] | None
    ) -> tuple[DataNode, ...]:
        """Returns the output of an external source, whose data comes with its last output."""
        source = site.source
        assert source is not None
        made = DataNodeDebug(site.node, 0, Batch(wrap([], ""), wanted))
        source.waiting.append(made)
        if len(source.waiting) < source.num_outputs:
            return (made,)
        if source.input is None:
            source.input = self._make_input(site, node)
        source.input.require(self._turn)
        for target, (_, data, _) in zip(source.waiting, source.input.take(self._turn), strict=True):
            batch = Batch(wrap(*data), None)
            self._size.check(batch, node, "the data")
            target.hold(batch.select(wanted))
        return (made,)

    def _make_input(self, site: CallSite, node: OpNode) -> Input:
        source = site.source
        assert source is not None
        device = None
        if source.group.device == "gpu":
            device = self._gpu(dataclasses.replace(node, device="gpu"))
        entries = [(member.name, member) for member in source.nodes]
        made = Input(source.group, entries, self._batch_size, device)
        names = [name for name, _ in entries]
        for name in names:
            self.inputs[name] = made
            for batch in self.fed_early.get(name, ()):
                made.feed(batch, None)
        self.fed_early = {n: batches for n, batches in self.fed_early.items() if n not in names}
        return made

    def _gpu(self, node: OpNode) -> Any:
        """Returns the GPU that an operator runs on or reads data of; None for one on the CPU."""
        if self._device is None:
            parents = [parent.source for parent in node.parents if parent.source is not None]
            self._device = make_device([node, *parents], *self._device_options)
        return self._device

    # -- failures

    def _after_failure(self) -> None:
        """Advances all sources to the same iteration: those not reached drop a batch.

        A first run that fails starts from the beginning the next time.
        """
        if not self.calls.is_traced:
            self._keep_fed(self.calls.drop(0))
            return
        turn = self._turn
        for site in self.calls.remaining:
            try:
                if site.source is not None:
                    last = site.node.group_index == site.source.num_outputs - 1
                    if last and site.source.input is not None and site.source.input.ready(turn):
                        site.source.input.take(turn)
                elif site.node.schema.source and site.has_engine:
                    site.run(turn.number)
            except StopIteration as end:
                self._ended = end.with_traceback(None)
            except Exception:  # another error is being raised
                continue
        self.begun, self._first_id = turn.number + 1, self._first_id + (self._size.value or 0)

    def _keep_fed(self, dropped: Sequence[CallSite]) -> None:
        """Keeps the data fed to dropped calls for the next first run."""
        for site in dropped:
            source = site.source
            if source is not None and source.input is not None:
                data = source.input.drain(self.begun)
                self.fed_early = {**self.fed_early, site.node.name: tuple(data)}
            self.inputs.pop(site.node.name, None)
