# SPDX-License-Identifier: Apache-2.0
"""Runs the test: ``python -m benchmarks.elastic [LOADER ...] [--kills N] [--out FILE]``.

Kills each loader N times for each kind of change, and prints what has become of the samples.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import reading_plan, tables
from benchmarks.elastic.adapter import CHANGES, Entry, Setup
from benchmarks.elastic.data import write_all
from benchmarks.elastic.judge import worst
from benchmarks.elastic.loaders import LOADERS
from benchmarks.elastic.trials import Runs, plan_trial

RESULTS = Path(__file__).resolve().parents[1] / "results" / "elastic"


def _progress(text: str) -> None:
    print(f"elastic: {text}", file=sys.stderr, flush=True)


def _version(entry: Entry) -> str:
    if not entry.python:
        return importlib.metadata.version(entry.package)
    code = f"import importlib.metadata as m; print(m.version({entry.package!r}))"
    done = subprocess.run(
        [entry.interpreter(), "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def measure(
    name: str, setup: Setup, kills: int, seed: int, changes: tuple[str, ...] = CHANGES
) -> dict[str, Any]:
    """Returns the result of one loader."""
    entry = LOADERS[name]
    result: dict[str, Any] = {
        "benchmark": "benchmarks.elastic",
        "peer": name,
        "title": entry.title,
        "not_promised": entry.not_promised,
        "kills": kills,
    }
    try:
        result["version"] = _version(entry)
        runs = Runs(entry)
    except (LookupError, importlib.metadata.PackageNotFoundError) as error:
        _progress(f"{name}: absent: {error}")
        return {**result, "absent": str(error)}
    result["changes"] = {}
    try:
        for change in changes:
            verdicts = []
            for number in range(kills):
                draw = random.Random(f"{seed} {name} {change} {number}")
                large = entry.large and change == "world size" and number == 0
                trial = plan_trial(entry, change, setup, draw, large)
                verdict = runs.run(trial)
                verdicts.append(verdict)
                _progress(
                    f"{name}: {change}: kill {number + 1} of {kills}: {verdict.label}"
                    + (f" ({verdict.lost} lost, {verdict.repeated} again)" if verdict.lost else "")
                    + (f" {verdict.detail}" if verdict.detail else "")
                )
            result["changes"][change] = {
                **worst(verdicts).document(),
                "verdicts": [one.document() for one in verdicts],
            }
    finally:
        runs.close()
    return result


def main() -> int:
    """See the module's docstring; returns 1 if a kill has lost or repeated a promised sample."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.elastic", description=__doc__)
    parser.add_argument("loaders", nargs="*", metavar="LOADER", help=", ".join(LOADERS))
    parser.add_argument("--kills", type=int, default=4, help="for each kind of change (4)")
    parser.add_argument("--size", type=int, default=113, help="samples of a data set (113)")
    parser.add_argument("--seed", type=int, default=0, help="of the kills (0)")
    parser.add_argument("--changes", nargs="+", default=CHANGES, choices=CHANGES)
    parser.add_argument("--scale", action="store_true", help="also measure the reading plan")
    parser.add_argument(
        "--out", type=Path, help="the JSON file, for which results of other loaders stay"
    )
    options = parser.parse_args()
    for name in options.loaders:
        if not any(one.startswith(name) for one in LOADERS):
            parser.error(f"{name} is none of {', '.join(LOADERS)}")
    given = options.loaders or [""]
    chosen = [
        name
        for name in LOADERS
        if any(name == one or (one not in LOADERS and name.startswith(one)) for one in given)
    ]
    created = datetime.datetime.now(datetime.timezone.utc)
    document: dict[str, Any] = {
        "created": created.isoformat(timespec="seconds"),
        "settings": {"kills": options.kills, "size": options.size, "seed": options.seed},
        "results": [],
    }
    out = options.out or RESULTS / f"{created:%Y%m%dT%H%M%S}.json"
    out.parent.mkdir(parents=True, exist_ok=True)

    def write(results: list[dict[str, Any]]) -> None:
        document["results"] += results
        out.write_text(json.dumps(document, indent=1) + "\n")

    if out.exists():  # of other loaders
        kept = json.loads(out.read_text())["results"]
        document["results"] = [
            r for r in kept if r["peer"] not in chosen and not (options.scale and "axes" in r)
        ]
    with tempfile.TemporaryDirectory(prefix="elastic") as folder:
        data = Path(folder) / "data"
        _progress(f"writing {options.size} samples in each form")
        write_all(data, options.size)
        setup = Setup(str(data), options.size, 0, 1, 4, 1, seed=7)
        for name in chosen:
            changes = tuple(options.changes)
            write([measure(name, setup, options.kills, options.seed, changes)])
    if options.scale:
        write(reading_plan.measure())
    results = document["results"]
    _progress(f"wrote {out}")
    for table in (tables.elastic.elastic_table, tables.elastic.reading_plan_table):
        print(table(document), end="\n\n")
    broken = [
        (result["title"], change)
        for result in results
        for change, found in result.get("changes", {}).items()
        if found["label"] != "exact" and change not in result["not_promised"]
    ]
    for title, change in broken:
        _progress(f"not exact although promised: {title}, {change}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
