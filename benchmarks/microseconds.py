# SPDX-License-Identifier: Apache-2.0
"""Splits the CPU time of an image into parts, by profiling the ImageNet pipeline with ``perf``.

The pipeline of pipelines/imagenet.py runs in a process under ``perf record``. Each sample of a
worker thread is assigned to a part by the innermost function or system call that has one. The time
of a part is its share of the samples times the CPU time per image.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.peers import ROOT, TICKS_PER_S, versions
from benchmarks.pipelines import imagenet

BENCHMARK = "benchmarks.microseconds"
WORKER = "torchdali-"
FREQUENCY_HZ = 4999
# Part -> pattern of its functions; the first pattern that matches wins.
PARTS = {
    "Huffman decoding": r"decode_mcus|decode_block|skip_block",
    "Huffman tables": r"jpeg_table|jpeg_skip|[ad]c_table",
    "removal of byte stuffing": r"ScanBytes|memchr",
    "inverse DCT": r"transform_group|idct|Plane::transform",
    "upsampling and color conversion": r"upsample|to_rgb|Planes?::|PixelTarget",
    "other decoding": r"io::",
    "normalization and layout": r"normaliz",
    "resampling": r"resampl|blend|horizontal|to_mid|finish|prepare|weights|planes|taps|build_table",
    "reading files": r"sys_p?read|sys_open|sys_newfstat|sys_statx|sys_close|sys_fadvise",
    "page faults": r"page_fault",
    "waiting and wake-ups": r"sys_futex|schedule",
}
REST = "engine and everything else"


def part_of(stack: list[str]) -> str:
    """Returns the part of a sample: that of its innermost function that has one."""
    for function in stack:
        for part, pattern in PARTS.items():
            if re.search(pattern, function):
                return part
    return REST


def _stacks(script: Iterable[str]) -> Iterable[list[str]]:
    """Yields the functions of each sample of a worker, innermost first; see perf-script(1)."""
    stack: list[str] | None = None
    for line in script:
        if not line.strip():
            if stack:
                yield stack
            stack = None
        elif not line[0].isspace():
            stack = [] if line.startswith(WORKER) else None
        elif stack is not None:
            stack.append(line.strip().partition(" ")[2])


def _worker_seconds() -> float:
    """Returns the CPU time of this process's workers."""
    ticks = 0
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            head, _, rest = (task / "stat").read_text().rpartition(")")
            if f"({WORKER}" in head:
                ticks += sum(map(int, rest.split()[11:13]))
    return ticks / TICKS_PER_S


def _run(axes: dict[str, Any], seconds: float) -> dict[str, float]:
    """Runs the pipeline in the profiled process; returns images made and CPU time of workers."""
    step = imagenet.make("torchdali-plain", axes)
    images, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        images += step()
    return {"images": images, "worker_s": _worker_seconds()}


def measure(axes: dict[str, Any], *, rounds: int, seconds: float) -> list[dict[str, Any]]:
    """Returns one result with the microseconds per image of each part."""
    shown = {name: value for name, value in axes.items() if name != "data"}
    result: dict[str, Any] = {"benchmark": BENCHMARK, "peer": "torchdali-plain", "axes": shown}
    perf = shutil.which("perf")
    if perf is None:
        return [{**result, "absent": "perf is not installed"}]
    values: dict[str, list[float]] = {part: [] for part in [*PARTS, REST]}
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            data = str(Path(folder) / "perf.data")
            child = [sys.executable, "-m", BENCHMARK, json.dumps(axes), str(seconds)]
            record = [perf, "record", "-q", "-g", "-F", str(FREQUENCY_HZ), "-o", data, "--"]
            done = subprocess.run([*record, *child], cwd=ROOT, capture_output=True, text=True)
            if done.returncode != 0:
                reason = (done.stderr.strip().splitlines() or ["perf record failed"])[-1]
                return [{**result, "absent": reason[:160]}]
            script = [perf, "script", "-i", data, "-F", "comm,ip,sym"]
            text = subprocess.run(script, capture_output=True, text=True, check=True).stdout
        made = json.loads(done.stdout.splitlines()[-1])
        counts = collections.Counter(map(part_of, _stacks(text.splitlines())))
        image_us = 1e6 * made["worker_s"] / made["images"]
        for part, rounds_of in values.items():
            rounds_of.append(image_us * counts[part] / counts.total())
        harness.progress(f"{BENCHMARK} {shown}: round {number + 1} of {rounds}")
    metrics = {part: harness.spread(us) for part, us in values.items()}
    return [{**result, "versions": versions("torchdali"), "metrics": metrics}]


if __name__ == "__main__":
    # Libraries may print to stdout, so the answer goes to a duplicate of it.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer.write(json.dumps(_run(json.loads(sys.argv[1]), float(sys.argv[2]))) + "\n")
