# SPDX-License-Identifier: Apache-2.0
"""Puts small faults into the engine and the package, one at a time, and reports which tests fail.

    python tools/mutants.py                    # all of them, over this checkout
    python tools/mutants.py --tree ../other    # over another one
    python tools/mutants.py --check            # only locate them
    python tools/mutants.py --compare old.json # found by the tests there, and not here

mutants_engine.py and mutants_python.py list the faults. They are written into one copy of the tree,
in build/mutants, which is compiled once; a variable in the environment switches one of them on.

First, all tests run without a fault. This shows which of them fail in the copy (they are left out)
and which of them reach the code of each fault. Then, for each fault, the tests that reach it run up
to the first failure: first those of the files that are expected to fail, then the others, and last
the other tests of the same files, because the tests of one file may share state. A fault is
*killed* if a test fails, crashes or times out, and does so again when it runs alone. It has
*survived* if all tests pass, and is *not reached* if no test runs its code.

Results go to build/mutants/results.json and .md after each fault. A second call over the same
commit continues where the first one ended (``--again`` starts over).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import tree_copy
from mutant_runs import Runner
from mutant_sources import (
    HEADER,
    HEADER_TEXT,
    MODULE,
    MODULE_TEXT,
    Mutant,
    changed_texts,
    locate_all,
)
from mutants_engine import ENGINE
from mutants_python import PYTHON

MUTANTS = [*ENGINE, *PYTHON]
SECONDS_FOR_ALL = 4 * 3600
ATTEMPTS = 3  # to see a failure again


class Session:
    """The results so far, and what is needed to get more."""

    def __init__(self, runner: Runner, results: Path, commit: str, again: bool) -> None:
        self._runner = runner
        self._path = results
        self._baseline = results.with_suffix(".baseline.json")
        self.data: dict[str, Any] = {"commit": commit, "mutants": {}}
        if results.exists() and not again:
            found = json.loads(results.read_text())
            if found.get("commit") == commit:
                self.data = found
            else:
                print(f"mutants: the results of {found.get('commit')} are replaced")
        self._tests: list[dict[str, Any]] = []  # what each test reaches, the quickest test first

    @property
    def mutants(self) -> dict[str, dict[str, Any]]:
        """The results by number."""
        results: dict[str, dict[str, Any]] = self.data["mutants"]
        return results

    def save(self) -> None:
        """Writes the results as JSON and as Markdown."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self.data, indent=1))
        self._path.with_suffix(".md").write_text(table(self.data))

    def ensure_baseline(self) -> None:
        """Runs all tests without a mutant, where that was not done."""
        if "baseline" not in self.data:
            print("mutants: all tests without a fault", flush=True)
            outcome, found = self._runner.run_all([])
            if outcome.hung or outcome.status not in (0, 1):
                raise SystemExit(f"mutants: pytest gave {outcome.status}; see pytest.log")
            failed = sorted({failure.test for failure in outcome.failures})
            self.data["baseline"] = {"failed": failed, "count": outcome.count}
            print(f"mutants: {outcome.count}; left out: {failed}", flush=True)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._baseline.write_text(json.dumps(found))
            self.save()
        left_out = set(self.data["baseline"]["failed"])
        tests = json.loads(self._baseline.read_text())
        tests = [t for t in tests if t["test"] not in left_out]
        self._tests = sorted(tests, key=lambda t: (t["seconds"], t["test"]))

    def judge(self, mutant: Mutant) -> dict[str, Any]:
        """Returns whether a mutant is killed, by which test and in what time."""
        start = time.monotonic()
        stages = self._stages(mutant)
        reaching = len(stages["hinted"]) + len(stages["reaching"])
        result: dict[str, Any] = {"status": "survived" if reaching else "not reached"}
        flaky: list[str] = []
        for stage, tests in stages.items():
            killer = self._killer(mutant, tests, flaky)
            if killer is not None:
                result = {"status": "killed", "stage": stage, **killer}
                break
        result |= {"seconds": round(time.monotonic() - start), "reaching": reaching}
        return result | ({"flaky": flaky} if flaky else {})

    def _stages(self, mutant: Mutant) -> dict[str, list[str]]:
        """Returns the tests to run one after the other."""
        everywhere = any(not t["test"] and mutant.number in t["reached"] for t in self._tests)
        tests = [t for t in self._tests if t["test"]]
        reaching = [t["test"] for t in tests if everywhere or mutant.number in t["reached"]]
        files = {file_of(test) for test in reaching}
        known = set(reaching)
        return {
            "hinted": [test for test in reaching if is_hinted(mutant, test)],
            "reaching": [test for test in reaching if not is_hinted(mutant, test)],
            "same files": [
                t["test"] for t in tests if file_of(t["test"]) in files and t["test"] not in known
            ],
        }

    def _killer(self, mutant: Mutant, tests: list[str], flaky: list[str]) -> dict[str, str] | None:
        """Returns which of some tests notices; adds those that fail by chance to `flaky`."""
        while left := [test for test in tests if test not in flaky]:
            outcome = self._runner.run_first(mutant.number, left)
            if outcome.passed:
                return None
            if outcome.hung:
                return {"by": "", "why": "hang: no progress"}
            if not outcome.failures:
                return {"by": "", "why": f"pytest ended with {outcome.status}"}
            for failure in outcome.failures:
                if self._fails_again(mutant, failure.test):
                    return {"by": failure.test, "why": failure.why}
            flaky += [failure.test for failure in outcome.failures]
        return None

    def _fails_again(self, mutant: Mutant, test: str) -> bool:
        """Runs a test that has failed by itself, some times."""
        if "::" not in test:  # a file that cannot be imported
            return True
        attempts = (self._runner.run_one(mutant.number, test) for _ in range(ATTEMPTS))
        return any(not outcome.passed for outcome in attempts)


