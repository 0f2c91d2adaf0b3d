# SPDX-License-Identifier: Apache-2.0
"""What ran on a GPU: the record that `make test-gpu` leaves, and whether it still holds.

tests/helpers/gpu_record.py writes it, the generated page of operators says it. Standard library
only: it is used on checkouts of other commits too.
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
# Strings and characters stay; comments go.
_COMMENT = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])')|//[^\n]*|/\*.*?\*/""", re.DOTALL)


@dataclass(frozen=True)
class Record:
    """One run of the CUDA tests."""

    how: str  # it came about
    gpu: str
    torch: str
    cuda: str
    date: str
    commit: str
    kernels: str  # fingerprint() of them
    operators: dict[str, int]  # that passed all of their tests on the GPU, and how many those are

    @staticmethod
    def read(path: Path) -> Record | None:
        """Returns what the file says; None where there is none."""
        return Record(**json.loads(path.read_text())) if path.exists() else None

    def write(self, path: Path) -> None:
        """Writes the file."""
        path.write_text(json.dumps(asdict(self), indent=1, sort_keys=False) + "\n")

    def state(self, operator: str, kernels: str) -> str:
        """Returns what the page says of an operator, whose kernels have a fingerprint now."""
        if operator not in self.operators:
            return NOT_RUN
        text = f"{self.gpu}, {self.date}"
        return text if kernels == self.kernels else f"{text}, before kernels changed"


def fingerprint(csrc: Path) -> str:
    """Returns a hash of all that the kernels are compiled from.

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
