# SPDX-License-Identifier: Apache-2.0
"""Making the index of a container of 10 GB, which is a sparse file with headers only.

Records have 114,660 bytes, as those of MLPerf Storage's ResNet-50. DALI's tools run in their own
Python without the start of the process. Axes: ``container``.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PEERS = ["torchdali", "dali"]
TOTAL_BYTES = 10_000_000_000
RECORD_BYTES = 114_660


def duration(measured: dict[str, float]) -> dict[str, float]:
    """Metrics: seconds for an index."""
    return {"s_per_index": measured["wall_s"] / measured["batches"]}


def write_tar(path: Path) -> None:
    """Writes a sparse archive of one file per sample."""
    block = tarfile.BLOCKSIZE
    step = block + -(-RECORD_BYTES // block) * block
    count = TOTAL_BYTES // step
    with path.open("wb") as file:
        for number in range(count):
            info = tarfile.TarInfo(f"{number:08}.jpg")
            info.size = RECORD_BYTES
            file.seek(number * step)
            file.write(info.tobuf(tarfile.USTAR_FORMAT))
        file.truncate(count * step + 2 * block)


def wds2idx(path: Path, index: Path) -> None:
    """Runs DALI's tool."""
    import wds2idx

    with wds2idx.IndexCreator(str(path), str(index), verbose=False) as creator:
        creator.create_index()


# Container -> function that writes one, and DALI's tool for its index.
CONTAINERS: dict[str, tuple[Callable[[Path], None], Callable[[Path, Path], None]]] = {
    "webdataset": (write_tar, wds2idx),
}


def make(peer: str, axes: dict[str, Any]) -> Callable[[], tuple[int, float]]:
    """Returns a function that makes an index and returns the time that it took."""
    write, tool = CONTAINERS[axes["container"]]
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    path, index = Path(folder, "container.tar"), Path(folder, "index")
    write(path)
    if peer == "torchdali":
        from torchdali.index import make_indexes

        os.environ["TORCHDALI_PROGRESS"] = "0"

    def step() -> tuple[int, float]:
        start = time.perf_counter()
        if peer == "torchdali":
            make_indexes(axes["container"], [str(path)], str(index))
        else:
            tool(path, index)
        lasted = time.perf_counter() - start
        assert index.stat().st_size > 0
        return 1, lasted

    return step
