# SPDX-License-Identifier: Apache-2.0
"""Generates files from the registry: stubs of ``fn`` and ``ops``, and reference pages.

``python -m tools.docs.generate`` writes the files of this checkout. With ``--check`` it only lists
stale files, and fails if there are any.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.docs import missing_names, operator_states, reference
from tools.docs.gpu_record import PATH as RECORD_PATH
from tools.docs.gpu_record import Record
from tools.docs.modules import Modules
from tools.gpu_kernels import fingerprint
from torchdali._engine.schema import registry
from torchdali._stubs import KINDS, modules

__all__ = ["files", "main"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "torchdali"
_HEAD = "# Made by `make generate` from the engine's registry; do not edit."


def _stubs() -> Iterator[tuple[Path, str]]:
    for module in modules(registry().values()):
        yield PACKAGE / module.file, f"{_HEAD}\n{module.text}"


def files() -> dict[Path, str]:
    """Returns the paths and texts of all generated files."""
    folder = ROOT / "docs" / "reference"
    result = dict(_stubs())
    facts = json.loads((ROOT / "tests" / "data" / "dali_operators.json").read_text())
    result[folder / "operators.md"] = operator_states.page(
        facts, Record.read(ROOT / RECORD_PATH), fingerprint(ROOT / "csrc")
    )
    modules = Modules()
    result[folder / "README.md"] = reference.index_page(modules)
    result[folder / "missing_names.md"] = missing_names.page()
    for schema in registry().values():
        result[folder / "fn" / f"{schema.name}.md"] = reference.operator_page(schema)
    result[folder / "types.md"] = reference.types_page(modules)
    result |= {folder / name: text for name, text in modules.pages().items()}
    return result


def stale() -> list[Path]:
    """Returns the generated files that are missing, outdated or superfluous."""
    wanted = files()
    found = {file for kind in KINDS for file in (PACKAGE / kind).rglob("*.pyi")}
    found |= set((ROOT / "docs" / "reference").rglob("*.md"))
    differ = [p for p, text in wanted.items() if not p.exists() or p.read_text() != text]
    return sorted([*differ, *(found - wanted.keys())])


def main(arguments: list[str] | None = None) -> int:
    """Writes or checks the files; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only list stale files")
    options = parser.parse_args(arguments)
    outdated = stale()
    wanted = files()
    for path in outdated:
        sys.stdout.write(f"{'stale' if options.check else 'wrote'} {path.relative_to(ROOT)}\n")
        if options.check:
            continue
        if path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path])
        else:
            path.unlink()
    return 1 if options.check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
