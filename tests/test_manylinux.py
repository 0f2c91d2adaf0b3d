# SPDX-License-Identifier: Apache-2.0
"""The parts of `make wheel` that need no network; CI runs all of it."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tools.manylinux import debian


@pytest.mark.parametrize(
    ("name", "text", "sources"),
    [
        (
            "a.list",
            "deb [arch=amd64] mirror/ stable main\n# deb mirror/ old main\n",
            "deb-src [arch=amd64] mirror/ stable main\n# deb mirror/ old main\n",
        ),
        (
            "b.sources",
            "Types: deb\nURIs: mirror/\n\nTypes: deb deb-src\nSuites: stable\n",
            "Types: deb-src\nURIs: mirror/\n\nTypes: deb-src\nSuites: stable\n",
        ),
    ],
)
def test_the_sources_come_from_the_archives_of_the_packages(name, text, sources):
    assert debian.with_sources(name, text) == sources


def test_a_function_that_no_library_has_is_found(tmp_path):
    pytest.importorskip("elftools")
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a compiler")
    from tools.manylinux.audit import undefined_symbols

    code = """
        #include <string.h>
        int of_a_newer_glibc(const char*);
        __attribute__((weak)) int optional(void);
        int f(char* to, const char* from) {
          return of_a_newer_glibc(strcpy(to, from)) + (optional ? optional() : 0);
        }"""
    library = tmp_path / "library.so"
    command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=code, text=True, check=True)
    assert list(undefined_symbols(library)) == ["of_a_newer_glibc"]
