# SPDX-License-Identifier: Apache-2.0
"""The worker processes of one pipeline: of its Python functions and of its external sources."""

from __future__ import annotations

from typing import Any

from torchdali._common.bad_samples import lets_samples_fail
from torchdali._sources.group import SourceGroup
from torchdali._sources.parallel_source import start_pool, worker_timeout
from torchdali._workers.pool import Pool
from torchdali.pipeline._compile import Plan
from torchdali.pipeline._function_workers import ProcessFunction
from torchdali.pipeline._options import Options

__all__ = ["WorkerProcesses"]


class WorkerProcesses:
    """Starts the worker processes of a plan, and ends them.

    They may be started before the engine: with the start method "fork" they have to be started
    before the process uses CUDA.
    """

    def __init__(self) -> None:
        self._started = False
        self._functions: dict[int, ProcessFunction] = {}  # by the ordinal of their operator
        self._pool: Pool | None = None  # of all external sources
        self._queues: dict[int, int] = {}  # id of a SourceGroup -> number of its queue in the pool

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers of external sources."""
        return [] if self._pool is None else self._pool.pids

    def start(self, plan: Plan, options: Options) -> None:
        """Starts the processes; does nothing if they were started.

        Raises:
            ArgumentTypeError: a source or a function cannot be sent to another process.
            PipelineError: the processes cannot be started.
        """
        if self._started:
            return
        try:
            self._start_functions(plan, options)
            self._start_sources(plan, options)
        except BaseException:
            self.close()
            raise
        self._started = True

    def _start_functions(self, plan: Plan, options: Options) -> None:
        assert options.batch_size is not None
        for node in plan.nodes:
            if node.args.get("workers") == "processes" and options.py_num_workers:
                self._functions[node.ordinal] = ProcessFunction(
                    node,
                    options.py_num_workers,
                    options.py_start_method,
                    options.batch_size,
                    options.py_callback_pickler,
                    worker_timeout(),
                    lets_samples_fail(node.on_error, options.on_error),
                )

    def _start_sources(self, plan: Plan, options: Options) -> None:
        groups = {
            node.group: lets_samples_fail(node.on_error, options.on_error)
            for node in plan.nodes
            if isinstance(node.group, SourceGroup) and node.group.parallel is not None
        }
        if groups and options.py_num_workers:
            assert options.batch_size is not None
            self._queues = {id(group): number for number, group in enumerate(groups)}
            self._pool = start_pool(
                groups,
                options.py_num_workers,
                options.py_start_method,
                options.batch_size,
                options.py_callback_pickler,
            )

    def engine_nodes(self, plan: Plan) -> list[dict[str, Any]]:
        """Returns the operators for the engine, which calls functions through their workers."""
        nodes = []
        for node, engine_node in zip(plan.nodes, plan.engine_nodes, strict=True):
            args = engine_node["args"]
            if node.ordinal in self._functions:
                args = {**args, "function": self._functions[node.ordinal]}
            elif args.get("workers") == "processes":  # there are no workers: it is called here
                args = {name: value for name, value in args.items() if name != "workers"}
            nodes.append({**engine_node, "args": args})
        return nodes

    def queue_of(self, group: SourceGroup) -> tuple[Pool, int] | None:
        """Returns the pool and queue that an external source reads; None: it has no workers."""
        number = self._queues.get(id(group))
        return None if self._pool is None or number is None else (self._pool, number)

    def close(self) -> None:
        """Ends the processes. start() may be called again."""
        self._started = False
        functions, self._functions = self._functions, {}
        for function in functions.values():
            function.close()
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()
