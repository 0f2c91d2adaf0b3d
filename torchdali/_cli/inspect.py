# SPDX-License-Identifier: Apache-2.0
"""``torchdali inspect``: what is in a folder or in shards, and which files are bad."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from torchdali import fn, types
from torchdali._cli import sheet
from torchdali._cli.progress import track
from torchdali._cli.records import describe_records
from torchdali._cli.samples import Entry, Listing, listing
from torchdali._common.figures import byte_size
from torchdali.pipeline import Pipeline

__all__ = ["main"]

_BATCH = 32
_SHOWN = 10  # bad files and classes
_PICTURES = 48


@dataclasses.dataclass
class _Decoded:
    """What decoding the images has shown.

    Attributes:
        shapes: height, width and channels of the images that are good.
        bad: names of the others, and why.
        pictures: some of the good ones.
    """

    shapes: list[tuple[int, ...]]
    bad: list[tuple[str, str]]
    pictures: list[sheet.Picture]


def _decode(images: Sequence[Entry], num_threads: int) -> _Decoded:
    """Decodes images."""
    found = _Decoded([], [], [])
    if not images:
        return found
    batch_size = min(_BATCH, len(images))

    def source(info: types.SampleInfo) -> tuple[Any, Any]:
        number = min(info.idx_in_epoch, len(images) - 1)
        return np.frombuffer(images[number].read(), np.uint8), np.array([number])

    pipe = Pipeline(
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=None,
        on_error="skip",
        max_errors=len(images) + batch_size,
    )
    with pipe:
        encoded, number = fn.external_source(source, num_outputs=2, batch=False)
        image = fn.decoders.image(encoded, output_type=types.RGB)
        small = fn.resize(image, resize_longer=sheet.PIXELS)
        pipe.set_outputs(number, fn.peek_image_shape(encoded), small)
    step = max(1, len(images) // _PICTURES)
    root = os.path.commonpath([os.path.dirname(entry.name) for entry in images])
    seen: set[int] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the bad files are listed below
        for _ in track(range(0, len(images), batch_size), f"decoding {len(images)} images"):
            for index, shape, pixels in zip(*pipe.run(), strict=True):
                i = int(np.asarray(index)[0])
                if i in seen:
                    continue
                seen.add(i)
                found.shapes.append(tuple(int(extent) for extent in np.asarray(shape)))
                if i % step == 0:
                    name = os.path.relpath(images[i].name, root or ".")
                    one = sheet.picture(pixels.as_torch(), "HWC", name)
                    found.pictures += [one] if one else []
    for error in pipe.errors:
        i = error.batch * batch_size + error.sample
        if i < len(images):
            found.bad.append((images[i].name, error.message))
    pipe.close()
    return found


def _files_text(found: Listing) -> str:
    count, size = Counter[str](), Counter[str]()
    for entry in found.entries:
        count[entry.actual] += 1
        size[entry.actual] += entry.size
    lines = [f"{len(found.entries)} files, {byte_size(sum(size.values()))}"]
    if found.archives:
        lines[0] += f", in {len(found.archives)} tar archives"
    lines += [f"  {n:>8}  {byte_size(size[kind]):>8}  {kind}" for kind, n in count.most_common()]
    return "\n".join(lines)


def _classes_text(classes: dict[str, int]) -> str:
    counts = sorted(classes.values())
    middle = counts[len(counts) // 2]
    lines = [f"{len(counts)} classes; {counts[0]} to {counts[-1]} samples, median {middle}"]
    ranked = sorted(classes.items(), key=lambda item: (-item[1], item[0]))
    cut = len(ranked) > 2 * _SHOWN
    shown = [*ranked[:_SHOWN], ("...", 0), *ranked[-_SHOWN:]] if cut else ranked
    lines += [f"  {count or '':>8}  {name}" for name, count in shown]
    if counts[-1] > 10 * counts[0]:
        lines.append("  the largest class has more than ten times as many samples as the smallest")
    return "\n".join(lines)


def _range(values: Sequence[int]) -> str:
    ordered = sorted(values)
    return f"{ordered[0]} to {ordered[-1]}, median {ordered[len(ordered) // 2]}"


def _images_text(decoded: _Decoded) -> str:
    shapes = decoded.shapes
    lines = [f"{len(shapes)} images decoded"]
    if shapes:
        lines += [
            f"  height    {_range([shape[0] for shape in shapes])}",
            f"  width     {_range([shape[1] for shape in shapes])}",
            "  channels  "
            + ", ".join(f"{c}: {n}" for c, n in Counter(s[-1] for s in shapes).most_common()),
        ]
    return "\n".join(lines)


def _list_text(title: str, entries: Sequence[tuple[str, str]], most: int | None) -> str:
    lines = [f"{title}: {len(entries)}", *(f"  {name}: {why}" for name, why in entries[:most])]
    if most is not None and len(entries) > most:
        lines.append(f"  ... {len(entries) - most} more; --all lists them")
    return "\n".join(lines)


def main(arguments: Sequence[str], prog: str) -> int:
    """Runs the command; returns its exit status: 1 if there are bad files."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Says what is in folders and tar archives: formats, sizes, classes (one folder "
        "each, or .cls files of webdataset), features of TFRecord files, annotations of COCO. "
        "Decodes the images and lists those that are bad; the exit status is 1 if there are any.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a folder, a file or an archive")
    parser.add_argument("--out", metavar="FILE", help="report.html, or sheet.png: pictures only")
    parser.add_argument("--limit", type=int, metavar="N", help="decode N images, evenly spread")
    parser.add_argument("--all", action="store_true", help="list all bad files")
    parser.add_argument("--num-threads", type=int, default=4, help="that decode; default: 4")
    options = parser.parse_args(arguments)
    found = listing(options.paths)
    images = [entry for entry in found.entries if entry.is_image]
    if options.limit is not None and 0 <= options.limit < len(images):
        images = [images[i * len(images) // options.limit] for i in range(options.limit)]
    decoded = _decode(images, options.num_threads)
    records, bad_records = describe_records(found.entries)
    bad = found.bad + bad_records + decoded.bad
    misnamed = [
        (e.name, f"is {e.actual}") for e in found.entries if e.is_image and e.actual != e.kind
    ]
    most = None if options.all else _SHOWN
    parts: list[tuple[str, bool, Callable[[], str]]] = [
        ("Files", True, lambda: _files_text(found)),
        ("Classes", bool(found.classes), lambda: _classes_text(found.classes)),
        ("Records", bool(records), lambda: records),
        ("Images", bool(images), lambda: _images_text(decoded)),
        ("Bad files", bool(bad), lambda: _list_text("bad files", bad, most)),
        ("Wrong names", bool(misnamed), lambda: _list_text("wrong names", misnamed, most)),
    ]
    sections = [sheet.Section(title, text()) for title, there, text in parts if there]
    sys.stdout.write("\n".join(section.text for section in sections) + "\n")
    if options.out:
        pictures = sheet.Section("Pictures", "", decoded.pictures)
        title = ", ".join(options.paths)
        sheet.write(options.out, title, [*sections, pictures])
        sys.stdout.write(f"written: {options.out}\n")
    return int(bool(bad))
