# SPDX-License-Identifier: Apache-2.0
"""Runs the operators of a definition as they are called: the executor of debug mode.

The pipeline around it is in __init__.py; docs/design/debug.md explains the design.
"""

from __future__ import annotations

import dataclasses
import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from torchdali._engine.extension import _C
from torchdali._graph.debug_node import Batch, DataNodeDebug
from torchdali._graph.scope import Scope, pop_scope, push_scope
from torchdali._sources.input import Group, Input
from torchdali.data_node import DataNode, OpNode
from torchdali.errors import ArgumentError, PipelineError, _make
from torchdali.pipeline._compile import seed_of
from torchdali.pipeline._debug.calls import Feed, Latest, Site, bare, changed, data_node, difference
from torchdali.pipeline._device import make_device
from torchdali.tensors import TensorCPU, TensorListCPU, TensorListGPU, wrap
from torchdali.tensors._placement import on_gpu

__all__ = ["EagerExecutor"]

_ARRAYS = (np.ndarray, torch.Tensor, TensorCPU)
_BATCHES = (TensorListCPU, TensorListGPU)
_Data = TensorListCPU | TensorListGPU


class EagerExecutor:
    """What a pipeline in debug mode has in place of the engine's executor.

    schedule() runs the definition once, wait() gives what it returned. Not thread-safe.

    Args:
        define: calls the user's function and returns its outputs, nodes or batches.
        scope: of the pipeline.
        owner: the pipeline, for Pipeline.current().
        batch_size: the greatest number of samples in a batch.
        seed: of the pipeline.
        device_id: its GPU, where an operator runs on one.
        stream_priority: of the stream of its kernels.
        threads: num_threads and set_affinity for the engine.
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
        self.nodes: list[OpNode] = []  # of the operators, shared with the pipeline
        self.names: dict[int, str] = {}
        self.inputs: dict[str, Input] = {}
        self.known = False  # a run has shown all operators
        self.num_outputs = 0  # where known
        self._define, self._scope, self._owner = define, scope, owner
        self._batch_size, self._seed, self._threads = batch_size, seed, threads
        self._device_options = device_id, stream_priority
        self._device: Any = None  # the GPU, from the first operator there on
        self._early: dict[str, list[_Data]] = {}  # fed before the first run
        self._sites: list[Site] = []
        self._next_site = 0
        self._workers: Any = None  # the executor whose threads all others use
        self._results: list[list[tuple[Any, str, Any]]] = []
        self._ended: StopIteration | None = None  # found while an error was on its way
        self._running = False
        self._first_id = 0  # of the samples of this run
        self._size: int | None = None  # of the batches of this run, where known
        self._size_from = ""

    # -- as RunningPipeline drives it

    @property
    def pending(self) -> int:
        """Number of runs whose outputs were not taken."""
        return len(self._results)

    def schedule(self) -> None:
        """Runs the definition.

        Raises:
            StopIteration: a source is at its end.
            Exception: what an operator or the user's function raised.
        """
        if self._running:
            raise _make(
                PipelineError,
                "Pipeline: a definition in debug mode cannot run the pipeline that it defines",
            )
        if self._ended is not None:
            self._ended = None
            raise StopIteration
        for source in self.inputs.values():  # all, before any gives its data away
            source.require()
        self._next_site, self._size, self._running = 0, None, True
        self._scope.names = itertools.count()
        self._scope.runner = self
        push_scope(self._scope, self._owner())
        try:
            outputs = [
                value if isinstance(value, _BATCHES) else self._checked(value).get()
                for value in self._define()
            ]
        except StopIteration:
            raise
        except BaseException:
            self._after_failure()
            raise
        finally:
            pop_scope()
            self._running = False
            self._scope.runner = None
            self._scope.guards = ()
            self._scope.sinks.clear()
            for site in self._sites:
                if site.feed is not None:
                    site.feed.waiting, site.feed.taken = [], []
        self._first_id += self._size or self._batch_size
        self.known, self.num_outputs = True, len(outputs)
        self._results.append([(batch._data, batch._layout, batch._names) for batch in outputs])

    def wait(self) -> list[tuple[Any, str, Any]]:
        """Returns the outputs of the oldest run that was not taken."""
        return self._results.pop(0)

    def release_unused_memory(self) -> None:
        """Gives memory back that nobody uses."""
        for site in self._sites:
            if site.executor is not None:
                site.executor.release_unused_memory()

    def reset(self) -> None:
        """Begins the next epoch after the end of the data."""
        self._ended = None
        for source in set(self.inputs.values()):
            source.reset()
        for site in self._sites:
            if site.node.schema.source and site.executor is not None:
                site.executor.reset()

    def close(self) -> None:
        """Ends the workers and lets all memory go."""
        for site in self._sites:
            site.stop()
        if self._workers is not None:
            self._workers.close()
        self._sites, self._results = [], []

    def reader_meta(self, name: str) -> Any:
        """Returns the facts about a reader, None where the operator is none."""
        for site in self._sites:
            if site.node.name == name and site.executor is not None:
                return site.executor.reader_meta(name)
        return None

    def feed_early(self, name: str, data: Any, layout: str | None) -> None:
        """Keeps a batch for an external source that the first run may show."""
        group = Group(
            None, None, False, False, False, None, device="gpu" if on_gpu(data) else "cpu"
        )
        device = None
        if on_gpu(data):
            device = self._gpu(data_node("gpu", self._scope))
        batch = Input(group, [None], self._batch_size, device).convert(data, layout, 0)
        self._early.setdefault(name, []).append(wrap(*batch))

    # -- as record.create drives it

    def adopt(self, value: Any, *, argument: bool) -> Any:
        """Returns a batch that the user passes as data as a node; all else as it is.

        TensorListCPU and lists of arrays are batches; so is an array that stands where an input
        does. A list of batches or nodes stands for several calls.
        """
        if isinstance(value, _BATCHES):
            return self._adopted(value)
        if isinstance(value, (list, tuple)) and value:
            if all(isinstance(item, _ARRAYS) for item in value):
                there = all(on_gpu(item) for item in value)
                return self._adopted((TensorListGPU if there else TensorListCPU)(list(value)))
            if not argument and all(isinstance(item, (DataNode, *_BATCHES)) for item in value):
                return [self.adopt(item, argument=False) for item in value]
        if not argument and isinstance(value, (np.ndarray, torch.Tensor)) and value.ndim:
            return self._adopted((TensorListGPU if on_gpu(value) else TensorListCPU)(value))
        return value

    def _adopted(self, batch: _Data) -> DataNodeDebug:
        device = "gpu" if isinstance(batch, TensorListGPU) else "cpu"
        return DataNodeDebug(data_node(device, self._scope), 0, Batch(batch, None, adopted=True))

    def run(self, node: OpNode) -> tuple[DataNode, ...]:
        """Runs an operator that the definition calls."""
        site = self._site(node)
        wanted = self._wanted(node)
        if site.feed is not None:
            return self._fetch(site, node, wanted)
        if site.node.schema.source:  # asked in every run, whichever samples take the branch
            batches = self._execute(site, node, None)
            return self._outputs(site, [batch.select(wanted) for batch in batches])
        if wanted is not None and not wanted:
            empty = Batch(wrap([], ""), ())
            return self._outputs(site, [empty] * site.node.num_outputs)
        return self._outputs(site, self._execute(site, node, wanted))

    # -- calls

    def _site(self, node: OpNode) -> Site:
        """Returns what stands for this call in all runs."""
        index = self._next_site
        self._next_site += 1
        if index < len(self._sites):
            site = self._sites[index]
            if difference(site.node, node) is None:
                site.renew(node)
                return site
            if self.known:
                raise changed(site.node, node)
            self._forget(index)  # of a first run that failed; the definition has changed since
        elif self.known:
            raise changed(None, node)
        return self._new_site(node)

    def _new_site(self, node: OpNode) -> Site:
        if node.named and node.name in self.names.values():
            raise _make(
                ArgumentError,
                f"two operators of one pipeline are named `{node.name}`",
                operator=node.schema.fn_name,
                location=node.location,
            )
        plain = dataclasses.replace(
            node,
            inputs=tuple(bare(i) for i in node.inputs),
            args={
                name: Latest(value) if node.schema.by_name[name].type == "function" else value
                for name, value in node.args.items()
            },
            arg_inputs={name: bare(i) for name, i in node.arg_inputs.items()},
            guards=tuple((bare(i), value) for i, value in node.guards),
        )
        stream = sum(site.node.schema.random for site in self._sites)
        site = Site(plain, seed_of(node, self._seed, stream))
        if isinstance(node.group, Group):
            if node.group_index == 0:
                site.feed = Feed(node.group)
            else:
                site.feed = self._sites[-1].feed
            assert site.feed is not None
            site.feed.nodes.append(plain)
        self._sites.append(site)
        self.nodes.append(plain)
        self.names[plain.ordinal] = plain.name
        return site

    def _forget(self, start: int) -> None:
        """Drops the calls from one on. What was fed stays."""
        for site in self._sites[start:]:
            site.stop()
            if site.feed is not None and site.feed.input is not None:
                self._early[site.node.name] = [*site.feed.taken, *site.feed.input.drain()]
            del self.names[site.node.ordinal]
            self.inputs.pop(site.node.name, None)
        del self._sites[start:], self.nodes[start:]

    def _after_failure(self) -> None:
        """Leaves all sources at one iteration: those that the run did not reach give a batch too.

        A first run that fails starts from the beginning the next time.
        """
        if not self.known:
            self._forget(0)
            return
        self._first_id += self._size or 0
        for site in self._sites[self._next_site :]:
            try:
                if site.feed is not None:
                    last = site.node.group_index == site.feed.count - 1
                    if last and site.feed.input is not None and site.feed.input.ready():
                        site.feed.input.take()
                elif site.node.schema.source and site.executor is not None:
                    site.run()
            except StopIteration as end:
                self._ended = end.with_traceback(None)
            except Exception:  # there is one on its way already
                continue

    # -- one operator

    def _gpu(self, node: OpNode) -> Any:
        """Returns the GPU that an operator runs on or reads data of; None for one on the CPU."""
        if self._device is None:
            parents = [parent.source for parent in node.parents if parent.source is not None]
            self._device = make_device([node, *parents], *self._device_options)
        return self._device

    def _wanted(self, node: OpNode) -> tuple[int, ...] | None:
        """Returns the samples that the call is for; None: all."""
        if not node.guards:
            return None
        wanted: set[int] | None = None
        for predicate, value in node.guards:
            batch = self._checked(predicate).batch
            holds = {
                sample
                for sample, truth in zip(batch.samples(), batch.data.as_torch_list(), strict=True)
                if bool(truth) == value
            }
            wanted = holds if wanted is None else wanted & holds
        assert wanted is not None
        return tuple(sorted(wanted))

    def _checked(self, node: DataNode) -> DataNodeDebug:
        if isinstance(node, DataNodeDebug):
            return node
        raise _make(
            PipelineError,
            f"{node!r} was made outside the definition, and a pipeline in debug mode runs only "
            "what is called inside",
            location=node.source.location if node.source else None,
            fix="make the operator in the definition",
        )

    def _execute(self, site: Site, node: OpNode, wanted: tuple[int, ...] | None) -> list[Batch]:
        """Runs one operator on the samples that are wanted, and returns its outputs."""
        fed = [self._checked(i) for i in (*node.inputs, *node.arg_inputs.values())]
        inputs = []
        for position, given in enumerate(fed):
            batch = given.batch
            if not (batch.adopted and wanted is not None and len(batch.data) == len(wanted)):
                self._hold_size(batch, node, f"input {position}")
                # None with samples that are not there: branches are joined.
                batch = batch.select(range(self._size or 0) if wanted is None else wanted)
            inputs.append(batch.data)
        if site.executor is None:
            options = {"batch_size": self._batch_size, **self._threads}
            if self._workers is None:
                self._workers = _C.Executor([], [], **options)
            site.device = self._gpu(node)
            site.start(self._workers, options)
        ids = range(self._size or self._batch_size) if wanted is None else wanted
        results = site.run(inputs, [self._first_id + i for i in ids])
        batches = [Batch(wrap(*result), wanted) for result in results]
        if batches and wanted is None:
            self._hold_size(batches[0], node, "the output")
        return batches

    def _outputs(self, site: Site, batches: Sequence[Batch]) -> tuple[DataNode, ...]:
        return tuple(DataNodeDebug(site.node, i, batch) for i, batch in enumerate(batches))

    def _fetch(
        self, site: Site, node: OpNode, wanted: tuple[int, ...] | None
    ) -> tuple[DataNode, ...]:
        """Returns the output of an external source, whose data comes with its last output."""
        feed = site.feed
        assert feed is not None
        made = DataNodeDebug(site.node, 0, Batch(wrap([], ""), wanted))
        feed.waiting.append(made)
        if len(feed.waiting) < feed.count:
            return (made,)
        if feed.input is None:
            entries = [(member.name, member) for member in feed.nodes]
            device = None
            if feed.group.device == "gpu":
                device = self._gpu(dataclasses.replace(node, device="gpu"))
            feed.input = Input(feed.group, entries, self._batch_size, device)
            for name, _ in entries:
                self.inputs[name] = feed.input
                for early in self._early.pop(name, []):
                    feed.input.feed(early, None)
        feed.input.require()
        for target, (_, (tensors, layout)) in zip(feed.waiting, feed.input.take(), strict=True):
            batch = Batch(wrap(tensors, layout), None)
            if not feed.input.pulls:
                feed.taken.append(batch.data)
            self._hold_size(batch, node, "the data")
            target.hold(batch.select(wanted))
        return (made,)

    def _hold_size(self, batch: Batch, node: OpNode, what: str) -> None:
        """Holds the size of a batch against that of this run, which the first batch decides."""
        if batch.present is not None:
            return
        if self._size is None:
            self._size = len(batch.data)
            self._size_from = f"{node.schema.fn_name} at {node.location}"
        elif self._size != len(batch.data):
            raise _make(
                PipelineError,
                f"batches of one run have one size: {what} has {len(batch.data)} samples, expected "
                f"{self._size}, from {self._size_from}",
                operator=node.schema.fn_name,
                location=node.location,
                fix="where the size of batches varies, call the external sources before operators "
                "without inputs; one value for all samples is a types.Constant",
            )
