# SPDX-License-Identifier: Apache-2.0
"""The command: ``python -m benchmarks.gpu --data DIR --out FILE``."""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.decisions import decisions_table
from benchmarks.gpu.definitions import SIZE, Options
from benchmarks.harness import machine

# Modules with rows(), in this order, and their shares of the time.
PARTS = {
    "ways": 90,
    "host": 20,
    "pipelines": 80,
    "kernels": 25,
    "launches": 15,
    "training": 55,
    "overlap": 20,
}
# What a part may take in addition, to import torch and make a context.
_START_S = 10


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Returns the options of the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.gpu", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of JPEG files")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--limit", type=float, default=280.0, help="seconds for all parts")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a measurement in a round")
    parser.add_argument("--steps", type=int, default=15, help="of training in a round")
    parser.add_argument(
        "--compile",
        nargs="*",
        default=[],
        metavar="MODEL",
        help="models to train with torch.compile, too; compiling takes a minute each",
    )
    parser.add_argument("--only", choices=PARTS, help=argparse.SUPPRESS)  # in this process
    return parser.parse_args(arguments)


def files_of(folder: Path) -> list[str]:
    """Returns the JPEG files in a folder, at any depth."""
    found = (file for file in folder.rglob("*") if file.suffix.lower() in (".jpg", ".jpeg"))
    return sorted(map(str, found))


def save(path: Path, content: Any) -> None:
    """Replaces a file at once, so that it is whole at any time."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content, indent=1) + "\n")
    part.replace(path)


def run_part(name: str, options: argparse.Namespace) -> None:
    """Measures a part; `out` has the rows so far at any time."""
    module = importlib.import_module(f"benchmarks.gpu.{name}")
    chosen = Options(
        files_of(options.data),
        compiled=tuple(options.compile),
        trace=options.out.with_name(options.out.name.partition(".")[0]),
        **{f: getattr(options, f) for f in ("threads", "batch", "rounds", "seconds", "steps")},
    )
    rows: list[dict[str, Any]] = []
    for row in module.rows(chosen):
        rows.append(row)
        save(options.out, rows)
        print(json.dumps(row), flush=True)


def run_apart(name: str, arguments: list[str], out: Path, seconds: float) -> dict[str, Any]:
    """Runs a part in a process of its own; returns its rows, and why there are not more."""
    rows = out.with_suffix(f".{name}.json")
    rows.unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks.gpu", *arguments]
    command += ["--out", str(rows), "--only", name]
    problem = ""
    try:
        done = subprocess.run(command, timeout=seconds, check=False)
        if done.returncode:
            problem = f"exit code {done.returncode}"
    except subprocess.TimeoutExpired:
        problem = f"stopped after {seconds:.0f} s"
    found = json.loads(rows.read_text()) if rows.exists() else []
    rows.unlink(missing_ok=True)
    return {"rows": found, "problem": problem}


def main(arguments: list[str] | None = None) -> None:
    """See the module's docstring."""
    options = parse(arguments)
    if options.only:
        run_part(options.only, options)
        return
    if options.compile:
        from benchmarks.gpu.training import MODELS

        unknown = set(options.compile) - set(MODELS)
        if unknown:
            raise SystemExit(f"benchmarks.gpu: --compile knows {', '.join(MODELS)}")
    given = sys.argv[1:] if arguments is None else arguments
    has_gpu = torch.cuda.is_available()
    document: dict[str, Any] = {
        "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "torch": torch.__version__,
        "task": f"files → random resized crop {SIZE} → flip → float CHW on the GPU",
        "machine": {
            **machine(),
            "gpu": torch.cuda.get_device_name(0) if has_gpu else "none: emulated",
        },
        "commit": os.environ.get("TORCHDALI_COMMIT", ""),
        **{f: getattr(options, f) for f in ("threads", "batch", "rounds", "seconds")},
        "files": len(files_of(options.data)),
        "problems": {},
    }
    end = time.monotonic() + options.limit
    shares = {name: PARTS[name] for name in options.parts}
    for name in options.parts:
        # What earlier parts have not used is there for all that follow.
        left = end - time.monotonic()
        seconds = max(left * shares[name] / sum(shares.values()), min(left, _START_S + 5))
        del shares[name]
        if left < _START_S:
            document["problems"][name] = "the time was over"
        else:
            print(f"--- {name}, at most {seconds:.0f} s", flush=True)
            found = run_apart(name, given, options.out, seconds)
            document[name] = found["rows"]
            if found["problem"]:
                document["problems"][name] = found["problem"]
        save(options.out, document)
    if document.get("ways"):
        print(decisions_table(document["ways"]))
    for name, problem in document["problems"].items():
        print(f"benchmarks.gpu: {name}: {problem}")


if __name__ == "__main__":
    main()
