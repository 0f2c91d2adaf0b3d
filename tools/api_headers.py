# SPDX-License-Identifier: Apache-2.0
"""The headers for users' operators: csrc/api, and the headers of csrc/core that it includes.

The build copies them to ``torchdali/include/torchdali``, side by side.
"""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["write"]

_INCLUDE = re.compile(r'^#include "(?:api|core)/(?:\w+/)*(\w+\.h)"', re.MULTILINE)
_OURS = re.compile(r'^#include "((?:api|core)/[\w/]+\.h)"', re.MULTILINE)


def write(csrc: Path, package: Path) -> None:
    """Writes the headers to the package; files that are up to date are not touched.

    Args:
        csrc: the folder of the sources.
        package: the folder of torchdali, in the source tree or in a wheel.
    """
    folder = package / "include" / "torchdali"
    folder.mkdir(parents=True, exist_ok=True)
    left = sorted(str(path.relative_to(csrc)) for path in (csrc / "api").glob("*.h"))
    written = set()
    while left:
        source = left.pop()
        text = (csrc / source).read_text()
        left += [name for name in _OURS.findall(text) if Path(name).name not in written]
        path = folder / Path(source).name
        written.add(path.name)
        text = _INCLUDE.sub(r'#include "torchdali/\1"', text)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path in folder.iterdir():
        if path.name not in written:
            path.unlink()
