# SPDX-License-Identifier: Apache-2.0
"""Compiles and loads your own operators in C++ and CUDA, like torch.utils.cpp_extension.

`load(name, sources)` compiles at run time; `CppExtension` and `BuildExtension` compile with
setuptools, and `load_library(path)` loads the result. The operators are then in `torchdali.fn`,
`ops`, `functional` and the other modules, like torchdali's own. The guide is
docs/guide/your_operators.md.

On the command line, ``python -m torchdali.extension include`` prints the folder of the headers,
``python -m torchdali.extension flags`` the compiler's flags, and ``python -m torchdali.extension
stubs LIBRARY... -o FOLDER`` is `write_stubs()`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from torchdali import sysconfig
from torchdali._engine import libraries
from torchdali.errors import ArgumentError, FileError, UnsupportedError, _make

__all__ = [
    "BuildExtension",  # noqa: F822
    "CppExtension",
    "include_paths",
    "load",
    "load_library",
    "write_stubs",
]


def include_paths() -> list[str]:
    """Returns the folders that the compiler searches for ``torchdali/operator.h``."""
    return [sysconfig.get_include_dir()]


def load_library(path: str | os.PathLike[str]) -> list[str]:
    """Adds the operators of a compiled library; nothing happens if it is loaded already.

    Args:
        path: of the shared library.

    Returns:
        The names of its operators, as in `fn`.

    Raises:
        FileError: there is no such file.
        UnsupportedError: it is not a library of operators, or is for another version of torchdali.
        ArgumentError: an operator is described wrongly, or its name is taken.
    """
    return list(libraries.load(path))


def load(
    name: str,
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    extra_cflags: Sequence[str] = (),
    extra_cuda_cflags: Sequence[str] = (),
    extra_ldflags: Sequence[str] = (),
    extra_include_paths: Sequence[str | os.PathLike[str]] = (),
    build_directory: str | os.PathLike[str] | None = None,
    with_cuda: bool | None = None,
    verbose: bool = False,
) -> list[str]:
    """Compiles operators, and adds them to `fn`, `ops` and all other modules of operators.

    The library is kept and compiled again when sources, the headers that they include or flags
    change. Processes that call this at the same time wait for the one that compiles.

    Args:
        name: of the library.
        sources: `.cpp` and `.cu` files. Without nvcc, `.cu` files are compiled as C++: their
            kernels then run in emulation only.
        extra_cflags: for the C++ compiler.
        extra_cuda_cflags: for nvcc.
        extra_ldflags: for the linker.
        extra_include_paths: folders of headers.
        build_directory: where to compile; by default a folder in that of torch's extensions, which
            the environment variable TORCH_EXTENSIONS_DIR sets.
        with_cuda: compile `.cu` files with nvcc; by default, if torch has CUDA and nvcc is found.
        verbose: show what the compiler prints.

    Returns:
        The names of the operators, as in `fn`.

    Raises:
        ArgumentError: a wrong name, or no sources; or an operator is described wrongly, or its name
            is taken: restart Python to load a changed operator.
        FileError: a source does not exist.
        UnsupportedError: `with_cuda`, and there is no nvcc.
        RuntimeError: it does not compile; the text has the compiler's messages.
    """
    from torch.utils import cpp_extension

    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise _make(ArgumentError, f"extension.load: {name!r} cannot be the name of a library")
    files = _files(sources, "extension.load")
    folder = Path(build_directory or _build_root() / name).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    cuda = _with_cuda(files, with_cuda)
    file = cpp_extension.load(
        name,
        files if cuda else _as_cpp(files, folder),
        extra_cflags=[*_flags(), *extra_cflags],
        extra_cuda_cflags=[*_cuda_flags(), *extra_cuda_cflags],
        extra_ldflags=list(extra_ldflags),
        extra_include_paths=[*include_paths(), *(os.fspath(p) for p in extra_include_paths)],
        build_directory=str(folder),
        verbose=verbose,
        with_cuda=cuda,
        is_python_module=False,
    )
    return load_library(file)


def write_stubs(
    folder: str | os.PathLike[str],
    libraries: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    check: bool = False,
) -> list[Path]:
    """Writes modules with which editors and type checkers know the operators of libraries.

    In the folder, which is that of a package, ``fn``, ``ops`` and ``functional`` are made. After
    ``from my_package import fn``, an editor completes ``fn.my.halve(`` and every other operator,
    and shows arguments and docstrings. When the program runs, that `fn` is ``torchdali.fn``.

    Args:
        folder: of the package that loads the libraries, or of a part of the program.
        libraries: files of libraries, which are loaded; by default, all that are loaded already.
        check: write nothing.

    Returns:
        The files that were missing or different; those that no operator needs are not removed.

    Raises:
        ArgumentError: there are no operators.
    """
    from torchdali._stubs import libraries as typed

    paths = None
    if libraries is not None:
        given = [libraries] if isinstance(libraries, (str, os.PathLike)) else list(libraries)
        for path in given:
            load_library(path)
        paths = [os.path.realpath(path) for path in given]
    for kind in typed.KINDS:
        importlib.import_module(f"torchdali.{kind}")
    operators = typed.operators_of(paths)
    if not operators:
        raise _make(
            ArgumentError,
            "extension.write_stubs: no library is loaded",
            fix="pass the files of libraries, or load them before",
        )
    changed = []
    for name, text in typed.files(operators).items():
        file = Path(folder, name)
        if file.is_file() and file.read_text() == text:
            continue
        changed.append(file)
        if not check:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return changed


def CppExtension(
    name: str,
    sources: Sequence[str | os.PathLike[str]],
    *,
    with_cuda: bool | None = None,
    extra_compile_args: Sequence[str] = (),
    extra_cuda_args: Sequence[str] = (),
    **options: Any,
) -> Any:
    """Returns a setuptools extension that `BuildExtension` compiles to a library of operators.

    Args:
        name: dotted, of the library: ``my_package._operators`` becomes the file
            ``my_package/_operators.so``, for `load_library()`.
        sources: `.cpp` and `.cu` files, relative to setup.py. Without nvcc, `.cu` files are
            compiled as C++: their kernels then run in emulation only.
        with_cuda: compile `.cu` files with nvcc; by default, if torch has CUDA and nvcc is found.
        extra_compile_args: for the C++ compiler.
        extra_cuda_args: for nvcc.
        options: of ``setuptools.Extension``.
    """
    from torch.utils import cpp_extension

    files = _files(sources, "extension.CppExtension", absolute=False)
    cuda = _with_cuda(files, with_cuda)
    if cuda:
        options["libraries"] = [*options.get("libraries", []), "cudart"]
        options["library_dirs"] = [
            *options.get("library_dirs", []),
            str(Path(str(cpp_extension.CUDA_HOME), "lib64")),
        ]
    made: Any = importlib.import_module("setuptools").Extension
    return made(
        name,
        sources=files if cuda else _as_cpp(files, Path("build", "operators")),
        include_dirs=[*include_paths(), *options.pop("include_dirs", [])],
        extra_compile_args={
            "cxx": [*_flags(), *extra_compile_args],
            "nvcc": [*_cuda_flags(), *extra_cuda_args],
        },
        language="c++",
        **options,
    )


def _flags() -> list[str]:
    return ["-O3", *sysconfig.get_compile_flags()]


def _cuda_flags() -> list[str]:
    # Like -ffp-contract=off: CPU and GPU round every operation.
    return ["-O3", "-std=c++20", "--expt-relaxed-constexpr", "-fmad=false"]


def _files(sources: Any, function: str, *, absolute: bool = True) -> list[str]:
    given = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    if not given:
        raise _make(ArgumentError, f"{function}: no sources")
    for file in given:
        if not os.path.isfile(file):
            raise _make(FileError, f'{function}: there is no file "{os.fspath(file)}"')
    return [os.path.abspath(file) if absolute else os.fspath(file) for file in given]


def _with_cuda(files: Sequence[str], wanted: bool | None) -> bool:
    """Returns whether nvcc is used."""
    if wanted is False or not any(file.endswith(".cu") for file in files):
        return False
    from torch.utils import cpp_extension

    home = cpp_extension.CUDA_HOME
    why = "torch is built without CUDA" if torch.version.cuda is None else "nvcc is not found"
    nvcc = torch.version.cuda is not None and home and shutil.which("nvcc", path=f"{home}/bin")
    if wanted and not nvcc:
        raise _make(UnsupportedError, f"with_cuda=True, and {why}")
    return bool(nvcc)


def _as_cpp(files: Sequence[str], folder: Path) -> list[str]:
    """Returns sources for the C++ compiler: for each `.cu` file, one that includes it."""
    made = []
    for file in files:
        if not file.endswith(".cu"):
            made.append(file)
            continue
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{Path(file).stem}_cu.cpp"
        text = f'#include "{os.path.abspath(file)}"\n'
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        made.append(str(path))
    return made


def _build_root() -> Path:
    from torch.utils import cpp_extension

    root = os.environ.get("TORCH_EXTENSIONS_DIR") or cpp_extension.get_default_build_root()
    # Not "torchdali", which Python would import in that folder.
    return Path(root, "torchdali_operators", f"torch{torch.__version__}")


def __getattr__(name: str) -> Any:
    if name == "BuildExtension":  # imports setuptools
        build: Any = importlib.import_module("torch.utils.cpp_extension").BuildExtension
        made = build.with_options(no_python_abi_suffix=True)
        made.__doc__ = """torch's command of setuptools, for libraries that depend on no Python."""
        return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints what build systems other than setuptools need, and writes stubs."""
    parser = argparse.ArgumentParser(prog="python -m torchdali.extension", description=main.__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("include", help="print the folder of the headers")
    commands.add_parser("flags", help="print the compiler's flags")
    stubs = commands.add_parser("stubs", help="write modules for editors and type checkers")
    stubs.add_argument("libraries", nargs="+", metavar="LIBRARY", help="a compiled library")
    stubs.add_argument("-o", "--output", required=True, help="the folder of the package")
    stubs.add_argument(
        "--check", action="store_true", help="write nothing; fail if a file is not up to date"
    )
    options = parser.parse_args(arguments)
    if options.what == "stubs":
        changed = write_stubs(options.output, options.libraries, check=options.check)
        for file in changed:
            sys.stdout.write(f"{'stale' if options.check else 'wrote'} {file}\n")
        return 1 if options.check and changed else 0
    words = include_paths() if options.what == "include" else sysconfig.get_compile_flags()
    sys.stdout.write(" ".join(words) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
