# SPDX-License-Identifier: Apache-2.0
"""``torchdali doctor``: mistakes in how a training script loads data, and its bottleneck."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import BatchSampler, DistributedSampler, IterableDataset, SequentialSampler
from torch.utils.data import DataLoader as TorchLoader

from torchdali._cli import AS_DALI
from torchdali._cli.progress import lines as progress_lines
from torchdali._cli.watch import EnoughBatches, Watch, watching
from torchdali._common.cpus import granted_cpus
from torchdali._common.figures import seconds
from torchdali.errors import UnsupportedError
from torchdali.loader import DataLoader
from torchdali.loader._compiled.recognize import recognize
from torchdali.profiling import profile
from torchdali.run import run_program
from torchdali.stats import LoaderStats, PipelineStats

__all__ = ["main", "report"]

_ALWAYS = 0.9
_WAITS = 0.05  # the loop is held up if it waits for more than this share of the time
_SLOW_START_S = 5.0
_NEW_ITERATORS = 3


def _of_torch_loader(watch: Watch) -> Iterator[str]:
    """Yields advice about a DataLoader, torch's or torchdali's."""
    loader: Any = watch.loader
    waits = watch.wait_share > _WAITS
    ours = isinstance(loader, DataLoader)
    engine = ours and (loader.accelerate or loader.stats().pipeline is not None)
    if waits and not engine:
        try:
            recognize(loader.dataset)
        except UnsupportedError:
            if not ours:
                yield "use torchdali.DataLoader, which takes the same arguments and copies less"
        else:
            name = type(loader.dataset).__name__
            yield (
                f"the dataset ({name}) can run in the engine: torchdali.DataLoader(..., "
                "accelerate=True)"
            )
    if loader.num_workers == 0 and waits and not engine:
        yield (
            "num_workers is 0: the loop makes each batch itself while the step waits; use "
            f"num_workers={granted_cpus()}"
        )
    if loader.num_workers > granted_cpus():
        yield (
            f"num_workers is {loader.num_workers}, but {granted_cpus()} CPUs were granted: "
            f"use num_workers={granted_cpus()}"
        )
    again = watch.iterators > 1 and loader.num_workers > 0 and not engine
    if again and not loader.persistent_workers:
        yield "workers are started for each epoch: use persistent_workers=True"
    if torch.cuda.is_available() and not loader.pin_memory and not getattr(loader, "device", None):
        yield "copies to the GPU wait for pageable memory: use pin_memory=True"
    yield from _of_order(watch)


def _of_order(watch: Watch) -> Iterator[str]:
    """Yields advice about the order of a DataLoader's samples."""
    loader: Any = watch.loader
    own_batches = type(loader.batch_sampler) not in (BatchSampler, type(None))
    if isinstance(loader.dataset, IterableDataset) or own_batches:
        return
    if isinstance(loader.sampler, SequentialSampler) and watch.trains:
        yield (
            "the order is the same in each epoch: use shuffle=True, if it trains (and "
            "torch.no_grad(), if it evaluates)"
        )
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1 and not isinstance(loader.sampler, DistributedSampler):
        yield f"each of the {ranks} ranks reads all samples: use DistributedSampler"


def _of_pipeline(stats: PipelineStats, waits: bool) -> Iterator[str]:
    """Yields advice about a pipeline."""
    threads = len(stats.workers)
    chosen = stats.chosen is not None and "num_threads" in stats.chosen.options
    if waits and not chosen and threads < granted_cpus():
        yield f"num_threads is {threads}, but {granted_cpus()} CPUs were granted: increase it"
    if threads > 2 * granted_cpus():
        yield f"num_threads is {threads}, but {granted_cpus()} CPUs were granted: decrease it"
    callbacks = [source for source in stats.sources if source.kind == "callback"]
    if waits and callbacks and stats.source_share > _WAITS:
        worst = max(callbacks, key=lambda source: source.total_ns)
        yield (
            f"the source of `{worst.name}` ({worst.location}) runs on the thread of the loop: use "
            "parallel=True, or a reader"
        )
    slowest = stats.slowest()
    if waits and slowest is not None:
        if slowest.operator.startswith("python_function"):
            yield f"{slowest.title} holds the GIL: use an operator of fn, or workers='processes'"
        elif "decoders.image" in slowest.operator and "crop" in slowest.operator:
            yield "later epochs decode less with an index of the JPEG files: jpeg_index='cache'"


