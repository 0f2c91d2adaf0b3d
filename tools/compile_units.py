# SPDX-License-Identifier: Apache-2.0
"""Compiles source files of a folder together: most of their time goes to the headers they share.

A unit includes the files of a folder of UNITED, at most MOST of them. So a name in an anonymous
namespace is unique in its folder. docs/design/packaging.md has the times.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

UNITED = ("executor", "ops", "python")
MOST = 8
# Files with a pragma for the whole unit.
_ALONE = ("nanobind.cpp",)


def _units(sources: Iterable[str], csrc: Path) -> dict[str, list[str]]:
    """Returns the files of each unit, which is named; relative to ``csrc``."""
    units = {}
    for folder, group in itertools.groupby(sorted(sources), key=lambda name: Path(name).parent):
        files = [str(Path(name).relative_to(csrc)) for name in group]
        parts = folder.relative_to(csrc).parts
        together = [name for name in files if parts[0] in UNITED and not name.endswith(_ALONE)]
        count = -(-len(together) // MOST)
        for number in range(count):
            units["_".join([*parts, str(number)])] = together[number::count]
    return units


def unite(sources: list[str], csrc: Path, folder: Path) -> list[str]:
    """Writes units to ``folder``; returns them, and the sources that are in none.

    A unit whose text stays the same is not touched, so that it is not compiled again.

    Args:
        sources: paths below ``csrc``.
        csrc: the folder of the sources, as it is written in ``sources``.
        folder: of the units; others there are removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    units = _units(sources, csrc)
    in_units = {str(csrc / name) for files in units.values() for name in files}
    written = []
    for name, files in units.items():
        path = folder / f"{name}.cpp"
        text = "".join(f'#include "{file}"\n' for file in files)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        written.append(path)
    for path in folder.iterdir():
        if path not in written:
            path.unlink()
    return [*map(str, written), *(name for name in sources if name not in in_units)]
