# SPDX-License-Identifier: Apache-2.0
"""``torchdali index``: indexes of containers, and of the JPEG files in folders."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from torchdali import fn, index
from torchdali._cli.files import image_files
from torchdali._cli.progress import track
from torchdali.errors import FileError, _make
from torchdali.pipeline import Pipeline

__all__ = ["main"]

_BATCH = 64
_TEXT = """
  jpeg         JPEG files in folders: positions in them, for the decoders' argument `jpeg_index`,
               which make every epoch of random crops faster. --output is the file, or a folder for
               it; by default the first folder.
"""


def _index_jpegs(folders: Sequence[str], output: str | None, num_threads: int) -> int:
    """Decodes all JPEG files once; returns how many could not be decoded."""
    files = [str(p) for p in image_files(folders) if p.suffix.lower() in (".jpg", ".jpeg")]
    if not files:
        raise _make(FileError, f"there are no JPEG files in {', '.join(folders)}")
    pipe = Pipeline(
        batch_size=min(_BATCH, len(files)),
        num_threads=num_threads,
        device_id=None,
        jpeg_index=output or folders[0],
        on_error="replace",
        max_errors=len(files),
    )
    with pipe:
        encoded, _ = fn.readers.file(files=files)
        pipe.set_outputs(fn.decoders.image(encoded).shape())
    try:
        batches = range(0, len(files), pipe.max_batch_size)
        for _ in track(batches, f"reading {len(files)} files"):
            pipe.run()
        bad = pipe.errors
    finally:
        pipe.close()
    for sample in bad:
        sys.stdout.write(f"{sample.source}: {sample.message}\n")
    sys.stdout.write(f"{len(files) - len(bad)} of {len(files)} JPEG files are in the index\n")
    return len(bad)


def main(arguments: Sequence[str], prog: str) -> int:
    """Runs the command; returns its exit status."""
    parser = index.make_parser(prog, jpeg=_TEXT)
    parser.add_argument(
        "--num-threads", type=int, default=4, help="with jpeg: threads that decode; default: 4"
    )
    options: argparse.Namespace = parser.parse_args(arguments)
    if options.kind == "jpeg":
        return int(_index_jpegs(options.paths, options.output, options.num_threads) > 0)
    for made in index.make_indexes(options.kind, options.paths, options.output):
        sys.stdout.write(f"{made}\n")
    return 0