def _pipelines(stats: Any) -> list[PipelineStats]:
    """Returns the statistics of the pipelines in those of a loader."""
    if isinstance(stats, LoaderStats):
        return [stats.pipeline] if stats.pipeline is not None else []
    return [stats] if isinstance(stats, PipelineStats) else list(stats)


def _advice(watch: Watch) -> Iterator[str]:
    """Yields what could be better about a loader."""
    if watch.iterators >= _NEW_ITERATORS and watch.batches <= watch.iterators:
        yield (
            "a new iterator is made for each batch, which throws away what was loaded ahead: make "
            "one iterator, and call next() on it"
        )
    if watch.first_ns > _SLOW_START_S * 1e9:
        yield (
            f"the first batch takes {seconds(watch.first_ns)}: import and open less in the "
            "dataset's constructor and in the modules that workers import"
        )
    if isinstance(watch.loader, TorchLoader):
        yield from _of_torch_loader(watch)
    if not hasattr(watch.loader, "stats"):
        return
    for stats in _pipelines(watch.loader.stats()):
        yield from _of_pipeline(stats, watch.wait_share > _WAITS)


def report(watch: Watch) -> str:
    """Returns the report about one loader."""
    kind = type(watch.loader)
    lines = [f"{watch.location or 'somewhere'}: {kind.__module__.split('.')[0]}.{kind.__name__}"]
    counted = max(watch.batches - 1, 1)
    wait, step = watch.wait_ns / counted, watch.step_ns / max(watch.batches, 1)
    lines.append(
        f"  {watch.batches} batches; per batch: wait {seconds(wait)}, step {seconds(step)}; the "
        f"first one after {seconds(watch.first_ns)}"
    )
    if watch.wait_share > _WAITS:
        text = f"  bottleneck: the loader. The loop waits {watch.wait_share:.0%} of the time"
        if watch.wait_share < _ALWAYS:
            text += f"; without, it is {1 / (1 - watch.wait_share):.1f} times as fast"
        lines.append(text)
    else:
        lines.append(f"  bottleneck: the step. The loop waits {watch.wait_share:.1%} of the time")
    if hasattr(watch.loader, "stats"):
        lines += [f"  {s.bottleneck}" for s in _pipelines(watch.loader.stats())]
    lines += [f"  - {text}" for text in _advice(watch)] or ["  no mistakes found"]
    return "\n".join(lines)


def _run(script: str, arguments: Sequence[str]) -> int:
    """Runs a script until it ends or enough was seen; returns 1 if it failed."""
    try:
        run_program(script, arguments)
    except EnoughBatches:
        return 0
    except SystemExit as error:
        return int(error.code not in (None, 0))
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def main(arguments: Sequence[str], prog: str) -> int:
    """Runs the command; returns its exit status: 1 if the script fails or has no loader."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Runs a training script for some batches. Says for each DataLoader, "
        "PipelineLoader and DALI iterator how long the loop waits for it, what its bottleneck is, "
        "and what could be better. On a GPU, a step takes the time until the host goes on.",
    )
    parser.add_argument(
        "--batches", type=int, default=50, help="end after this many batches of a loop; default: 50"
    )
    parser.add_argument(
        "--trace", metavar="FILE", help="write a timeline, too: NAME.html, or JSON for Perfetto"
    )
    parser.add_argument("--as-dali", action="store_true", help=AS_DALI)
    parser.add_argument("script")
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, help="arguments of the script", metavar="..."
    )
    options = parser.parse_args(arguments)
    if options.as_dali:
        importlib.import_module("torchdali.as_dali")
    trace = profile(options.trace) if options.trace else contextlib.nullcontext()
    show = progress_lines(f"{prog}: batches", options.batches)
    with trace, watching(options.batches, show) as watches:
        status = _run(options.script, options.arguments)
    seen = [watch for watch in watches if watch.batches]
    for text in map(report, seen):
        sys.stdout.write(f"\n{text}\n")
    if not seen:
        sys.stderr.write(f"{prog}: the script has used no loader\n")
    return status or int(not seen)
