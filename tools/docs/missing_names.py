# SPDX-License-Identifier: Apache-2.0
"""Renders the page of the names of DALI that are missing, for tools/docs/generate.py."""

from __future__ import annotations

from collections import defaultdict

from tools.docs.modules import MARK
from tools.docs.reference import cell
from torchdali._common.alternatives import REASONS
from torchdali._common.unsupported import missing

__all__ = ["page"]

_HEAD = """\
# Names of DALI that are missing

These are the public names of DALI that torchdali does not have, with what to use instead. Using one
raises an `UnsupportedError` with the same advice. The error is a `NotImplementedError` and an
`AttributeError`, or in an `import` a `ModuleNotFoundError`, so `hasattr` and `try` work as feature
tests. If a module is listed, all names in it are missing too. Missing arguments and features of
operators are on [the page of operators](operators.md).

`plugin_manager` and `backend.LoadLibrary` load libraries of operators that are compiled with the
headers of torchdali ([how](../guide/your_operators.md)), not those for DALI.
`GetCufftVersion`, `GetNppVersion` and `GetNvjpegVersion` of `backend`
return -1, as in DALI without these libraries."""


def page() -> str:
    """Returns the page: a table for each reason, a row for names with the same alternative."""
    groups: dict[str, dict[str, list[str]]] = {reason: defaultdict(list) for reason in REASONS}
    for path, instead in missing():
        groups[instead.reason][instead.fix].append(path)
    lines = [MARK, _HEAD]
    for reason, rows in groups.items():
        if not rows:
            continue
        heading, text = REASONS[reason]
        lines += ["", f"## {heading}", "", text, "", "| in `nvidia.dali` | instead |", "|---|---|"]
        for fix, paths in sorted(rows.items(), key=lambda row: min(row[1])):
            names = ", ".join(f"`{path}`" for path in sorted(paths))
            lines.append(f"| {names} | {cell(fix)} |")
    return "\n".join(lines) + "\n"
