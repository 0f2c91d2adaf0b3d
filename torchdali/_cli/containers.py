# SPDX-License-Identifier: Apache-2.0
"""Indexes of containers, which find those that are damaged."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from torchdali._cli.progress import track
from torchdali._engine.extension import _C
from torchdali.errors import TorchdaliError

__all__ = ["read_indexes"]


def read_indexes(kind: str, paths: Sequence[Path]) -> Iterator[tuple[Path, bytes | str]]:
    """Yields each container with its index as bytes; or with what is wrong with it, as text.

    All are read at once, for which the engine shows its progress; one by one only if some are bad.

    Args:
        kind: "webdataset", "tfrecord" or "recordio".
        paths: the containers.
    """
    names = [os.fsencode(path) for path in paths]
    try:
        yield from zip(paths, _C.make_indexes(kind, names) if names else (), strict=True)
        return
    except (TorchdaliError, OSError):
        pass
    for path, name in track(list(zip(paths, names, strict=True)), f"looking for bad {kind} files"):
        try:
            (index,) = _C.make_indexes(kind, [name])
        except (TorchdaliError, OSError) as error:
            text = getattr(error, "_message", "") or str(error)
            yield path, text.removeprefix(f'"{path}": ')
        else:
            yield path, index
