# SPDX-License-Identifier: Apache-2.0
"""What is taken from the distribution: programs, and the sources of libraries."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from .target import BUILD, Target, run, say

SOURCES = BUILD / "sources"
# The packages of Debian that have the programs.
PROGRAMS = {"cmake": "cmake", "nasm": "nasm", "dpkg-source": "dpkg-dev", "pkg-config": "pkg-config"}


def install_programs(target: Target, more: dict[str, str] | None = None) -> None:
    """Installs the programs that are missing; `more`: besides PROGRAMS.

    Those of this environment, such as ninja, are added to PATH.
    """
    os.environ["PATH"] += f"{os.pathsep}{Path(sys.executable).parent}"
    programs = PROGRAMS | (more or {})
    if not target.is_here:
        programs[target.tool("g++")] = f"g++-{target.arch}-linux-gnu".replace("_", "-")
    missing = [package for name, package in programs.items() if not shutil.which(name)]
    if missing:
        say(f"apt-get install {' '.join(missing)}")
        sudo = [] if os.geteuid() == 0 else ["sudo"]
        apt = [*sudo, "apt-get"]
        install = [*apt, "install", "-y", "-q", "--no-install-recommends", *missing]
        if os.environ.get("TORCHDALI_APT") == "0":
            raise SystemExit(f"wheel: needs {' '.join(missing)}")
        subprocess.run([*apt, "update", "-q"], check=False)  # a fresh machine has no lists
        if subprocess.run(install, check=False).returncode:
            raise SystemExit(f"wheel: needs {' '.join(missing)}")


def with_sources(name: str, text: str) -> str:
    """Returns one of apt's lists of archives, with the archives' sources instead of packages."""
    if name.endswith(".sources"):
        return re.sub(r"(?m)^Types:.*", "Types: deb-src", text)
    return re.sub(r"(?m)^deb\s", "deb-src ", text)


@functools.cache
def _apt_options() -> tuple[str, ...]:
    """Returns options for apt to use the sources of this machine's archives."""
    if not shutil.which("apt-get"):
        raise SystemExit("wheel: the sources of libraries come from Debian or Ubuntu, by apt-get")
    folder = SOURCES / "apt"
    parts = folder / "parts"
    for path in (parts, folder / "lists" / "partial", folder / "cache" / "archives" / "partial"):
        path.mkdir(parents=True, exist_ok=True)
    for path in [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]:
        if path.suffix in (".list", ".sources") and path.exists():
            (parts / path.name).write_text(with_sources(path.name, path.read_text()))
    settings = {
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": parts,
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",
    }
    options = tuple(f"-o{name}={value}" for name, value in settings.items())
    run(["apt-get", *options, "update"], SOURCES / "update.log")
    return options


def _versions(source: str) -> list[str]:
    """Returns the versions of a source package, newest first."""
    command = ["apt-cache", *_apt_options(), "showsrc", "--only-source", source]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = list(dict.fromkeys(re.findall(r"(?m)^Version: (\S+)", text)))

    def order(a: str, b: str) -> int:
        is_newer = ["dpkg", "--compare-versions", a, "gt", b]
        return -1 if subprocess.run(is_newer, check=False).returncode == 0 else 1

    return sorted(found, key=functools.cmp_to_key(order))


def unpacked(source: str) -> tuple[Path, str]:
    """Returns the folder of a source package, with the distribution's patches, and its version."""
    folder = SOURCES / source
    note = folder / "version"
    if not note.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        note.with_suffix(".new").write_text(_download(source, folder))
        (description,) = folder.glob("*.dsc")
        command = ["dpkg-source", "--no-check", "-x", str(description), str(folder / "tree")]
        run(command, folder / "unpack.log")
        note.with_suffix(".new").rename(note)
    return folder / "tree", note.read_text()


def _download(source: str, folder: Path) -> str:
    """Downloads the newest version that the archives have; returns the version."""
    versions = _versions(source)
    for version in versions:
        say(f"download {source} {version}")
        command = ["apt-get", *_apt_options(), "source", "--download-only", f"{source}={version}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return version
        # The index of an archive may be ahead of its files, or behind.
        say(f"the archive lists {source} {version}, but does not have it")
        for path in folder.iterdir():
            path.unlink()
    raise SystemExit(f"wheel: no version of {source} can be downloaded ({versions})")