def file_of(test: str) -> str:
    """Returns the file of a test."""
    return test.partition("::")[0]


def is_hinted(mutant: Mutant, test: str) -> bool:
    """Returns whether a test is in one of the files that should notice a mutant."""
    return any(fnmatch(file_of(test), f"*/{pattern}") for pattern in mutant.tests.split())


def describe(result: dict[str, Any]) -> str:
    """Returns a result in a few words."""
    by = result.get("by") or result.get("why", "")
    return f"{result['status']} by {by}" if result["status"] == "killed" else result["status"]


def table(data: dict[str, Any]) -> str:
    """Returns the results as Markdown."""
    results = data["mutants"]
    states = Counter(r["status"] for r in results.values())
    total = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    lines = [f"{len(results)} mutants of {data['commit']}: {total}.", ""]
    lines += ["| | area | fault | result | noticed by | reached by | s |"]
    lines += ["|---:|---|---|---|---|---:|---:|"]
    for mutant in MUTANTS:
        result = results.get(str(mutant.number))
        if result is None:
            continue
        by = result.get("by") or result.get("why", "")
        cells = [str(mutant.number), mutant.area, mutant.note, result["status"]]
        cells += [f"`{by[:120]}`" if by else ""]
        cells += [str(result.get(key, "")) for key in ("reaching", "seconds")]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def compare(old: dict[str, Any], new: dict[str, Any]) -> int:
    """Prints what differs between two results; returns 1 where something is no longer killed."""
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


def check(options: argparse.Namespace, chosen: list[Mutant]) -> int:
    """Prints which mutants apply; returns how many do not."""
    sites, missing, _ = locate_all(options.tree, chosen)
    for mutant in chosen:
        if mutant.number in missing:
            print(f"{mutant.number:4} {mutant.area}: DOES NOT APPLY: {missing[mutant.number]}")
        else:
            where = sites[mutant.number].path.relative_to(options.tree)
            print(f"{mutant.number:4} {where}: {mutant.note}")
    return len(missing)


def run_all(options: argparse.Namespace, chosen: list[Mutant]) -> int:
    """Builds the copy and judges mutants; returns how many do not apply."""
    sites, missing, texts = locate_all(options.tree, MUTANTS)
    added = {Path("csrc", HEADER): HEADER_TEXT, Path(MODULE): MODULE_TEXT}
    copy = options.build / "tree"
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
    session = Session(runner, options.out, tree_copy.commit_of(options.tree), options.again)
    session.ensure_baseline()
    for mutant in chosen:
        key = str(mutant.number)
        known = session.mutants.get(key, {}).get("status")
        if mutant.number in missing:
            session.mutants[key] = {"status": "does not apply", "why": missing[mutant.number]}
        elif known in (None, "does not apply") or mutant.number in (options.only or ()):
            session.mutants[key] = result = session.judge(mutant)
            print(f"{key:>4} {mutant.area}: {mutant.note}: {describe(result)}", flush=True)
        session.save()
    print(table(session.data).splitlines()[0])
    return sum(mutant.number in missing for mutant in chosen)


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


def main() -> int:
    """See the module's docstring."""
    options = arguments()
    chosen = [
        mutant
        for mutant in MUTANTS
        if (not options.only or mutant.number in options.only)
        and (not options.area or mutant.area == options.area)
    ]
    if options.compare:
        old, new = (json.loads(path.read_text()) for path in (options.compare, options.out))
        return compare(old, new)
    return 1 if (check if options.check else run_all)(options, chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
