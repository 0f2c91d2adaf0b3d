# SPDX-License-Identifier: Apache-2.0
"""Writes pictures in the formats of LitData and MosaicML Streaming, in their environment.

``python -m benchmarks.field.s3_data FORMAT FOLDER DATA``
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.pipelines.files import find_files

CHUNK_BYTES = 16 << 20


def litdata(folder: str, files: list[str]) -> None:
    """Writes chunks of LitData."""
    from litdata.streaming.writer import BinaryWriter

    writer = BinaryWriter(folder, chunk_bytes=CHUNK_BYTES)
    for number, file in enumerate(files):
        writer[number] = {"image": Path(file).read_bytes(), "class": number}
    writer.done()
    writer.merge()


def mosaicml(folder: str, files: list[str]) -> None:
    """Writes shards of MosaicML Streaming."""
    from streaming import MDSWriter

    columns = {"image": "bytes", "class": "int"}
    with MDSWriter(out=folder, columns=columns, size_limit=CHUNK_BYTES) as writer:
        for number, file in enumerate(files):
            writer.write({"image": Path(file).read_bytes(), "class": number})


def main() -> None:
    """See the module's docstring."""
    form, folder, data = sys.argv[1:]
    Path(folder).mkdir(parents=True)
    {"litdata": litdata, "mosaicml": mosaicml}[form](folder, find_files(data))


if __name__ == "__main__":
    main()
