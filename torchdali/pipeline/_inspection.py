# SPDX-License-Identifier: Apache-2.0
"""Inspection: what a built pipeline reports about its graph, readers, memory and time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

from torchdali._graph.draw import Picture
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, FileError, _make
from torchdali.pipeline._counters import difference, from_counters
from torchdali.pipeline._explain import PipelinePlan, describe_plan
from torchdali.pipeline._run import Run
from torchdali.stats import PipelineStats

__all__ = ["Inspection"]

# Figures of each output in executor_statistics(), in the order of the engine.
_MEMORY_FIGURES = (
    "real_memory_size",
    "max_real_memory_size",
    "reserved_memory_size",
    "max_reserved_memory_size",
)


class Inspection:
    """Describes a run; changes nothing. Pipeline has methods of the same names.

    Args:
        run: a built pipeline.
        outputs: of the pipeline.
        num_threads: number of worker threads.
    """

    def __init__(self, run: Run, outputs: Sequence[DataNode], num_threads: int) -> None:
        self._run = run
        self._outputs = outputs
        self._num_threads = num_threads
        self._baseline: dict[str, Any] | None = None  # counters when stats() was last reset

    # -- readers

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
        metas = {}
        for node in self._run.nodes:
            if node.schema.source:
                own = self._run.names[node.ordinal]
                meta = self._run.executor.reader_meta(own)
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

        With `pad_last_batch`, the samples that make the shards equal count too.
        """

        def size(meta: dict[str, Any]) -> int:
            key = "epoch_size_padded" if meta["pad_last_batch"] else "epoch_size"
            return cast("int", meta[key])

        metas = self.reader_meta(name)
        return size(metas) if name is not None else {n: size(meta) for n, meta in metas.items()}

    # -- memory and time

    def executor_statistics(self) -> dict[str, Any]:
        """Returns how much memory each output of each operator has taken, by operator.

        Returns:
            A dict from "CPU_" and the operator's name to a dict of lists. Each list has a number of
            bytes for each output, the largest of the iterations that were taken so far:

            * ``real_memory_size``: size of all samples of a batch;
            * ``max_real_memory_size``: size of the largest sample;
            * ``reserved_memory_size``: memory that is set aside. For an output of the pipeline it
              is the storage of the batch. For others it is the sum over the workers of the largest
              block that each has used, since a worker has one sample at a time and reuses its
              memory;
            * ``max_reserved_memory_size``: the largest part of that for one sample.

            Views of other outputs or of the user's memory reserve nothing. An operator that was
            fused with the next one has zeros, since its result is never in memory as a whole.
            Scratch memory inside operators does not count. Without `enable_memory_stats` the dict
            is empty.
        """
        return {
            f"CPU_{operator}": {
                name: [output[i] for output in outputs] for i, name in enumerate(_MEMORY_FIGURES)
            }
            for operator, outputs in self._run.executor.memory_statistics().items()
        }

    def stats(self, reset: bool = False) -> PipelineStats:
        """Returns how the time is spent: operators, worker threads, the queue, waits.

        ``print(pipeline.stats())`` names the bottleneck. The counters are always on;
        docs/guide/profiling.md says what they cost and how exact they are.

        Args:
            reset: set the counters to zero after reading them.

        Returns:
            Figures since the first batch was asked for, or since the last `reset`. They include
            batches that the pipeline has made ahead.

        Raises:
            PipelineError: the pipeline is closed.
        """
        executor, inputs = self._run.executor, self._run.inputs
        counters = executor.measures()
        if self._baseline is not None:
            begin, shown = self._baseline["now_ns"], difference(counters, self._baseline)
        else:
            # The sources are asked before the first batch is scheduled.
            began = filter(None, [counters["began_ns"], *inputs.asked_since()])
            begin, shown = min(began, default=counters["now_ns"]), counters
        tuner = self._run.tuner
        chosen = None if tuner is None else tuner.stats()
        stats = from_counters(shown, inputs.stats(), counters["now_ns"] - begin, chosen)
        if reset:
            self._baseline = counters
            executor.reset_maxima()
            inputs.reset_stats()
        return stats

    # -- the graph

    def plan(self) -> PipelinePlan:
        """Returns what runs, step by step, and which operators were fused into one step.

        Builds the pipeline if necessary. Operators that were merged or pruned are left
        out.

        Returns:
            The plan, which prints as a table. Its `steps` are in the order in which a sample passes
            them. Each step has:

            * ``operators``: the operators of the step, each with ``op``, ``name`` and ``location``
              (file, line and text of the definition). Several operators were fused; ``fused`` says
              so;
            * ``saves``: what fusing them saves, in sentences;
            * ``stage`` and ``runs``: what runs together: "samples" (each worker takes a sample
              through all steps of the stage), "batches" (a worker does it for a whole batch),
              "batches in order" (one batch after the other) or "GPU" (a worker queues it on the GPU
              for a whole batch);
            * ``outputs``: where each output is stored: "output" of the pipeline, "scratch" of the
              worker (reused for the next sample), "batch" (kept for a later stage) or "memory of
              the source"; with ", pinned" or ", GPU" if that applies;
            * ``conditional``: whether only samples in a branch of a condition pass the step.

            The plan also has ``num_threads``, the number of workers, and ``prefetch_queue_depth``.

        Raises:
            TorchdaliError: the pipeline cannot be built.
            PipelineError: in debug mode, where operators are not planned together.

        Note:
            Fusion does not change results. Samples that a fused step cannot process, such as
            sequences, are run operator by operator. TORCHDALI_FUSION=0 in the environment, when the
            pipeline is built, switches fusion off.
        """
        return describe_plan(self._run.executor.plan(), self._num_threads, self._run.depth)

    def picture(self) -> Picture:
        """Returns the graph of the operators that run."""
        return Picture(self._run.nodes, self._run.names, self._outputs)

    def save_graph_to_dot_file(
        self,
        filename: Any,
        show_tensors: bool = False,
        show_ids: bool | None = None,
        use_colors: bool = False,
    ) -> None:
        """Writes the graph as a picture, or in the language of Graphviz.

        Operators that were merged or pruned are left out. Edges of arguments are dashed, edges of
        conditions are dotted.

        Args:
            filename: of the file to write. ".svg": a picture, which needs no other program; it says
                more about an operator under the mouse pointer. ".png" and ".pdf": a picture that
                the program `dot` of Graphviz draws. Others: a text for Graphviz.
            show_tensors: also show the tensors between operators, as boxes.
            show_ids: put the numbers of operators and tensors before their names; None: no.
            use_colors: fill operators and tensors with a color for their stage: CPU blue, mixed
                orange, GPU green.

        Raises:
            UnsupportedError: a PNG or PDF file is asked for, and Graphviz is not installed.
            PipelineError: Graphviz failed.
            FileError: the file cannot be written.
        """
        content = self.picture().file(
            os.path.splitext(os.fsdecode(filename))[1].lower(),
            show_tensors=bool(show_tensors),
            show_ids=bool(show_ids),
            use_colors=bool(use_colors),
        )
        try:
            with open(filename, "wb") as file:
                file.write(content)
        except OSError as error:
            raise _make(FileError, f"Pipeline.save_graph_to_dot_file: {error}") from None
