# SPDX-License-Identifier: Apache-2.0
"""Real DALI as an oracle: one long-lived process of a Python that has it.

``TORCHDALI_DALI_PYTHON`` names that interpreter (docs: CONTRIBUTING.md). Without it the tests that
ask are skipped by name, or fail where ``TORCHDALI_REQUIRE`` lists ``dali``.
"""

from __future__ import annotations

import atexit
import enum
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from .dali_worker import read_message, write_message

ENVIRONMENT_VARIABLE = "TORCHDALI_DALI_PYTHON"
_WORKER = Path(__file__).with_name("dali_worker.py")
_process: subprocess.Popen[bytes] | None = None


class DaliError(RuntimeError):
    """DALI refused the graph or failed while running it; holds DALI's text."""


@dataclass(frozen=True)
class DaliOutput:
    """One output of one iteration: the samples as torch tensors, the batch's layout, and what the
    samples know of the source they come from.
    """

    samples: list[torch.Tensor]
    layout: str
    source_info: list[str] = field(default_factory=list)


def required(what: str) -> bool:
    """Tells whether ``TORCHDALI_REQUIRE`` lists ``what``, so that a skip becomes a failure."""
    return what in os.environ.get("TORCHDALI_REQUIRE", "").replace(",", " ").split()


def skip_without_dali() -> None:
    """Skips the running test, or fails it where DALI is required."""
    if os.environ.get(ENVIRONMENT_VARIABLE):
        return
    message = f"real DALI is absent: {ENVIRONMENT_VARIABLE} names no Python interpreter"
    if required("dali"):
        pytest.fail(message)
    pytest.skip(message)


