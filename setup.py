# SPDX-License-Identifier: Apache-2.0
"""Compiles csrc/**/*.cpp into ``torchdali._C``, csrc/**/*.cu into ``torchdali/_cuda.so``.

csrc/video becomes ``torchdali/_video.so``, if FFmpeg's libraries are found
(tools/video_library.py).

csrc/workers becomes a separate extension, ``torchdali._shm``, which workers load without torch. The
GPU kernels of csrc/kernels/**/*_gpu.h are compiled through generated files: into ``_cuda.so`` for
CUDA, and into ``_C`` as an emulation (tools/gpu_kernels.py).

There are no source lists: every file in csrc/ is part of the build. Environment variables:

* ``TORCHDALI_WERROR=1``: warnings are errors.
* ``TORCHDALI_DEBUG=1``: ``-O1 -g`` instead of ``-O3``.
* ``TORCHDALI_SANITIZE=address``: build with ASan and UBSan, for tools/fuzz.py: not in place, with
  separate object files, without the GPU library.
* ``TORCHDALI_CUDA=0`` skips the ``.cu`` files; ``1`` fails if they cannot be compiled. By default
  they are compiled if nvcc is found, with or without a GPU.
* ``TORCHDALI_CUDA_ARCHS``: compute capabilities, default "80 90"; the last one also as PTX.
* ``TORCHDALI_PYTHON_INCLUDE=DIR``: compile for the limited API with the headers of another Python
  (tools/python_abi.py), for wheels: not in place.
* ``TORCHDALI_PROGRESS=1``, set by tools/build_backend.py: progress is shown on the terminal.
* ``MAX_JOBS``: number of parallel compile jobs; default: one per core.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import torch
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from torch.utils import cpp_extension

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))
import api_headers  # noqa: E402
import build_progress  # noqa: E402
import compile_units  # noqa: E402
import gpu_kernels  # noqa: E402
import nanobind_copy  # noqa: E402
import python_abi  # noqa: E402
import video_library  # noqa: E402

CSRC = ROOT / "csrc"
PACKAGE = ROOT / "torchdali"
GENERATED = ROOT / "build" / "gpu_kernels"
UNITS = ROOT / "build" / "units"

# Folders with ccache's links that are named like compilers. They are added to PATH, because torch's
# build takes the whole of CXX as one program, so CXX="ccache g++" fails.
CCACHE_LINK_DIRS = ("/usr/lib/ccache", "/usr/lib64/ccache", "/usr/lib/ccache/bin")

# The first version with C++20 in device code.
MIN_NVCC = (12, 0)

# float-cast-overflow is not part of "undefined". vptr is disabled, because it needs the type
# information of torch's classes, some of which is hidden. Python's own flags include -fwrapv, which
# makes signed overflow defined and hides it.
SANITIZERS = {
    "address": [
        "-fsanitize=address,undefined,float-cast-overflow",
        "-fno-sanitize=vptr",
        "-fno-wrapv",
        "-fno-sanitize-recover=all",
        "-fno-omit-frame-pointer",
    ]
}


class Codec(NamedTuple):
    """A native library that is used if it is found."""

    pkg_config: str  # its pkg-config name
    macro: str
    package: str  # the package to install


CODECS = (
    Codec("libjpeg", "TORCHDALI_HAVE_JPEG", "libjpeg-dev (libjpeg-turbo)"),
    Codec("libpng", "TORCHDALI_HAVE_PNG", "libpng-dev"),
    Codec("zlib", "TORCHDALI_HAVE_ZLIB", "zlib1g-dev"),
    # From 4.5 on, errors can be told apart by image.
    Codec("libtiff-4 >= 4.5", "TORCHDALI_HAVE_TIFF", "libtiff-dev (4.5 or newer)"),
    Codec("libwebp", "TORCHDALI_HAVE_WEBP", "libwebp-dev"),
    # From 2.5 on, truncated files can be told.
    Codec("libopenjp2 >= 2.5", "TORCHDALI_HAVE_OPENJPEG", "libopenjp2-7-dev (2.5 or newer)"),
    Codec("libavif >= 0.11", "TORCHDALI_HAVE_AVIF", "libavif-dev"),
    Codec("libjxl >= 0.7", "TORCHDALI_HAVE_JXL", "libjxl-dev"),
)


def flag(name: str) -> bool:
    """Returns whether an environment variable is set to a value other than 0."""
    return os.environ.get(name, "0") not in ("", "0")


def sanitizer() -> list[str]:
    """Returns the flags of the sanitizer that TORCHDALI_SANITIZE names; none by default."""
    name = os.environ.get("TORCHDALI_SANITIZE", "")
    if name and name not in SANITIZERS:
        raise SystemExit(f"torchdali: TORCHDALI_SANITIZE={name!r}: use one of {sorted(SANITIZERS)}")
    return SANITIZERS[name] if name else []


def pkg_config(*args: str) -> list[str] | None:
    """Returns the words that pkg-config prints; None if it or the library is missing."""
    program = os.environ.get("PKG_CONFIG") or shutil.which("pkg-config") or shutil.which("pkgconf")
    if not program:
        return None
    found = subprocess.run([program, *args], capture_output=True, text=True, check=False)
    return found.stdout.split() if found.returncode == 0 else None


def set_path() -> None:
    """Puts ccache's directory of compiler links first in PATH, this interpreter's ninja last."""
    ccache = [d for d in CCACHE_LINK_DIRS if Path(d, "g++").exists()][:1]
    path = [*ccache, os.environ.get("PATH", ""), str(Path(sys.executable).parent)]
    os.environ["PATH"] = os.pathsep.join(path)
    # Lets checkouts of the same files share cached objects.
    os.environ.setdefault("CCACHE_BASEDIR", str(ROOT))


def compiler_flags() -> list[str]:
    """Returns the flags of every C++ file."""
    flags = [
        "-std=c++20",
        "-fno-math-errno",
        "-ffp-contract=off",
        "-fvisibility=hidden",
        "-Wall",
        "-Wextra",
        *(["-O1", "-g"] if flag("TORCHDALI_DEBUG") or sanitizer() else ["-O3", "-g0"]),
        *sanitizer(),
        *(["-Werror"] if flag("TORCHDALI_WERROR") else []),
    ]
    # As system headers, so that warnings are only about our code.
    for path in cpp_extension.include_paths():
        flags += ["-isystem", path]
    return flags


def sources(of_workers: bool) -> list[str]:
    """Returns the source files of the workers' extension, or of the engine."""
    # Relative: setuptools refuses absolute paths in a source distribution's manifest.
    found = [p.relative_to(ROOT) for p in CSRC.rglob("*.cpp")]
    # A library of its own, which is no extension.
    found = [p for p in found if p.parts[1] != video_library.FOLDER]
    return sorted(str(p) for p in found if (p.parent.name == "workers") == of_workers)


