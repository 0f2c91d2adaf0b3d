# SPDX-License-Identifier: Apache-2.0
"""Tar archives for tests, and pipelines of fn.readers.webdataset over them."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from torchdali import fn, pipeline_def

FORMATS = {
    "ustar": tarfile.USTAR_FORMAT,
    "gnu": tarfile.GNU_FORMAT,
    "pax": tarfile.PAX_FORMAT,
}
Entries = Mapping[str, bytes] | Iterable[tuple[str, bytes] | tarfile.TarInfo]


def write_tar(path: Path, entries: Entries, kind: str = "ustar") -> str:
    """Writes an archive of files and of entries without contents; returns its path."""
    with tarfile.open(path, "w", format=FORMATS[kind]) as archive:
        for entry in entries.items() if isinstance(entries, Mapping) else entries:
            if isinstance(entry, tarfile.TarInfo):
                archive.addfile(entry)
                continue
            info = tarfile.TarInfo(entry[0])
            info.size = len(entry[1])
            archive.addfile(info, io.BytesIO(entry[1]))
    return str(path)


def entry(name: str, kind: bytes, **fields: Any) -> tarfile.TarInfo:
    """Returns an entry without contents, such as a link."""
    info = tarfile.TarInfo(name)
    info.type = kind
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def header(name: str, size: int, kind: str = "ustar", **fields: Any) -> bytes:
    """Returns the header of a file, with those that precede it."""
    info = entry(name, tarfile.REGTYPE, size=size, **fields)
    return info.tobuf(FORMATS[kind])


def with_checksum(block: bytes) -> bytes:
    """Returns a header with the checksum that it should have."""
    empty = block[:148] + b" " * 8 + block[156:]
    return empty[:148] + b"%06o\0 " % sum(empty) + empty[156:]


def webdataset(
    paths: Any,
    ext: Any,
    batch_size: int = 1,
    num_threads: int = 2,
    on_error: str = "raise",
    **args: Any,
) -> Any:
    """Returns a built pipeline of one reader, named "tars"."""

    @pipeline_def(
        batch_size=batch_size, num_threads=num_threads, device_id=None, seed=7, on_error=on_error
    )
    def define():
        made = fn.readers.webdataset(paths=paths, ext=ext, name="tars", **args)
        return tuple(made) if isinstance(made, list | tuple) else made

    pipe = define()
    pipe.build()
    return pipe


def epoch(paths: Any, ext: Any, **args: Any) -> list[tuple[bytes, ...]]:
    """Returns the bytes of the outputs of each sample of an epoch."""
    pipe = webdataset(paths, ext, **args)
    samples = range(pipe.reader_meta("tars")["epoch_size"])
    return [tuple(out.at(0).tobytes() for out in pipe.run()) for _ in samples]
