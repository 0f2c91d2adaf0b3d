# SPDX-License-Identifier: Apache-2.0
"""Compiles csrc/video into ``torchdali/_video.so``, the wrapper of FFmpeg's libraries.

It is a library of its own, so that the engine does not depend on FFmpeg (docs/design/video.md).
This module uses only the standard library: setup.py imports it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["FOLDER", "NAME", "REQUIRES", "build"]

FOLDER = "video"  # of csrc
NAME = "_video.so"
REQUIRES = "libavformat >= 58.76 libavcodec >= 58.134 libavutil >= 56.70"  # FFmpeg 4.4
_PACKAGES = "libavformat-dev, libavcodec-dev, libavutil-dev"


def _rules(csrc: Path, objects: Path, flags: list[str], link_flags: list[str]) -> Iterator[str]:
    """Yields the lines of a build.ninja."""
    compiler = os.environ.get("CXX", "g++")
    yield "rule compile"
    yield f"  command = {compiler} {' '.join(flags)} -MD -MF $out.d -c $in -o $out"
    yield "  depfile = $out.d"
    yield "  deps = gcc"
    yield "rule link"
    yield f"  command = {compiler} -shared $in -o $out {' '.join(link_flags)}"
    names = [path.stem for path in sorted((csrc / FOLDER).glob("*.cpp"))]
    for name in names:
        yield f"build {objects / name}.o: compile {csrc / FOLDER / name}.cpp"
    yield f"build {objects / NAME}: link {' '.join(f'{objects / name}.o' for name in names)}"


def build(
    csrc: Path,
    objects: Path,
    flags: list[str],
    link_flags: list[str],
    pkg_config: Callable[..., list[str] | None],
) -> Path | str:
    """Compiles the library; returns it, or why it was not built.

    Args:
        csrc: the folder of the sources.
        objects: the folder for object files.
        flags: the compiler's flags.
        link_flags: the linker's flags.
        pkg_config: returns the words that pkg-config prints, or None.
    """
    found = pkg_config("--cflags", REQUIRES)
    libraries = pkg_config("--libs", REQUIRES)
    if found is None or libraries is None:
        return f"install FFmpeg's libraries ({_PACKAGES})"
    objects.mkdir(parents=True, exist_ok=True)
    flags = [*flags, "-fPIC", f"-I{csrc}", *found]
    rules = _rules(csrc, objects, flags, [*link_flags, *libraries])
    (objects / "build.ninja").write_text("\n".join(rules) + "\n")
    jobs = os.environ.get("MAX_JOBS", "1")
    subprocess.run(["ninja", "-C", str(objects), "-j", jobs], check=True)
    return objects / NAME