def linker_flags() -> list[str]:
    """Returns the flags that both extensions are linked with."""
    return [*sanitizer(), f"-Wl,--version-script={CSRC / 'exports.map'}"]


def with_nanobind(extension: Extension) -> Extension:
    """Lets an extension use nanobind, whose library one of its files includes (nanobind.cpp)."""
    for path in nanobind_copy.INCLUDED:
        extension.extra_compile_args["cxx"] += ["-isystem", str(path)]
    # A domain is a set of extensions that share types and translators of exceptions.
    extension.define_macros += [("NB_DOMAIN", extension.name.replace("._", "_"))]
    if not flag("TORCHDALI_DEBUG"):
        extension.define_macros += [("NB_COMPACT_ASSERTIONS", None)]
    python_abi.apply(extension)
    return extension


def shared_memory() -> Extension:
    """Returns the extension ``torchdali._shm``, which is independent of torch."""
    return with_nanobind(
        Extension(
            "torchdali._shm",
            sources=sources(of_workers=True),
            include_dirs=[str(CSRC)],
            extra_compile_args={"cxx": compiler_flags()},
            extra_link_args=linker_flags(),
            language="c++",
        )
    )


def engine() -> Extension:
    """Returns the extension ``torchdali._C``."""
    compile_args = compiler_flags()
    link_args = linker_flags()
    for codec in CODECS:
        compile_flags = pkg_config("--cflags", codec.pkg_config)
        libraries = pkg_config("--libs", codec.pkg_config)
        if compile_flags is None or libraries is None:
            print(f"torchdali: built without {codec.pkg_config}: install {codec.package}")
            continue
        compile_args += [f"-D{codec.macro}=1", *compile_flags]
        link_args += libraries
    return with_nanobind(
        Extension(
            "torchdali._C",
            sources=sources(of_workers=False),
            include_dirs=[str(CSRC)],
            library_dirs=cpp_extension.library_paths(),
            libraries=["torch_cpu"],
            extra_compile_args={"cxx": compile_args},
            extra_link_args=link_args,
            language="c++",
        )
    )


