# SPDX-License-Identifier: Apache-2.0
"""Makes indexes of container files: ``python -m torchdali.index webdataset train-*.tar``.

An index says where the samples of a container are. Readers need one to read samples in any order.
They make those that are missing by themselves and keep them in the user's cache; files next to the
containers save every new machine that work.

The kinds of containers, and the tools of DALI that make the same files:

  webdataset   tar archives, for fn.readers.webdataset           wds2idx
  tfrecord     TFRecord files, for fn.readers.tfrecord           tfrecord2idx
  recordio     RecordIO files of MXNet, for fn.readers.mxnet     rec2idx

An index is written next to its container, under the container's name up to the first dot:
train-0.tar has train-0.idx. It appears when it is complete. Several containers are read at a time.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from torchdali._engine.extension import _C
from torchdali._storage.urls import is_remote
from torchdali.errors import TorchdaliError

__all__ = ["main", "make_indexes", "make_parser"]


def _index_name(path: str) -> str:
    """Returns the name of the index of a container; DALI's wds2idx has the same rule."""
    name = path.rstrip("/").rpartition("/")[2]
    dot = name.find(".", 1)  # the first character is a dot for hidden files
    return (name if dot < 0 else name[:dot]) + ".idx"


def _index_paths(paths: Sequence[str], output: str | None) -> list[Path]:
    """Returns where the index of each container goes."""
    if output is None:
        if remote := next(filter(is_remote, paths), None):
            raise ValueError(f"{remote} is remote: say with --output where its index goes")
        found = [Path(path.removeprefix("file://")).parent / _index_name(path) for path in paths]
    elif len(paths) > 1 or output.endswith("/") or Path(output).is_dir():
        found = [Path(output) / _index_name(path) for path in paths]
    else:
        found = [Path(output)]
    first: dict[Path, str] = {}
    for path, index in zip(paths, found, strict=True):
        if (other := first.setdefault(index, path)) != path:
            raise ValueError(
                f"{other} and {path} would both have the index {index}: make them one by one, "
                "with --output"
            )
    return found


def _write(path: Path, text: bytes) -> None:
    """Writes a file that appears as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def make_indexes(kind: str, paths: Sequence[str], output: str | None = None) -> list[Path]:
    """Makes the indexes of containers and writes them to files.

    Args:
        kind: "webdataset", "tfrecord" or "recordio".
        paths: the containers, as paths or URLs.
        output: a folder for the indexes; or the path of the index, if there is one container. By
            default each is written next to its container.

    Returns:
        The paths of the indexes.

    Raises:
        ValueError: there is no such kind, or it is not clear where an index goes.
        DataError: a container is damaged; nothing has been written.
        FileError: a container cannot be read.
        OSError: an index cannot be written.
    """
    indexes = _index_paths(paths, output)
    texts = _C.make_indexes(kind, [os.fsencode(path) for path in paths])
    for index, text in zip(indexes, texts, strict=True):
        _write(index, text)
    return indexes


def make_parser(prog: str, **more: str) -> argparse.ArgumentParser:
    """Returns the parser of the command.

    Args:
        prog: how it is called.
        more: further kinds, with a paragraph about each.
    """
    parser = argparse.ArgumentParser(
        prog=prog,
        description=f"{__doc__}{''.join(more.values())}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = [*_C.index_kinds(), *more]
    parser.add_argument("kind", choices=kinds, help="the kind of the files")
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a container; a path or a URL")
    parser.add_argument(
        "--output",
        metavar="DIR|FILE",
        help="folder for the indexes, or path of the index of a single container",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = make_parser("python -m torchdali.index").parse_args(arguments)
    try:
        for index in make_indexes(options.kind, options.paths, options.output):
            sys.stdout.write(f"{index}\n")
    except (OSError, TorchdaliError, ValueError) as error:
        sys.stderr.write(f"python -m torchdali.index: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("python -m torchdali.index: interrupted\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
