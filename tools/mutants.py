# SPDX-License-Identifier: Apache-2.0
"""Puts small faults into the engine and the package, one at a time, and looks who notices.

    python tools/mutants.py                    # all of them, over this checkout
    python tools/mutants.py --tree ../other    # over another one
    python tools/mutants.py --check            # only: do they all apply?
    python tools/mutants.py --compare old.json # which were found there, and are not found here?

mutants_engine.py and mutants_python.py list the faults. They are written into one copy of the tree,
in build/mutants, which is compiled once; the environment variable TORCHDALI_MUTANT switches one on.
A fault is *killed* if a test fails, crashes or exceeds its time. First the tests run that should
notice, then all others, up to the first failure; that test is then run again by itself, so that a
chance failure does not count. Tests that fail in the copy without a fault are left out.

Results go to build/mutants/results.json and .md after each fault, and a second call goes on where
the first one ended (``--again`` starts over).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import tree_copy
from mutant_runs import Runner
from mutant_sources import HEADER, HEADER_TEXT, Mutant, changed_texts, locate_all
from mutants_engine import ENGINE
from mutants_python import PYTHON

MUTANTS = [*ENGINE, *PYTHON]
SECONDS_FOR_ALL = 3 * 3600
ATTEMPTS = 3  # to see a failure again


def relevant(mutant: Mutant, tests: Path) -> list[str]:
    """Returns the test files that should notice a mutant, relative to the tree."""
    found = {p for pattern in mutant.tests.split() for p in tests.rglob(f"**/{pattern}")}
    files = [p for p in found if p.name.startswith("test_") and p.suffix == ".py"]
    return sorted(str(p.relative_to(tests.parent)) for p in files)


class Session:
    """The results so far, and what is needed to get more."""

    def __init__(self, runner: Runner, results: Path, again: bool) -> None:
        self.runner = runner
        self.path = results
        self.data: dict[str, Any] = {"mutants": {}}
        if results.exists() and not again:
            self.data = json.loads(results.read_text())

    def save(self) -> None:
        """Writes results.json and results.md."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.data, indent=1))
        self.path.with_suffix(".md").write_text(table(self.data))

    @property
    def left_out(self) -> list[str]:
        """Tests that fail without a mutant."""
        return list(self.data["baseline"]["failed"])

    def ensure_baseline(self) -> None:
        """Runs all tests without a mutant, and notes which fail."""
        if "baseline" in self.data:
            return
        print("mutants: all tests without a fault", flush=True)
        outcome = self.runner.run(0, [], [], first=False)
        if outcome.hung or outcome.status not in (0, 1):
            raise SystemExit(f"mutants: pytest gave {outcome.status}; see pytest.log")
        failed = sorted({failure.test for failure in outcome.failures})
        self.data["baseline"] = {
            "failed": failed,
            "count": outcome.count,
            "seconds": round(outcome.seconds),
        }
        print(f"mutants: {outcome.count}; without {failed}", flush=True)
        self.save()

    def judge(self, mutant: Mutant) -> dict[str, Any]:
        """Returns whether a mutant is killed, by which test and in what time."""
        start = time.monotonic()
        files = relevant(mutant, self.runner.copy / "tests")
        result: dict[str, Any] = {"status": "survived", "by": "", "why": ""}
        left_out = self.left_out
        stages = [("relevant", files, [])] if files else []
        for stage, paths, ignored in [*stages, ("rest", [], files)]:
            killer = self._killer(mutant, paths, ignored, left_out)
            if killer is not None:
                result = {"status": "killed", "stage": stage, **killer}
                break
        result["seconds"] = round(time.monotonic() - start)
        result["flaky"] = left_out[len(self.left_out) :]
        return result

    def _killer(
        self, mutant: Mutant, paths: list[str], ignored: list[str], left_out: list[str]
    ) -> dict[str, str] | None:
        """Returns which of some tests notices; adds those that fail by chance to `left_out`."""
        while True:
            outcome = self.runner.run(mutant.number, paths, left_out, ignored=ignored)
            if outcome.passed:
                return None
            if outcome.hung:
                return {"by": "", "why": "hang: no progress"}
            if not outcome.failures:
                return {"by": "", "why": f"pytest ended with {outcome.status}"}
            for failure in outcome.failures:
                if self._fails_again(mutant, failure.test):
                    return {"by": failure.test, "why": failure.why}
            left_out += [failure.test for failure in outcome.failures]

    def _fails_again(self, mutant: Mutant, test: str) -> bool:
        """Runs a test that has failed by itself, some times."""
        if "::" not in test:  # a file that cannot be imported
            return True
        for _ in range(ATTEMPTS):
            again = self.runner.run(mutant.number, [test], [], jobs=0)
            if not again.passed:
                return True
        return False


