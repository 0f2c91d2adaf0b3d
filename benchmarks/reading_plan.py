# SPDX-License-Identifier: Apache-2.0
"""What planning costs in jobs that no machine here can run: 10^9 samples, 10^6 files, 1024 ranks.

Three parts: the plans of all ranks (reading_plan.cpp, with the engine's order, without data); the
loader of one rank of such a job; and the index that a reader of containers keeps, measured with
files that have no contents. docs/design/scaling.md shows the results.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import harness

BENCHMARK = "benchmarks.reading_plan"
ROOT = Path(__file__).resolve().parents[1]
SOURCES = (
    "benchmarks/reading_plan.cpp",
    "csrc/ops/readers/epoch_order.cpp",
    "csrc/ops/readers/buckets/bucket_order.cpp",
)
SAMPLES, SHARDS, RANKS, BATCH = 10**9, 10**6, 1024, 64
INDEXED, FILES, RECORD = 1_000_000, 1000, 1024  # samples and files of the measured indexes
LIMITS = {"state_bytes": 10**6, "resume_s": 10.0, "plan_bytes_per_sample": 8.0}


def _plans() -> dict[str, Any]:
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise OSError("no C++ compiler found")
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "reading_plan")
        flags = ["-O2", "-std=c++20", "-Icsrc", "-pthread"]
        subprocess.run([compiler, *flags, *SOURCES, "-o", program], cwd=ROOT, check=True)
        arguments = [program, str(SAMPLES), str(RANKS), str(BATCH)]
        done = subprocess.run(arguments, capture_output=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _resident() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _loader() -> dict[str, Any]:
    """The loader of the last rank: a state inside the epoch, and resuming from it."""
    from torchdali import PipelineLoader, fn, pipeline_def

    @pipeline_def(num_threads=1, device_id=None)
    def noise() -> Any:
        return fn.random.uniform(range=[0.0, 1.0])

    def make() -> PipelineLoader:
        place = {"rank": RANKS - 1, "world_size": RANKS}
        return PipelineLoader(noise, batch_size=BATCH, size=SAMPLES, seed=7, **place)

    first = make()
    loop = iter(first)
    for _ in range(5):
        next(loop)
    state = json.dumps(first.state_dict())
    first.close()
    before = _resident()
    start = time.process_time()
    second = make()
    second.load_state_dict(json.loads(state))
    next(iter(second))
    seconds = time.process_time() - start
    grown = max(0, _resident() - before)
    return {"state_bytes": len(state), "resume_s": seconds, "loader_bytes": grown}


def _write_indexes(kind: str, folder: Path) -> dict[str, list[str]]:
    """Writes files without contents and their indexes; returns the paths."""
    each = INDEXED // FILES
    paths: dict[str, list[str]] = {"path": [], "index_path": []}
    for file in range(FILES):
        path = folder / f"{file:05}.bin"
        index = path.with_suffix(".idx")
        with path.open("wb") as out:
            out.truncate(each * RECORD + 1024)
        places = range(0, each * RECORD, RECORD)
        if kind == "tfrecord":
            lines = [f"{at} {RECORD}\n" for at in places]
        elif kind == "mxnet":
            lines = [f"{number}\t{at}\n" for number, at in enumerate(places)]
        else:
            lines = [f"v1.2 {each}\n"]
            lines += [f"jpg {at + 512} 400 {at // RECORD:06}.jpg\n" for at in places]
        index.write_text("".join(lines))
        paths["path"].append(str(path))
        paths["index_path"].append(str(index))
    return paths


def _read_index(kind: str, paths: dict[str, list[str]]) -> tuple[float, int]:
    """Makes a reader; returns the seconds of the processor and the bytes that it took."""
    from torchdali import fn, pipeline_def, tfrecord

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def define() -> Any:
        if kind == "tfrecord":
            features = {"label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1)}
            return fn.readers.tfrecord(**paths, features=features)["label"]
        if kind == "mxnet":
            return fn.readers.mxnet(**paths)[0]
        archives = {"paths": paths["path"], "index_paths": paths["index_path"]}
        return fn.readers.webdataset(**archives, ext=["jpg"])

    pipeline = define()
    before, start = _resident(), time.process_time()
    pipeline.build()
    seconds = time.process_time() - start
    assert next(iter(pipeline.reader_meta().values()))["epoch_size"] == INDEXED
    return seconds, _resident() - before


def _in_process(work: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function in a process of its own, whose memory is measured."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def measure() -> list[dict[str, Any]]:
    """Returns a result for the plans of all ranks, one for a loader, and one for each index."""
    entry: dict[str, Any] = {"benchmark": BENCHMARK, "peer": "torchdali"}
    results = []
    harness.progress(f"{BENCHMARK}: plans of {RANKS} ranks")
    axes = {"samples": SAMPLES, "ranks": RANKS, "batch": BATCH, "files": SHARDS}
    try:
        results.append({**entry, "axes": {"work": "plans", **axes}, "metrics": _plans()})
    except (OSError, subprocess.CalledProcessError) as error:
        results.append({**entry, "axes": {"work": "plans", **axes}, "absent": str(error)})
    harness.progress(f"{BENCHMARK}: loader of a rank")
    metrics = _in_process(_loader)
    results.append({**entry, "axes": {"work": "loader", **axes}, "metrics": metrics})
    for kind in ("tfrecord", "mxnet", "webdataset"):
        harness.progress(f"{BENCHMARK}: index of {kind}")
        with tempfile.TemporaryDirectory() as folder:
            paths = _write_indexes(kind, Path(folder))
            seconds, grown = _in_process(_read_index, kind, paths)
        axes = {"work": "index", "kind": kind, "samples": INDEXED, "files": FILES}
        metrics = {
            "bytes_per_sample": grown / INDEXED,
            "seconds_per_million": seconds * 1e6 / INDEXED,
        }
        results.append({**entry, "axes": axes, "metrics": metrics})
    return results
