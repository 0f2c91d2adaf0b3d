# SPDX-License-Identifier: Apache-2.0
"""What a pipeline says about itself: its graph, its readers, its memory."""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from typing import Any, cast

from torchdali._graph.draw import Picture, svg
from torchdali._graph.pytree import Structure
from torchdali._graph.scope import Scope
from torchdali._sources.gather import source_stats
from torchdali._workers.pool import Pool
from torchdali.data_node import DataNode, OpNode
from torchdali.errors import ArgumentError, FileError, PipelineError, TorchdaliError, _make
from torchdali.pipeline._compile import Plan, reachable
from torchdali.pipeline._counters import difference, from_counters
from torchdali.pipeline._explain import PipelinePlan, describe_plan
from torchdali.pipeline._function_workers import FunctionProcesses
from torchdali.pipeline._resume import ResumablePipeline
from torchdali.stats import PipelineStats

__all__ = ["InspectedPipeline"]


class InspectedPipeline(ResumablePipeline):
    """The part of Pipeline that looks and changes nothing."""

    def _prepare(self) -> None:
        super()._prepare()
        self._scope = Scope()
        self._plan: Plan | None = None
        self._pool: Pool | None = None
        self._pooled: dict[int, int] = {}  # id of a Group -> its number in the pool
        self._function_processes = FunctionProcesses()
        self._workers_started = False
        self._closed = False
        self._outputs: list[DataNode] | None = None
        # Of a definition under pipeline_def: how it returned its outputs, and how to make another.
        self._structure: Structure | None = None
        self._remake: Callable[..., Any] | None = None
        self._nodes: list[OpNode] = []  # of the plan
        # The engine's counters when stats() was told to begin anew, and whose they are.
        self._counted_before: tuple[Any, dict[str, Any]] | None = None
        self._owners: list[int] = []  # of events in a profile: one an engine

    def _check_buildable(self) -> None:
        if self._closed:
            raise _make(PipelineError, "Pipeline: the pipeline is closed")
        self._options.check_sizes()

    def reader_meta(self, name: str | None = None) -> dict[str, Any]:
        """Returns the facts about a reader, or a dict of them by name.

        Args:
            name: of the reader; None: all readers.

        Returns:
            epoch_size (samples of all shards), epoch_size_padded (the same with equal shards),
            number_of_shards, shard_id, pad_last_batch, stick_to_shard.

        Raises:
            ArgumentError: there is no such reader.
        """
        self.build()
        metas = {}
        for node in self._nodes:
            if node.schema.source:
                own = self._names[node.ordinal]
                meta = self._executor.reader_meta(own)
                if meta is not None:
                    metas[own] = meta
        if name is None:
            return metas
        if name not in metas:
            known = ", ".join(f"`{known}`" for known in metas) or "none"
            raise _make(ArgumentError, f"the pipeline has no reader named `{name}`; it has {known}")
        return cast("dict[str, Any]", metas[name])

    def epoch_size(self, name: str | None = None) -> Any:
        """Returns the number of samples of a reader's epoch (all shards), or a dict by name.

        With `pad_last_batch`, what was added to make the shards equal counts too.
        """

        def size(meta: dict[str, Any]) -> int:
            key = "epoch_size_padded" if meta["pad_last_batch"] else "epoch_size"
            return cast("int", meta[key])

        metas = self.reader_meta(name)
        return size(metas) if name is not None else {n: size(meta) for n, meta in metas.items()}

    def _release_unused_memory(self) -> None:
        """Gives memory back that is kept for the next batches; for ReleaseUnusedMemory()."""
        if self._executor is not None:
            self._executor.release_unused_memory()

    def executor_statistics(self) -> dict[str, Any]:
        """Returns how much memory each output of each operator has taken, by operator.

        Returns:
            A dict from "CPU_" and the operator's name to a dict of lists, each with one number of
            bytes for each output, the greatest of the iterations that were taken so far:

            * ``real_memory_size``: what the samples of a batch hold together;
            * ``max_real_memory_size``: what one sample holds;
            * ``reserved_memory_size``: what is set aside for the output: the storage of the batch,
              where it is an output of the pipeline; otherwise, since a worker has one sample in
              hand and uses its memory again, the largest block of each worker for it, added up;
            * ``max_reserved_memory_size``: the largest part of that for one sample.

            Outputs that are views of others, or of memory that the user has, hold what they show
            and reserve nothing. An operator that was fused with the one behind it (its values are
            never there as a whole) has zeros. Scratch memory inside operators does not count.
            Without `enable_memory_stats` the dict is empty.
        """
        self.build()
        names = (
            "real_memory_size",
            "max_real_memory_size",
            "reserved_memory_size",
            "max_reserved_memory_size",
        )
        return {
            f"CPU_{operator}": {
                name: [output[i] for output in outputs] for i, name in enumerate(names)
            }
            for operator, outputs in self._executor.memory_statistics().items()
        }

    def stats(self, reset: bool = False) -> PipelineStats:
        """Returns where the time goes: operators, worker threads, the queue, who waits for whom.

        ``print(pipeline.stats())`` says what the bottleneck is. The counters are always there; what
        they cost and how exact they are: docs/guide/profiling.md.

        Args:
            reset: begin to count anew, behind what is returned.

        Returns:
            Figures since the first batch was asked for, or since the last `reset`. While the
            pipeline runs ahead, there is more in them than was taken.

        Raises:
            PipelineError: the pipeline is closed.
        """
        self.build()
        executor = self._executor
        counters = executor.measures()
        kept = self._counted_before
        if kept is not None and kept[0] is executor:
            begin, shown = kept[1]["now_ns"], difference(counters, kept[1])
        else:
            # The first batch is scheduled when the sources have given it.
            began = [counters["began_ns"], *(source.clock.began_ns for source in self._inputs)]
            begin, shown = min(filter(None, began), default=counters["now_ns"]), counters
        wall = counters["now_ns"] - begin
        stats = from_counters(shown, source_stats(self._inputs), wall)
        if reset:
            self._counted_before = executor, counters
            executor.reset_maxima()
            for source in self._inputs:
                source.clock.reset()
        return stats

    def _trace_owners(self) -> list[int]:
        """Returns whose events in a profile are those of this pipeline."""
        return list(self._owners)

    def plan(self) -> PipelinePlan:
        """Returns what runs, step by step, and which operators were fused into one step.

        Builds the pipeline where that has not been done. Operators that were merged or pruned are
        not in it.

        Returns:
            The plan, which prints as a table. Its `steps`, in the order in which a sample passes
            them, each have:

            * ``operators``: whose work it is, each with ``op``, ``name`` and ``location`` (file,
              line and text of the definition); several where they were fused, which ``fused`` says;
            * ``saves``: what fusing them saves, sentences;
            * ``stage`` and ``runs``: what is done together: "samples" (each worker takes a sample
              through all steps of the stage), "batches" (a worker does it for a whole batch),
              "batches in order" (one batch after the other) or "GPU" (a worker queues it on the GPU
              for a whole batch);
            * ``outputs``: where each output lies: "output" of the pipeline, "scratch" of the worker
              (used again by the next sample), "batch" (kept for a later stage) or "memory of the
              source"; with ", pinned" or ", GPU" where that is;
            * ``conditional``: whether only samples in a branch of a condition pass it.

            Beside the steps it has ``num_threads``, the workers, and ``prefetch_queue_depth``.

        Raises:
            TorchdaliError: the pipeline cannot be built.
            PipelineError: in debug mode, where operators are not planned together.

        Note:
            Fusion changes no result. Within a fused step, what cannot take part for a sample, such
            as a sequence, is run operator by operator. TORCHDALI_FUSION=0 in the environment, when
            the pipeline is built, switches fusion off.
        """
        self.build()
        return describe_plan(self._executor.plan(), self._options.num_threads or 1, self._depth)

    def save_graph_to_dot_file(
        self,
        filename: Any,
        show_tensors: bool = False,
        show_ids: bool | None = None,
        use_colors: bool = False,
    ) -> None:
        """Writes the graph in the language of Graphviz, or as a picture.

        Operators that were merged or pruned are not in it. Arguments that are data nodes arrive by
        dashed edges, conditions by dotted ones.

        Args:
            filename: of the file to write; where it ends in ".svg", the program `dot` of Graphviz
                draws the picture.
            show_tensors: also show what flows between operators, as boxes.
            show_ids: put the numbers of operators and tensors before their names; None: no.
            use_colors: fill operators and tensors with a colour that tells the stage: CPU light
                blue, mixed orange, GPU light green.

        Raises:
            UnsupportedError: a picture is asked for, and Graphviz is not installed.
            FileError: the file cannot be written.
        """
        self.build()
        text = self._picture().dot(
            show_tensors=bool(show_tensors), show_ids=bool(show_ids), use_colors=bool(use_colors)
        )
        if os.fsdecode(filename).lower().endswith(".svg"):
            text = svg(text)
        try:
            with open(filename, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except OSError as error:
            raise _make(FileError, f"Pipeline.save_graph_to_dot_file: {error}") from None

    def _picture(self) -> Picture:
        """Returns what is there: the plan, or before the build the definition so far."""
        outputs = self._outputs or []
        if self._executor is not None:
            return Picture(self._nodes, self._names, outputs)
        nodes = reachable([n.source for n in outputs if n.source] + self._scope.sinks)
        return Picture(nodes, {node.ordinal: node.name for node in nodes}, outputs)

    def _repr_html_(self) -> str:
        """Returns the graph for a notebook: a picture where Graphviz is installed, else a table."""
        head = f"<p><b>{html.escape(self._head())}</b></p>"
        try:
            picture = self._picture()
            try:
                drawn = svg(picture.dot(show_tensors=False, show_ids=False, use_colors=True))
                shown = drawn[drawn.index("<svg") :]  # without the head of an XML file
            except (TorchdaliError, ValueError):
                shown = picture.table()
        except Exception as error:  # a notebook shows what it gets; a traceback helps nobody there
            shown = f"<pre>{html.escape(repr(error))}</pre>"
        return f"<div>{head}\n{shown}</div>"

    def _head(self) -> str:
        state = "closed" if self._closed else "built" if self._executor is not None else "not built"
        return (
            f"{type(self).__name__}: batch_size={self.batch_size}, "
            f"num_threads={self.num_threads}, {state}"
        )

    def __repr__(self) -> str:
        picture = self._picture()
        lines = [f"<{self._head()}>", *(f"  {node!r}" for node in picture.nodes)]
        if picture.outputs:
            lines.append(f"  return {', '.join(node.name for node in picture.outputs)}")
        return "\n".join(lines)
