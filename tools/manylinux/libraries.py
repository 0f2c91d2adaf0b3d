# SPDX-License-Identifier: Apache-2.0
"""The libraries inside a wheel: built from the sources of the distribution, as static libraries.

The distribution supports its version for years, and its patches are in the sources. Everything that
is built has a license that permits static linking into a program under any license.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from .debian import unpacked
from .target import Target, run, say


@dataclass(frozen=True)
class Library:
    """A library that is built with CMake."""

    name: str
    source: str  # the distribution's source package
    license: str  # SPDX
    license_files: tuple[str, ...]
    options: tuple[str, ...] = ()
    unused_files: tuple[str, ...] = ()  # in CMakeLists.txt, but not in the distribution's sources


# In the order in which they are built.
LIBRARIES = (
    Library("zlib", "zlib", "Zlib", ("LICENSE",), unused_files=("win32/zlib1.rc",)),
    Library(
        "libpng",
        "libpng1.6",
        "libpng-2.0",
        ("LICENSE",),
        ("-DPNG_SHARED=OFF", "-DPNG_TESTS=OFF", "-DPNG_EXECUTABLES=OFF"),
    ),
    Library(
        "libjpeg-turbo",
        "libjpeg-turbo",
        "IJG AND BSD-3-Clause AND Zlib",
        ("LICENSE.md", "README.ijg"),
        ("-DENABLE_SHARED=OFF", "-DWITH_TURBOJPEG=OFF", "-DREQUIRE_SIMD=ON"),
    ),
    # Compressions that other libraries do are left out, except deflate and JPEG.
    Library(
        "libtiff",
        "tiff",
        "libtiff",
        ("LICENSE.md",),
        (
            "-DBUILD_SHARED_LIBS=OFF",
            *(f"-D{name}=OFF" for name in ("cxx", "jbig", "lerc", "libdeflate", "lzma")),
            *(f"-D{name}=OFF" for name in ("webp", "zstd", "tiff-contrib", "tiff-docs")),
            *(f"-D{name}=OFF" for name in ("tiff-tests", "tiff-tools")),
            "-DCMath_HAVE_LIBC_POW=ON",  # CMake does not find libm of another architecture
        ),
    ),
    Library(
        "libwebp",
        "libwebp",
        "BSD-3-Clause",
        ("COPYING", "PATENTS"),
        (
            "-DBUILD_SHARED_LIBS=OFF",
            *(f"-DWEBP_BUILD_{name}=OFF" for name in ("ANIM_UTILS", "CWEBP", "DWEBP", "EXTRAS")),
            *(f"-DWEBP_BUILD_{name}=OFF" for name in ("GIF2WEBP", "IMG2WEBP", "LIBWEBPMUX")),
            *(f"-DWEBP_BUILD_{name}=OFF" for name in ("VWEBP", "WEBPINFO", "WEBPMUX")),
        ),
    ),
    Library(
        "OpenJPEG",
        "openjpeg2",
        "BSD-2-Clause",
        ("LICENSE",),
        ("-DBUILD_SHARED_LIBS=OFF", "-DBUILD_CODEC=OFF", "-DBUILD_TESTING=OFF"),
    ),
)


def build(library: Library, target: Target) -> None:
    """Builds a library for an architecture, unless it has been built."""
    tree, version = unpacked(library.source)
    folder = target.build / library.name
    flags = [
        f"-DCMAKE_INSTALL_PREFIX={target.libraries}",
        f"-DCMAKE_PREFIX_PATH={target.libraries}",
        f"-DCMAKE_C_COMPILER={target.tool('gcc')}",
        f"-DCMAKE_CXX_COMPILER={target.tool('g++')}",
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_INSTALL_LIBDIR:STRING=lib",
        "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
        *library.options,
    ]
    if not target.is_here:
        flags += ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={target.arch}"]
    stamp, made = target.build / f"{library.name}.made", "\n".join([version, *flags])
    if stamp.exists() and stamp.read_text() == made:
        return
    say(f"compile {library.name} {version} for {target.arch}")
    shutil.rmtree(folder, ignore_errors=True)
    # A copy, because some projects write into their sources.
    shutil.copytree(tree, folder / "tree", symlinks=True)
    for name in library.unused_files:
        (folder / "tree" / name).parent.mkdir(exist_ok=True)
        (folder / "tree" / name).touch()
    configure = ["cmake", "-G", "Ninja", "-S", str(folder / "tree"), "-B", str(folder / "build")]
    run([*configure, *flags], folder / "configure.log")
    jobs = os.environ.get("MAX_JOBS", str(len(os.sched_getaffinity(0))))
    make = ["cmake", "--build", str(folder / "build"), "--target", "install", "--parallel", jobs]
    run(make, folder / "make.log")
    # Those who link with the folder get what is static.
    for path in (target.libraries / "lib").glob("*.so*"):
        path.unlink()
    stamp.write_text(made)


def licenses() -> dict[str, str]:
    """Returns the texts of the licenses, by the names of files."""
    texts = {}
    for library in LIBRARIES:
        tree, version = unpacked(library.source)
        heading = f"{library.name} {version}, {library.license}. This wheel contains it.\n\n"
        files = [(tree / name).read_text() for name in library.license_files]
        texts[f"LICENSE.{library.name}"] = heading + "\n\n".join(files)
    return texts
