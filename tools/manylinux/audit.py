# SPDX-License-Identifier: Apache-2.0
"""What a wheel must satisfy: the tools that check it, and what they do not check."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from elftools.elf.elffile import ELFFile

from .target import TORCH_LIBRARIES, Target, say

# Symbols without a version: those of Python, and the C functions of libtorch.
_FROM_PYTHON_OR_TORCH = re.compile(r"_?Py[A-Z_]|aoti_torch_|torch_")


def undefined_symbols(library: Path) -> Iterator[str]:
    """Yields the symbols that a library needs and no other library it names is known to have.

    A linker lets them pass in shared libraries, since Python's are among them. One that glibc 2.28
    lacks would be noticed by users of old systems only.
    """
    with library.open("rb") as stream:
        elf = ELFFile(stream)
        versions = elf.get_section_by_name(".gnu.version")
        for index, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols()):
            if symbol["st_shndx"] != "SHN_UNDEF" or symbol["st_info"]["bind"] == "STB_WEAK":
                continue
            has_version = versions and isinstance(versions.get_symbol(index)["ndx"], int)
            if symbol.name and not has_version:
                yield symbol.name


# auditwheel's command knows the platforms of the machine that it runs on only.
_AUDITWHEEL = """
import platform, sys
platform.machine = lambda: {arch!r}
from auditwheel.main import main
sys.exit(main())"""


def _run(tool: str, *arguments: str, program: Sequence[str] = ()) -> None:
    """Runs a tool of this environment and prints what it says; `program`: how to start it."""
    say(f"{tool} {' '.join(arguments)}")
    if subprocess.run([*(program or [tool]), *arguments], check=False).returncode:
        raise SystemExit(f"wheel: {tool} found faults")


def audit(wheel: Path, target: Target, out: Path) -> Path:
    """Checks a wheel; returns the one to publish, which is put into a folder.

    Args:
        wheel: as setup.py makes it.
        target: what it is for.
        out: the folder.
    """
    excluded = [f"--exclude=lib{name}.so" for name in TORCH_LIBRARIES]
    options = [f"--plat={target.platform}", "--only-plat", *excluded, f"--wheel-dir={out}"]
    auditwheel = [sys.executable, "-c", _AUDITWHEEL.format(arch=target.arch)]
    _run("auditwheel", "repair", *options, str(wheel), program=auditwheel)
    result = out / wheel.name
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(result) as archive:
            archive.extractall(folder)
        for library in sorted(Path(folder, "torchdali").glob("*.so")):
            symbols = list(undefined_symbols(library))
            unknown = [name for name in symbols if not _FROM_PYTHON_OR_TORCH.match(name)]
            if unknown:
                raise SystemExit(
                    f"wheel: {library.name} needs {', '.join(unknown)}, which no library of the "
                    "target has: avoid it, or add it to tools/manylinux/newer_glibc.cpp"
                )
            of_torch = sorted(name for name in symbols if "torch_" in name)
            size = library.stat().st_size / 1e6
            say(f"{library.name}: {size:.1f} MB, symbols of torch: {' '.join(of_torch) or 'none'}")
        is_limited = "-abi3-" in wheel.name
        policy = ["both", "--verbose"] if is_limited else ["torch"]
        _run("torch-abi-audit", "--check", *policy, str(Path(folder, "torchdali")))
    if is_limited:
        _run("abi3audit", "--strict", "--summary", str(result))
    return result