def find_nvcc() -> tuple[str, str] | str:
    """Returns nvcc's path and version, or the reason why none can be used."""
    homes = [os.environ[n] for n in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(n)]
    candidates = [
        os.environ.get("CUDACXX"),
        *(str(Path(home, "bin", "nvcc")) for home in homes),
        shutil.which("nvcc"),
        "/usr/local/cuda/bin/nvcc",
    ]
    nvcc = next((c for c in candidates if c and os.access(c, os.X_OK)), None)
    if nvcc is None:
        return "no nvcc found (CUDACXX, CUDA_HOME, PATH, /usr/local/cuda)"
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"release (\d+)\.(\d+)", text)
    if match is None:
        return f"cannot determine the version of {nvcc}"
    version = f"{match[1]}.{match[2]}"
    if (int(match[1]), int(match[2])) < MIN_NVCC:
        return f"{nvcc} is version {version}, at least {MIN_NVCC[0]}.{MIN_NVCC[1]} is required"
    return nvcc, version


def cuda_archs() -> str:
    """Returns the compute capabilities to compile for, such as "80 90"."""
    return os.environ.get("TORCHDALI_CUDA_ARCHS", "80 90")


def cuda_flags() -> list[str]:
    """Returns nvcc's flags. The runtime is linked statically, so no CUDA is needed to load it."""
    archs = cuda_archs().split()
    flags = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in archs]
    flags += [f"-gencode=arch=compute_{archs[-1]},code=compute_{archs[-1]}"]
    host = "-fPIC,-fvisibility=hidden,-Wall,-Wextra"
    # Lets kernels call constexpr functions of the CPU's headers.
    flags += ["-std=c++20", "-O3", "--expt-relaxed-constexpr", "-cudart", "static"]
    flags += [f"-I{CSRC}", "-Xcompiler", host]
    # Like -ffp-contract=off: CPU and GPU round every operation.
    flags += ["-fmad=false"]
    if flag("TORCHDALI_WERROR"):
        flags += ["-Werror", "all-warnings"]
    return flags


def ninja_rules(nvcc: str, sources: list[Path], objects: Path) -> Iterator[str]:
    """Yields the lines of a build.ninja for ``_cuda.so``."""
    ccache = shutil.which("ccache")
    compiler = f"{ccache} {nvcc}" if ccache else nvcc
    flags = " ".join(cuda_flags())
    yield "rule compile"
    yield f"  command = {compiler} {flags} -MD -MF $out.d -c $in -o $out"
    yield "  depfile = $out.d"
    yield "  deps = gcc"
    yield "rule link"
    # The symbols of static libraries stay inside.
    yield f"  command = {nvcc} -shared -cudart static -Xlinker=--exclude-libs=ALL $in -o $out"
    outputs = []
    for source in sources:
        output = f"{source.stem}.o"
        outputs.append(output)
        yield f"build {output}: compile {source}"
    yield f"build {objects / '_cuda.so'}: link {' '.join(outputs)}"


def cuda_choice() -> str:
    """Returns "0", "1" or "auto": whether to build the GPU library."""
    return "0" if sanitizer() else os.environ.get("TORCHDALI_CUDA", "auto")


def builds_cuda() -> bool:
    """Returns whether build_cuda() compiles anything."""
    return cuda_choice() != "0" and not isinstance(find_nvcc(), str)


def build_cuda(objects: Path, units: gpu_kernels.Units) -> tuple[Path, str] | str:
    """Compiles the GPU library; returns it and CUDA's version, or why it was not built."""
    choice = cuda_choice()
    if choice == "0":
        return "left out by TORCHDALI_CUDA=0 or a sanitizer"
    sources = [*sorted(CSRC.rglob("*.cu")), units.fingerprint, *units.cuda]
    found = find_nvcc()
    if isinstance(found, str):
        if choice == "1":
            raise SystemExit(f"torchdali: TORCHDALI_CUDA=1, but {found}")
        return found
    nvcc, version = found
    objects.mkdir(parents=True, exist_ok=True)
    (objects / "build.ninja").write_text("\n".join(ninja_rules(nvcc, sources, objects)) + "\n")
    jobs = os.environ["MAX_JOBS"]
    try:
        subprocess.run(["ninja", "-C", str(objects), "-j", jobs], check=True)
    except subprocess.CalledProcessError as error:
        hint = "TORCHDALI_CUDA=0 builds without them"
        raise SystemExit(f"torchdali: the .cu files did not compile; {hint}") from error
    return objects / "_cuda.so", version


