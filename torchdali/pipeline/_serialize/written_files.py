# SPDX-License-Identifier: Apache-2.0
"""Which files an operator writes. A serialized pipeline may do that only if it is allowed to."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from torchdali.data_node import OpNode

__all__ = ["written_files"]


def _jpeg_index(path: Any) -> list[str]:
    return [] if path in ("", "memory", "cache") else [str(path)]


# Arguments that name a file that is written, of any operator.
_ARGUMENTS: dict[str, Callable[[Any], list[str]]] = {"jpeg_index": _jpeg_index}
# Operators that write to the working folder.
_OPERATORS = ("dump_image",)


def written_files(node: OpNode) -> list[str]:
    """Returns the paths of the files that an operator writes, or of the folders of such files."""
    paths = [os.curdir] if node.schema.name in _OPERATORS else []
    for name, find in _ARGUMENTS.items():
        if name in node.args:
            paths += find(node.args[name])
    return paths
