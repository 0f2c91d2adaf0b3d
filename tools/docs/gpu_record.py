# SPDX-License-Identifier: Apache-2.0
"""The record of the tests that passed on a GPU, written by `make test-gpu`.

tests/helpers/gpu_record.py writes the record; the generated page of operators shows it. This module
uses only the standard library, so that it also works on checkouts of other commits.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["NOT_RUN", "NO_KERNEL", "PATH", "Record"]

PATH = Path("tests") / "gpu" / "ran_on_gpu.json"
NOT_RUN, NO_KERNEL = "compiled, not run", "no kernel"


@dataclass(frozen=True)
class Record:
    """One run of the CUDA tests."""

    how: str  # the command
    gpu: str
    torch: str
    cuda: str
    date: str
    commit: str
    kernels: str  # fingerprint of the sources (tools/gpu_kernels.py)
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