def describe(outcome: dict[str, Any]) -> str:
    """Returns a result in a few words."""
    by = outcome.get("by") or outcome.get("why", "")
    return f"{outcome['status']} by {by}" if outcome["status"] == "killed" else outcome["status"]


def table(data: dict[str, Any]) -> str:
    """Returns the results as Markdown."""
    results = data["mutants"]
    states = Counter(r["status"] for r in results.values())
    total = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    lines = [f"{len(results)} mutants of {data.get('commit', '?')}: {total}.", ""]
    lines += ["| | area | fault | result | noticed by | s |", "|---:|---|---|---|---|---:|"]
    for mutant in MUTANTS:
        result = results.get(str(mutant.number))
        if result is None:
            continue
        by = result.get("by") or result.get("why", "")
        cells = [str(mutant.number), mutant.area, mutant.note, result["status"], f"`{by[:120]}`"]
        cells.append(str(result.get("seconds", "")))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def compare(old: dict[str, Any], new: dict[str, Any]) -> int:
    """Prints what differs between two results; returns 1 where something is no longer found."""
    lost = 0
    for mutant in MUTANTS:
        before, after = (d["mutants"].get(str(mutant.number), {}) for d in (old, new))
        if before.get("status") == after.get("status"):
            continue
        lost += before.get("status") == "killed" and after.get("status") != "killed"
        print(
            f"{mutant.number:4} {mutant.area}: {mutant.note}: {before.get('status', 'not run')} "
            f"-> {after.get('status', 'not run')} (before: {before.get('by', '')})"
        )
    print(f"{lost} mutants are no longer killed")
    return 1 if lost else 0


def arguments() -> argparse.Namespace:
    """Returns the options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    tree_copy.add_arguments(parser)
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one test")
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="these mutants")
    parser.add_argument("--area", help="the mutants of one area")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    parser.add_argument("--check", action="store_true", help="only say which mutants apply")
    options = parser.parse_args()
    tree_copy.complete(options, "mutants")
    return options


def run_all(options: argparse.Namespace, chosen: list[Mutant]) -> int:
    """Builds the copy and judges mutants; returns how many do not apply."""
    sites, missing, texts = locate_all(options.tree, MUTANTS)
    for mutant in chosen:
        if mutant.number in missing:
            print(f"{mutant.number:4} {mutant.area}: DOES NOT APPLY: {missing[mutant.number]}")
        elif options.check:
            files = relevant(mutant, options.tree / "tests")
            where = sites[mutant.number].path.relative_to(options.tree)
            print(f"{mutant.number:4} {where}: {mutant.note}; {len(files)} test files")
    if options.check:
        return len(missing)
    copy = options.build / "tree"
    added = {Path("csrc", HEADER): HEADER_TEXT}
    tree_copy.update(copy, options.tree, changed_texts(sites, texts), added)
    tree_copy.build(copy, options.python, options.jobs, {"TORCHDALI_MUTANT": "0"})
    runner = Runner(
        copy,
        options.build / "runs",
        options.python,
        options.jobs,
        options.timeout,
        SECONDS_FOR_ALL,
    )
    session = Session(runner, options.out, options.again)
    session.data["commit"] = tree_copy.commit_of(options.tree)
    session.ensure_baseline()
    for mutant in chosen:
        key = str(mutant.number)
        known = session.data["mutants"].get(key, {}).get("status")
        if mutant.number in missing:
            session.data["mutants"][key] = {"status": "gone", "why": missing[mutant.number]}
        elif known in (None, "gone"):
            result = session.judge(mutant)
            session.data["mutants"][key] = result
            print(f"{key:>4} {mutant.area}: {mutant.note}: {describe(result)}", flush=True)
        session.save()
    print(table(session.data).splitlines()[0])
    return len(missing)


def main() -> int:
    """See the module's docstring."""
    options = arguments()
    chosen = [
        m
        for m in MUTANTS
        if (not options.only or m.number in options.only)
        and (not options.area or m.area == options.area)
    ]
    if options.compare:
        old, new = (json.loads(path.read_text()) for path in (options.compare, options.out))
        return compare(old, new)
    return 1 if run_all(options, chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