def _worker() -> subprocess.Popen[bytes]:
    global _process
    if _process is None or _process.poll() is not None:
        _process = subprocess.Popen(
            [os.environ[ENVIRONMENT_VARIABLE], str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # The reader of FITS files asks for pinned memory, which needs a driver.
            env={**os.environ, "DALI_RESTRICT_PINNED_MEM": "1"},
        )
        atexit.register(stop)
    return _process


def stop() -> None:
    """Ends the process; the next question starts another."""
    global _process
    process, _process = _process, None
    if process is None:
        return
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def _plain(value: Any) -> Any:
    """Makes an argument fit for JSON; enumerators travel as the name of their class and a value."""
    if isinstance(value, enum.Enum):
        return {"enum": type(value).__name__, "value": int(value.value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().contiguous().numpy()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def _ask(request: Mapping[str, Any]) -> Any:
    process = _worker()
    assert process.stdin is not None
    assert process.stdout is not None
    write_message(process.stdin, _plain(request))  # type: ignore[arg-type]
    try:
        answer = read_message(process.stdout)  # type: ignore[arg-type]
    except EOFError:
        raise AssertionError(f"DALI's process died (exit status {process.wait()})") from None
    if "error" in answer:
        raise DaliError(f"{answer['type']}: {answer['error']}")
    return answer["result"]


def run_graph(
    nodes: Sequence[Mapping[str, Any]],
    outputs: Sequence[str],
    sources: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    batch_size: int,
    iterations: int = 1,
    num_threads: int = 1,
    seed: int = 1,
    options: Mapping[str, Any] | None = None,
) -> list[list[DaliOutput]]:
    """Runs a graph described as data in real DALI, on the CPU.

    Args:
        nodes: operators in order, each ``{"op": "decoders.image", "inputs": ["encoded"], "args":
            {...}, "tensors": {"crop_pos_x": "x"}, "outputs": ["images"]}``. ``tensors`` maps an
            argument to the value (of a source or an earlier node) that holds it per sample.
            ``{"expression": "x[0], x + 1", "outputs": ["first", "more"]}`` is Python over the
            values' names and fn, math, newaxis, np, types; see helpers/expressions.py.
        outputs: names of the values that the graph returns.
        sources: name -> ``{"batches": [[sample, ...], ...], "layout": "HWC"}``, one list of torch
            tensors or NumPy arrays for each iteration, or an array with the batch as first axis.
            ``args`` has more arguments of external_source, ``fed_layout`` that of feed_input.
        batch_size: the largest batch.
        iterations: how many batches to run.
        num_threads: DALI's worker threads.
        seed: the pipeline's seed.
        options: more arguments of the pipeline.

    Returns:
        For each iteration, the outputs in order.

    Raises:
        DaliError: DALI raised; the text is DALI's.
    """
    skip_without_dali()
    request = {
        "nodes": list(nodes),
        "outputs": list(outputs),
        "sources": dict(sources or {}),
        "batch_size": batch_size,
        "iterations": iterations,
        "num_threads": num_threads,
        "seed": seed,
        "options": dict(options or {}),
    }
    return _outputs(_ask(request))


def run_program(
    path: str | Path,
    name: str,
    sources: Mapping[str, Mapping[str, Any]],
    *,
    batch_size: int,
    iterations: int = 1,
) -> list[list[DaliOutput]]:
    """Runs a function of a Python file as the definition of a pipeline, with conditionals.

    Args:
        path: of the file; its globals `fn`, `types` and, where it has one, `numba_function` are set
            to DALI's.
        name: of the function, which takes the sources in order and returns the outputs.
        sources: as in run_graph().
        batch_size: the largest batch.
        iterations: how many batches to run.

    Returns:
        For each iteration, the outputs in order.

    Raises:
        DaliError: DALI raised; the text is DALI's.
    """
    skip_without_dali()
    request = {
        "path": str(path),
        "name": name,
        "sources": dict(sources),
        "batch_size": batch_size,
        "iterations": iterations,
    }
    return _outputs(_ask(request))


def memory_statistics(
    nodes: Sequence[Mapping[str, Any]],
    outputs: Sequence[str],
    sources: Mapping[str, Mapping[str, Any]],
    *,
    batch_size: int,
    iterations: int,
) -> dict[str, dict[str, list[int]]]:
    """Runs a graph as run_graph does; returns real DALI's executor_statistics() afterwards."""
    skip_without_dali()
    request = {
        "nodes": list(nodes),
        "outputs": list(outputs),
        "sources": dict(sources),
        "batch_size": batch_size,
        "iterations": iterations,
        "statistics": True,
    }
    return _ask(request)  # type: ignore[no-any-return]


def _outputs(answer: Any) -> list[list[DaliOutput]]:
    return [
        [
            DaliOutput(
                [torch.from_numpy(np.array(s)) for s in out["samples"]],
                out["layout"],
                out["source_info"],
            )
            for out in iteration
        ]
        for iteration in answer
    ]


def call_tensors(data: Any, layout: str, calls: Sequence[Sequence[Any]]) -> list[Any]:
    """Calls methods of a batch or tensor of real DALI; see dali_worker.call_tensors."""
    skip_without_dali()
    request = {"data": data, "layout": layout, "calls": [list(call) for call in calls]}
    result: list[Any] = _ask(request)
    return result


def run_sources(groups: Sequence[Sequence[Mapping[str, Any]]]) -> list[list[Any]]:
    """Runs groups of cells of helpers/source_cells.py in real DALI; see run() there."""
    skip_without_dali()
    result: list[list[Any]] = _ask({"source_cells": [list(group) for group in groups]})
    return result


def call(path: str | Path, name: str, *args: Any) -> Any:
    """Calls a function of a Python file in DALI's process.

    Args:
        path: of the file, which is loaded once and depends on NumPy only.
        name: of the function; its first argument is the name of DALI's package.
        args: its other arguments, as JSON and arrays.

    Returns:
        What the function returns; tuples as lists.

    Raises:
        DaliError: the function raised.
    """
    skip_without_dali()
    return _ask({"call": [str(path), name, list(args)]})
