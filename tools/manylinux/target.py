# SPDX-License-Identifier: Apache-2.0
"""The machines that a wheel is for, and how this machine's compiler links for them.

The compiler is the one that everybody builds with. What it makes runs on old distributions if it is
linked with an old glibc, of which zig has descriptions for all versions, and with its C++ library
inside. The unwinder stays shared: C++ exceptions and cancelled threads cross libraries.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BUILD = ROOT / "build" / "manylinux"
GLIBC = (2, 28)
# The libraries of torch that extensions name. They are linked with empty ones: those of the torch
# here have functions of the C++ library too, which an extension must not take from there.
TORCH_LIBRARIES = ("torch_cpu",)
ARCHITECTURES = ("x86_64", "aarch64")


def say(text: str) -> None:
    """Prints a line of progress."""
    print(f"wheel: {text}", flush=True)


def run(command: list[str], log: Path, **options: Any) -> None:
    """Runs a command; its output goes to a file, whose end is printed if the command fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out:
        done = subprocess.run(command, stdout=out, stderr=out, check=False, **options)
    if done.returncode:
        end = "\n".join(log.read_text(errors="replace").splitlines()[-40:])
        raise SystemExit(f"{end}\nwheel: this failed, see {log}: {' '.join(command)}")


@dataclass(frozen=True)
class Target:
    """An architecture."""

    arch: str

    @property
    def is_here(self) -> bool:
        """Whether this machine has the architecture."""
        return self.arch == platform.machine()

    @property
    def platform(self) -> str:
        """The tag of its wheels."""
        return f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{self.arch}"

    @property
    def build(self) -> Path:
        """The folder of everything that is built for it."""
        return BUILD / self.arch

    @property
    def shared(self) -> Path:
        """The folder of the shared libraries to link with, which have no code."""
        return self.build / "shared"

    @property
    def libraries(self) -> Path:
        """The folder of the static libraries that go into the wheel."""
        return self.build / "libraries"

    def tool(self, name: str) -> str:
        """Returns the name of a tool of the compiler."""
        return name if self.is_here else f"{self.arch}-linux-gnu-{name}"

    def make_shared(self) -> None:
        """Makes the shared libraries to link with, unless they have been made."""
        script, newer = self.shared / "libc.so", HERE / "newer_glibc.cpp"
        changed = max(path.stat().st_mtime for path in (Path(__file__), newer))
        if script.exists() and script.stat().st_mtime > changed:
            return
        say(f"describe glibc {GLIBC[0]}.{GLIBC[1]} for {self.arch}")
        shutil.rmtree(self.shared, ignore_errors=True)
        self.shared.mkdir(parents=True)
        (self.shared / "empty.c").touch()
        for name in TORCH_LIBRARIES:
            file = f"lib{name}.so"
            command = [self.tool("gcc"), "-shared", "-nostdlib", f"-Wl,-soname,{file}", "empty.c"]
            run([*command, "-o", file], self.build / "torch.log", cwd=self.shared)
        nonshared = self._make_glibc()
        flags = ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-c"]
        command = [self.tool("g++"), *flags, str(newer), "-o", "newer.o"]
        run(command, self.build / "newer.log", cwd=self.shared)
        files = [f"{self.shared}/{name}" for name in ("libc.so.6", "newer.o")]
        as_needed = [f"{self.shared}/lib{name}.so" for name in ("pthread", "dl", "rt", "ld")]
        text = f"GROUP ( {' '.join(files)} {nonshared} AS_NEEDED ( {' '.join(as_needed)} ) )\n"
        script.unlink()
        script.write_text(text)

    def _make_glibc(self) -> Path:
        """Makes the libraries of glibc; returns the one that is static."""
        cache = self.shared / "zig"
        triple = f"{self.arch}-linux-gnu.{GLIBC[0]}.{GLIBC[1]}"
        command = [sys.executable, "-m", "ziglang", "cc", "-target", triple, "-shared", "empty.c"]
        environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(cache)}
        run([*command, "-o", "empty"], self.build / "zig.log", cwd=self.shared, env=environment)
        # What zig links with stays in its cache.
        (libc,) = cache.glob("o/*/libc.so.6")
        for library in libc.parent.glob("lib*.so.*"):
            shutil.copyfile(library, self.shared / library.name)
            (self.shared / f"{library.name.partition('.')[0]}.so").symlink_to(library.name)
        (nonshared,) = cache.glob("o/*/libc_nonshared.a")
        return nonshared

    def environment(self) -> dict[str, str]:
        """Returns the environment in which setup.py builds a wheel."""
        search = f"-L{self.shared}"
        values = {
            # Debian's Python adds the folder of the system's libraries after these.
            "LDFLAGS": f"{search} -L{self.libraries / 'lib'} -static-libstdc++ "
            "-Wl,--no-as-needed -Wl,-s",
            "NVCC_PREPEND_FLAGS": f"{search} -Xcompiler=-static-libstdc++ -Xlinker=-s",
            "PKG_CONFIG": str(HERE / "pkg-config"),
            "PKG_CONFIG_LIBDIR": os.pathsep.join(
                str(self.libraries / folder / "pkgconfig") for folder in ("lib", "share")
            ),
        }
        if not self.is_here:
            python = f"{sys.version_info[0]}{sys.version_info[1]}"
            values |= {
                "CC": self.tool("gcc"),
                "CXX": self.tool("g++"),
                "TORCHDALI_CUDA": "0",
                "_PYTHON_HOST_PLATFORM": f"linux-{self.arch}",
                "SETUPTOOLS_EXT_SUFFIX": f".cpython-{python}-{self.arch}-linux-gnu.so",
            }
        return {**os.environ, **values}
