# SPDX-License-Identifier: Apache-2.0
"""The files of folders and of tar archives, as parts of files with a class."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from torchdali._cli.containers import read_indexes
from torchdali._cli.files import HEAD_BYTES, IMAGES, format_of, kind_of_name, walk
from torchdali._cli.progress import track

__all__ = ["Entry", "Listing", "listing"]

_MAX_LABEL_BYTES = 64
_LABELS = (".cls", ".label")


@dataclass(frozen=True)
class Entry:
    """A file, in a folder or in an archive.

    Attributes:
        name: for messages.
        path: of the file, or of the archive.
        offset: where it begins in that.
        size: in bytes.
        kind: what it is by its name.
        head: its first bytes.
    """

    name: str
    path: Path
    offset: int
    size: int
    kind: str
    head: bytes

    def read(self) -> bytes:
        """Returns the content.

        Raises:
            OSError: it cannot be read.
        """
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            return file.read(self.size)

    @property
    def is_image(self) -> bool:
        """Whether it is an image by its name."""
        return self.kind in IMAGES.values()

    @property
    def actual(self) -> str:
        """What it is by its first bytes, by its name if they do not tell."""
        return format_of(self.head) or self.kind


@dataclass
class Listing:
    """What is in folders and archives.

    Attributes:
        entries: the files.
        classes: name of each class -> how many samples it has; empty if there are no classes.
        bad: names of files that cannot be read, and why.
        archives: the tar archives.
    """

    entries: list[Entry]
    classes: dict[str, int]
    bad: list[tuple[str, str]]
    archives: list[Path]


def _of_archive(path: Path, found: Listing) -> Iterator[None]:
    """Adds the files of an archive; yields after each."""
    found.archives.append(path)
    try:
        with tarfile.open(path, "r:") as archive, open(path, "rb") as file:
            for member in archive:
                if not member.isreg():
                    continue
                file.seek(member.offset_data)
                head = file.read(min(member.size, _MAX_LABEL_BYTES))
                name = Path(member.name)
                place = (path, member.offset_data, member.size)
                found.entries.append(
                    Entry(f"{path}: {name}", *place, kind_of_name(name), head[:HEAD_BYTES])
                )
                if name.suffix in _LABELS:
                    label = head.decode(errors="replace").strip()
                    found.classes[label] = found.classes.get(label, 0) + 1
                yield
    except (tarfile.TarError, OSError) as error:
        found.bad.append((str(path), f"not a tar archive: {error}"))


def _of_file(path: Path, root: Path, found: Listing) -> None:
    kind = kind_of_name(path)
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
        size = path.stat().st_size
    except OSError as error:
        found.bad.append((str(path), str(error.strerror)))
        return
    entry = Entry(str(path), path, 0, size, kind, head)
    found.entries.append(entry)
    parts = path.relative_to(root).parts if path != root else ()
    if entry.is_image and len(parts) > 1:  # as fn.readers.file: one folder for each class
        found.classes[parts[0]] = found.classes.get(parts[0], 0) + 1


def listing(paths: Iterable[str]) -> Listing:
    """Returns what is in folders and archives.

    Raises:
        FileNotFoundError: there is no such file or folder.
    """
    found = Listing([], {}, [], [])

    def add(path: str) -> Iterator[None]:
        for file in walk([path]):
            if kind_of_name(file) == "tar archive":
                yield from _of_archive(file, found)
            else:
                _of_file(file, Path(path), found)
                yield

    for path in paths:
        for _ in track(add(path), f"listing {path}"):
            pass
    unread = {name for name, _ in found.bad}
    archives = [path for path in found.archives if str(path) not in unread]
    for archive, index in read_indexes("webdataset", archives):  # finds those that are cut off
        if isinstance(index, str):
            found.bad.append((str(archive), index))
    return found