class BuildExt(cpp_extension.BuildExtension):
    """Builds the engine and the GPU library, and records their versions."""

    def finalize_options(self) -> None:
        """Keeps objects in build/, because pip's editable install uses a new folder every time."""
        super().finalize_options()
        if self.inplace and sanitizer():
            raise SystemExit("torchdali: TORCHDALI_SANITIZE excludes --inplace: see tools/fuzz.py")
        if self.inplace and python_abi.other_headers():
            raise SystemExit("torchdali: TORCHDALI_PYTHON_INCLUDE is for wheels, not for --inplace")
        tag = f"{python_abi.build_tag()}-torch{torch.__version__}"
        tag += f"-{os.environ['TORCHDALI_SANITIZE']}" if sanitizer() else ""
        self.build_temp = str(ROOT / "build" / tag)
        # Let ninja decide what to compile: unlike setuptools, it checks headers and flags.
        self.force = True

    def get_ext_filename(self, fullname: str) -> str:
        """Names the file of an extension for the Pythons that can load it."""
        name = str(super().get_ext_filename(fullname))
        extension = self.ext_map.get(fullname)
        return python_abi.file_name(extension, name) if extension else name

    def old_files(self, package: Path, in_place: bool) -> Iterator[Path]:
        """Yields files of earlier builds that would be imported instead, or end up in the wheel."""
        if not in_place:
            yield from package.glob("*.so")
        for extension in self.extensions:
            if python_abi.is_limited(extension):
                yield package.parent / super().get_ext_filename(extension.name)

    def progress(self, total: int) -> AbstractContextManager[None]:
        """Shows the progress of a build by pip, which hides the output."""
        if not flag("TORCHDALI_PROGRESS"):
            return contextlib.nullcontext()
        return build_progress.progress(Path(self.build_temp), total)

    def run(self) -> None:
        """Builds into the source tree for an editable install, otherwise into the wheel."""
        os.environ.setdefault("MAX_JOBS", str(len(os.sched_getaffinity(0))))
        in_place = bool(self.inplace) or bool(getattr(self, "editable_mode", False))
        nanobind_copy.make()
        units = gpu_kernels.write_units(CSRC, GENERATED)
        # Here, since what an extension starts with becomes part of a source distribution.
        engine = next(e for e in self.extensions if e.name == "torchdali._C")
        generated = [str(p.relative_to(ROOT)) for p in (units.fingerprint, *units.emulated)]
        united = compile_units.unite(
            engine.sources, CSRC.relative_to(ROOT), UNITS.relative_to(ROOT)
        )
        engine.sources = [*united, *generated]
        package = PACKAGE if in_place else Path(self.build_lib, "torchdali")
        package.mkdir(parents=True, exist_ok=True)
        api_headers.write(CSRC, package)
        for file in self.old_files(package, in_place):
            file.unlink(missing_ok=True)
        files = sum(len(extension.sources) for extension in self.extensions)
        files += len(units.cuda) if builds_cuda() else 0
        with self.progress(files):
            super().run()
            cuda = build_cuda(Path(self.build_temp, "cuda"), units)
            video = video_library.build(
                CSRC,
                Path(self.build_temp, "video"),
                compiler_flags(),
                [*sanitizer(), *os.environ.get("LDFLAGS", "").split()],
                pkg_config,
            )
        (package / "_cuda.so").unlink(missing_ok=True)
        if isinstance(cuda, str):
            print(f"torchdali: built without the GPU library: {cuda}")
        else:
            shutil.copyfile(cuda[0], package / "_cuda.so")
        (package / video_library.NAME).unlink(missing_ok=True)
        if isinstance(video, str):
            print(f"torchdali: built without video: {video}")
        else:
            shutil.copyfile(video, package / video_library.NAME)
        library, reason = ("", cuda) if isinstance(cuda, str) else (f"CUDA {cuda[1]}", "")
        note = [
            '"""The versions that this copy of torchdali was built with; written by setup.py."""\n',
            f"VERSION = {self.distribution.get_version()!r}",
            f"TORCH_VERSION = {str(torch.__version__)!r}",
            f"CUDA_LIBRARY = {library!r}",
            f"CUDA_ARCHS = {cuda_archs()!r}",
            f"CUDA_LIBRARY_MISSING = {reason!r}",
        ]
        (package / "_build_info.py").write_text("\n".join(note) + "\n")


class BdistWheel(bdist_wheel):
    """Names a wheel for the Pythons that can load its extensions."""

    def get_tag(self) -> tuple[str, str, str]:
        """Returns the tags of Python, ABI and platform."""
        return python_abi.wheel_tag(self.distribution.ext_modules, super().get_tag())


# Before setup(), because torch looks for ninja when the command is created.
set_path()
setup(
    license="Apache-2.0",
    ext_modules=[shared_memory(), engine()],
    cmdclass={"build_ext": BuildExt, "bdist_wheel": BdistWheel},
)
