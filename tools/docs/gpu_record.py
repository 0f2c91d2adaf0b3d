# SPDX-License-Identifier: Apache-2.0
"""The record of the tests that passed on a GPU, written by `make test-gpu`.

tests/helpers/gpu_record.py writes the record; the generated page of operators shows it. This module
uses only the standard library, so that it also works on checkouts of other commits.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["NOT_RUN", "NO_KERNEL", "PATH", "Record", "fingerprint"]

PATH = Path("tests") / "gpu" / "ran_on_gpu.json"
NOT_RUN, NO_KERNEL = "compiled, not run", "no kernel"
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
# Matches comments; string and character literals are matched first and kept.
_COMMENT = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])')|//[^\n]*|/\*.*?\*/""", re.DOTALL)


@dataclass(frozen=True)
class Record:
    """One run of the CUDA tests."""

    how: str  # the command
    gpu: str
    torch: str
    cuda: str
    date: str
    commit: str
    kernels: str  # fingerprint() of the sources
    operators: dict[str, int]  # those that passed all of their tests -> number of tests

    @staticmethod
    def read(path: Path) -> Record | None:
        """Returns the record in a file, or None if there is no file."""
        return Record(**json.loads(path.read_text())) if path.exists() else None

    def write(self, path: Path) -> None:
        """Writes the file."""
        path.write_text(json.dumps(asdict(self), indent=1, sort_keys=False) + "\n")

    def state(self, operator: str, kernels: str) -> str:
        """Returns the state of an operator for the page; `kernels` is the current fingerprint."""
        if operator not in self.operators:
            return NOT_RUN
        text = f"{self.gpu}, {self.date}"
        return text if kernels == self.kernels else f"{text}, before kernels changed"


def fingerprint(csrc: Path) -> str:
    """Returns a hash of all sources that the kernels are compiled from.

    That is csrc/gpu/cuda and what it includes of csrc, without comments and white space.

    Args:
        csrc: the folder of the sources.
    """
    found: dict[str, str] = {}
    left = sorted(str(p.relative_to(csrc)) for p in (csrc / "gpu" / "cuda").iterdir())
    while left:
        name = left.pop()
        if name in found:
            continue
        text = (csrc / name).read_text()
        found[name] = "".join(_COMMENT.sub(r"\1", text).split())
        left += [include for include in _INCLUDE.findall(text) if (csrc / include).exists()]
    whole = "\n".join(f"{name}\n{text}" for name, text in sorted(found.items()))
    return hashlib.sha256(whole.encode()).hexdigest()[:16]
