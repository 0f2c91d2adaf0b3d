# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks: ``python -m benchmarks.run --data DIR``, or ``make bench DATA=DIR``.

Writes one JSON file to benchmarks/results and prints its tables. Peers that are not installed are
listed as absent. ``--quick`` takes a minute; its results are only printed.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

from benchmarks import audio, contention, harness, memory, microseconds, scheduler, tables, video
from benchmarks.ops import (
    building,
    expressions,
    formats,
    functional_batch,
    functional_call,
    inline_run,
    jpeg,
    jpeg_scaled,
    numba_function,
    operators,
    overhead,
    python_function,
    resize,
    transforms_call,
)
from benchmarks.options import parse
from benchmarks.pipelines import (
    arrays,
    auto_augment,
    autotune,
    coco,
    cold,
    compiled,
    container_index,
    containers,
    evaluation,
    external_source,
    held,
    imagenet,
    jpeg_index,
    loader,
    ray_map,
    remote,
    scale,
    start,
)
from benchmarks.pipelines.files import find_files

RESULTS = Path(__file__).resolve().parent / "results"


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the document with all results."""
    rounds, seconds = (2, 1.0) if options.quick else (options.rounds, options.seconds)
    epochs = 10 if options.quick else options.epochs
    results: list[dict[str, Any]] = []
    settings = {
        "rounds": rounds,
        "seconds": seconds,
        "epochs": epochs,
        "batch": options.batch,
        "seed": options.seed,
        "files": len(find_files(options.data)),
        "file_bytes": sum(Path(f).stat().st_size for f in find_files(options.data)),
    }
    axes = {"batch": options.batch, "seed": options.seed, "data": options.data}
    if "microseconds" in options.parts:
        results += microseconds.measure({"threads": 1, **axes}, rounds=rounds, seconds=2 * seconds)
    if "jpeg" in options.parts:
        for work, peers in jpeg.PEERS.items():
            results += harness.measure(
                jpeg.__name__,
                [p for p in peers if p.startswith(tuple(options.peers))],
                {"threads": 1, "work": work, **axes},
                harness.throughput,
                rounds=rounds,
                seconds=min(seconds, 1.0),
                warm_up=4,
            )
    for part, module, metrics, warm_up in (
        ("imagenet", imagenet, harness.throughput, 4),
        ("evaluation", evaluation, harness.throughput, 4),
        ("cold", cold, cold.rate, 0),
        ("jpeg_index", jpeg_index, harness.throughput, 4),
    ):
        for threads in options.threads if part in options.parts else ():
            results += harness.measure(
                module.__name__,
                [p for p in module.PEERS if p.startswith(tuple(options.peers))],
                {"threads": threads, **axes},
                metrics,
                rounds=rounds,
                seconds=seconds,
                warm_up=warm_up,
            )
    if "remote" in options.parts:
        for container, threads in itertools.product(remote.CONTAINERS, options.threads):
            results += harness.measure(
                remote.__name__,
                [p for p in remote.PEERS if p.startswith(tuple(options.peers))],
                {"container": container, "threads": threads, **axes},
                harness.throughput,
                rounds=rounds, seconds=seconds, warm_up=8,
            )  # fmt: skip
    if "containers" in options.parts:
        for container, work, threads in itertools.product(
            containers.CONTAINERS, containers.WORK, options.threads
        ):
            results += harness.measure(
                containers.__name__,
                [p for p in containers.peers(container, work) if p in options.peers],
                {"container": container, "work": work, "threads": threads, **axes},
                harness.throughput,
                rounds=rounds,
                seconds=seconds,
                warm_up=4,
            )
    if "ray_map" in options.parts:
        results += ray_map.measure(options, axes, rounds=rounds, seconds=seconds)
    if "container_index" in options.parts:
        for container in container_index.CONTAINERS:
            results += harness.measure(
                container_index.__name__,
                [p for p in container_index.PEERS if p in options.peers],
                {"container": container},
                container_index.duration,
                rounds=min(rounds, 3),
                seconds=0.1,
                warm_up=0,
            )
    if "jpeg_scaled" in options.parts:
        for work, size in jpeg_scaled.WORK:
            work_axes = {"work": work, "size": size, "seed": options.seed, "data": options.data}
            results += harness.measure(
                jpeg_scaled.__name__,
                [p for p in jpeg_scaled.PEERS if p.startswith(tuple(options.peers))],
                work_axes,
                harness.throughput,
                rounds=rounds,
                seconds=min(seconds, 1.0),
                warm_up=4,
            )
            results += jpeg_scaled.quality(work_axes)
    if "auto_augment" in options.parts:
        for scheme in ("rand", "trivial"):
            results += harness.measure(
                auto_augment.__name__,
                [p for p in auto_augment.PEERS if p in options.peers],
                {"threads": 2, "scheme": scheme, **axes},
                harness.throughput,
                rounds=rounds,
                seconds=seconds,
                warm_up=4,
            )
    if "coco" in options.parts:
        for work, metrics in coco.WORK.items():
            for threads in options.threads if work == "train" else (1,):
                results += harness.measure(
                    coco.__name__,
                    [p for p in coco.PEERS[work] if p.startswith(tuple(options.peers))],
                    {"threads": threads, "work": work, **axes},
                    metrics,
                    rounds=rounds,
                    seconds=seconds,
                    warm_up=1 if work == "start" else 4,
                )
    if "overhead" in options.parts:
        for source in ("native", "python"):
            for count in (0, 1, 5):
                results += harness.measure(
                    overhead.__name__,
                    [p for p in overhead.PEERS if p.startswith(tuple(options.peers))],
                    {"threads": 2, "source": source, "operators": count},
                    harness.iteration_time,
                    rounds=rounds,
                    seconds=min(seconds, 0.5),
                    warm_up=200,
                )
    for part, module, metrics in (
        ("functional_call", functional_call, functional_call.call_time),
        ("inline_run", inline_run, functional_call.cpu_time),
    ):
        results += harness.measure_each(
            module.__name__,
            [p for p in module.PEERS if p.startswith(tuple(options.peers))],
            [
                {"threads": 1, "call": call, "size": size}
                for call in (module.CALLS if part in options.parts else ())
                for size in module.SIZES
            ],
            metrics,
            rounds=rounds,
            seconds=min(seconds, 0.2),
            warm_up=4,
        )
    if "transforms_call" in options.parts:
        results += harness.measure_each(
            transforms_call.__name__,
            [p for p in transforms_call.PEERS if p in options.peers],
            [{"threads": 1, **case} for case in transforms_call.cases()],
            functional_call.cpu_time,
            rounds=rounds,
            seconds=min(seconds, 0.05),
            warm_up=2,
        )
    if "functional_batch" in options.parts:
        for threads in options.threads:
            results += harness.measure(
                functional_batch.__name__,
                functional_batch.PEERS,
                {"threads": threads, **axes},
                harness.throughput,
                rounds=rounds,
                seconds=seconds,
                warm_up=8,
            )
    if "expressions" in options.parts:
        for dtype in ("uint8", "int16", "float32", "float16"):
            for operands in ("numbers", "channels"):
                for threads in options.threads:
                    results += harness.measure(
                        expressions.__name__,
                        [p for p in expressions.PEERS if p.startswith(tuple(options.peers))],
                        {"threads": threads, "dtype": dtype, "operands": operands},
                        harness.throughput,
                        rounds=rounds,
                        seconds=min(seconds, 1.0),
                        warm_up=4,
                    )
    if "operators" in options.parts:
        results += harness.measure_each(
            operators.__name__,
            [p for p in operators.PEERS if p in options.peers],
            [{"threads": 1, "operator": name} for name in options.operators],
            harness.throughput,
            rounds=rounds,
            seconds=min(seconds, 0.4),
            warm_up=3,
        )
    if "resize" in options.parts:
        results += harness.measure_each(
            resize.__name__,
            [p for p in resize.PEERS if p in options.peers],
            resize.cases(),
            harness.throughput,
            rounds=rounds,
            seconds=min(seconds, 0.1),
            warm_up=3,
        )
    if "building" in options.parts:
        results += harness.measure(
            building.__name__,
            [p for p in building.PEERS if p.startswith(tuple(options.peers))],
            {"threads": 1},
            harness.iteration_time,
            rounds=rounds,
            seconds=min(seconds, 0.5),
            warm_up=1,
        )
    if "external_source" in options.parts:
        for work, metrics in external_source.WORK.items():
            results += harness.measure(
                external_source.__name__,
                [p for p in external_source.PEERS if p.startswith(tuple(options.peers))],
                {"work": work, "workers": 2, "data": options.data},
                metrics,
                rounds=rounds,
                seconds=min(seconds, 1.5),
                # More batches than any peer prefetches.
                warm_up=8 if work in ("copy", "decode") else 2,
            )
    if "python_function" in options.parts:
        for operator, batch, returns in python_function.CASES:
            results += harness.measure(
                python_function.__name__,
                [p for p in python_function.PEERS if p.startswith(tuple(options.peers))],
                {"threads": 2, "operator": operator, "batch": batch, "returns": returns},
                harness.iteration_time,
                rounds=rounds,
                seconds=min(seconds, 0.5),
                warm_up=200,
            )
    if "numba_function" in options.parts:
        for work, mode, calls, threads in numba_function.CASES:
            results += harness.measure(
                numba_function.__name__,
                [p for p in numba_function.PEERS if p.startswith(tuple(options.peers))],
                {"work": work, "mode": mode, "calls": calls, "threads": threads},
                harness.iteration_time,
                rounds=rounds,
                seconds=min(seconds, 0.5),
                warm_up=50 if work == "nothing" else 8,
            )
    if "loader" in options.parts:
        peers = [p for p in loader.PEERS if p in options.peers]
        for persistent in (False, True):
            axes_of = {"workers": 2, "persistent": persistent, "data": options.data}
            for work, metrics in loader.WORK.items():
                results += harness.measure(
                    loader.__name__,
                    peers,
                    {"work": work, **axes_of},
                    metrics,
                    rounds=rounds, seconds=min(seconds, 2.0), warm_up=8 if work != "start" else 2,
                )  # fmt: skip
            results += memory.measure_loader(peers, {"work": "tensors", **axes_of})
    if "held" in options.parts:
        results += held.measure(options.peers, rounds=rounds)
    if "start" in options.parts:
        for case in start.cases():
            results += start.measure(options.peers, {**case, "data": options.data}, rounds=rounds)
    if "compiled" in options.parts:
        results += compiled.measure(options, axes, rounds=rounds, seconds=seconds)
    if "arrays" in options.parts:
        for region in arrays.REGIONS:
            for threads in options.threads:
                results += harness.measure(
                    arrays.__name__,
                    [p for p in arrays.PEERS if p in options.peers],
                    {"region": region, "threads": threads},
                    arrays.rate,
                    rounds=rounds,
                    seconds=min(seconds, 1.5),
                    warm_up=8,
                )
    if "memory" in options.parts:
        results += memory.measure(["torchdali-plain"], {"threads": 2, **axes}, epochs=epochs)
    if "workers" in options.parts:
        peers = [p for p in external_source.PEERS if p in options.peers]
        results += memory.measure_workers(peers, {"workers": 2, "data": options.data})
    if "scale" in options.parts:
        results += harness.measure(
            scale.__name__,
            scale.THREADS,
            axes,
            harness.throughput,
            rounds=rounds,
            seconds=seconds,
            warm_up=4,
        )
        results += harness.measure(
            scale.__name__,
            [scale.WAIT],
            axes,
            scale.waited,
            rounds=rounds,
            seconds=seconds,
            warm_up=4,
        )
        peers = [p for p in scale.MEMORY if p.startswith(tuple(options.peers))]
        results += scale.measure_memory(peers, axes, min(rounds, 3))
    for module in (formats, audio, video, contention, autotune):
        if module.__name__.rpartition(".")[2] in options.parts:
            results += module.measure(options, rounds, seconds)
    if "scheduler" in options.parts:
        results += scheduler.measure(rounds=min(rounds, 3), seconds=min(seconds, 1.0))
    return harness.document(settings, results)


def updated(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Returns the old document with the results of the new one replacing those of the same axes.

    Both must be from the same machine.
    """
    if old["machine"] != new["machine"]:
        raise SystemExit("run: the results to update were measured on another machine")

    def what(result: dict[str, Any]) -> tuple[str, str]:
        return result["benchmark"], json.dumps(result["axes"], sort_keys=True)

    again = {what(result) for result in new["results"]}
    kept = [result for result in old["results"] if what(result) not in again]
    return {**old, "results": kept + new["results"]}


def main() -> None:
    """See the module's docstring."""
    options = parse(__doc__)
    document = run(options)
    if options.update is not None:
        document = updated(json.loads(options.update.read_text()), document)
    print(tables.tables(document))
    name = document["created"][:19].replace(":", "").replace("-", "") + ".json"
    path = options.out or options.update or (None if options.quick else RESULTS / name)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=1) + "\n")
        print(f"\nwritten: {path}")


if __name__ == "__main__":
    main()
