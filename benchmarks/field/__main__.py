# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks of the field: ``python -m benchmarks.field --data DIR [--parts PART ...]``.

Writes a JSON file to benchmarks/results/field and prints its tables.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from pathlib import Path
from typing import Any

from benchmarks import harness, tables
from benchmarks.field.options import Options
from benchmarks.peers import TICKS_PER_S, cpu_seconds
from benchmarks.pipelines.files import find_files

RESULTS = Path(__file__).resolve().parents[1] / "results" / "field"
PARTS = (
    "ffcv_imagenet",
    "mlperf_storage",
    "batch_times",
    "spdl_images",
    "s3_epochs",
    "ray_images",
)


def _busy_seconds() -> float:
    """Returns the CPU time of the whole machine that was not idle."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    # Without idle and iowait, and without guests, which are part of user and nice.
    return sum(int(value) for i, value in enumerate(fields[:8]) if i not in (3, 4)) / TICKS_PER_S


def run(part: str, options: Options) -> list[dict[str, Any]]:
    """Returns the results of a part, with the share of the machine that other programs used."""
    busy, own, begin = _busy_seconds(), cpu_seconds(), time.monotonic()
    results: list[dict[str, Any]] = importlib.import_module(f"benchmarks.field.{part}").measure(
        options
    )
    others = _busy_seconds() - busy - (cpu_seconds() - own)
    available = (time.monotonic() - begin) * (os.cpu_count() or 1)
    for result in results:
        result["part"] = part
        result["other_work_percent"] = round(max(100 * others / available, 0))
    return results


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Returns the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.field", description=__doc__)
    parser.add_argument("--data", required=True, help="folder with JPEG files, at any depth")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--peers", nargs="+", default=[], help="the only peers to measure")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a peer's part of a round")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--quick", action="store_true", help="only to see that it runs; nothing is written"
    )
    parser.add_argument(
        "--out", type=Path, help="the JSON file, in which the results of other parts stay"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """See the module's docstring."""
    given = parse(arguments)
    options = Options(
        str(Path(given.data).resolve()),
        rounds=1 if given.quick else given.rounds,
        seconds=0.3 if given.quick else given.seconds,
        seed=given.seed,
        peers=tuple(given.peers),
    )
    results = [result for part in given.parts for result in run(part, options)]
    files = find_files(options.data)
    settings = {
        "rounds": options.rounds,
        "seconds": options.seconds,
        "files": len(files),
        "file_bytes": sum(Path(file).stat().st_size for file in files),
    }
    document = harness.document(settings, results)
    if given.out is not None and given.out.exists():
        kept = json.loads(given.out.read_text())["results"]
        document["results"] = [r for r in kept if r["part"] not in given.parts] + results
    print(tables.tables(document))
    name = document["created"][:19].replace(":", "").replace("-", "") + ".json"
    path = given.out or (None if given.quick else RESULTS / name)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=1) + "\n")
        print(f"\nwritten: {path}")


if __name__ == "__main__":
    main()
