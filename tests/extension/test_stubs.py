# SPDX-License-Identifier: Apache-2.0
"""What type checkers say about users' operators, with the modules that write_stubs() makes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from torchdali import errors, extension

pytest.importorskip("mypy")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

# A name without a dot, one in a module that torchdali has, and one in a module of its own.
SOURCE = """
#include <torchdali/operator.h>
using namespace torchdali;
struct Same final : Operator {
  explicit Same(const OpSpec&) {}
  void run(SampleContext& ctx) const override { ctx.share_input(0, 0, ctx.input(0)); }
};
#define SAME(name) TORCHDALI_OPERATOR(name).doc("Nothing.").input("data", "Any.") \\
    .output("out", "It.").arg("amount", 1.5f, "Unused.", Arity::kPerSample) \\
    .arg("words", std::vector<std::string>{"a"}, "Unused.").cpu<Same>()
SAME("same"); SAME("noise.some"); SAME("own.deep.same");
"""

RIGHT = """
import torch
from torchdali.data_node import DataNode
from typed import fn, functional, ops

def define(data: DataNode, amount: DataNode) -> list[DataNode]:
    a = fn.same(fn.flip(data), amount=amount, words=["b"])
    b = ops.own.deep.Same(amount=2.0)(fn.noise.some(fn.noise.shot(a)))
    return [ops.noise.Some(device="cpu")(x) for x in fn.own.deep.same([a, b])]

image: torch.Tensor = functional.own.deep.same(functional.same(torch.zeros(2)))
"""

WRONG = """
from typed import fn, functional
fn.same(3)
fn.own.deep.same(amuont=3)
fn.noise.nothing
functional.same([1], words=3)
fn.noise.shot(fn.constant(fdata=1.0), factro=3)
"""


def python(*command: object, folder: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "MYPYPATH": paths},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stubs")
    (folder / "same.cpp").write_text(SOURCE)
    flags = " ".join(extension._flags())
    command = f"c++ {flags} -shared -fPIC {folder / 'same.cpp'} -o {folder / 'same.so'}"
    assert os.system(command) == 0
    stubs = ("-m", "torchdali.extension", "stubs", "same.so", "-o", "typed")
    done = python(*stubs, "--check", folder=folder)
    assert done.returncode == 1
    assert not (folder / "typed").exists()
    done = python(*stubs, folder=folder)
    assert done.returncode == 0, done.stderr
    assert "wrote typed/fn/noise.pyi" in done.stdout
    done = python(*stubs, "--check", folder=folder)
    assert (done.returncode, done.stdout) == (0, "")
    return folder


def mypy(folder: Path, text: str) -> str:
    (folder / "user.py").write_text(text)
    return python("-m", "mypy", "--strict", "user.py", folder=folder).stdout


def test_the_checker_knows_the_operators_and_their_arguments(folder):
    assert "Success" in mypy(folder, RIGHT)
    found = mypy(folder, WRONG)
    expected = [
        (3, '"same" matches argument type "int"'),
        (4, '"amuont"'),
        (5, '"nothing"'),
        (6, '"words"|argument types'),
        (7, '"factro"'),
    ]
    for line, text in expected:
        assert re.search(rf"user\.py:{line}: error: .*({text})", found), found
    lines = {int(line) for line in re.findall(r"user\.py:(\d+): error", found)}
    assert lines == {line for line, _ in expected}, found


def test_the_modules_are_those_of_torchdali_when_the_program_runs(folder):
    program = """
        import torchdali
        from torchdali import extension
        extension.load_library("same.so")
        from typed import fn, functional, ops
        from typed.fn.own.deep import same
        import typed.ops.noise
        assert fn is torchdali.fn and ops is torchdali.ops and functional is torchdali.functional
        assert same is torchdali.fn.own.deep.same
        assert typed.ops.noise is torchdali.ops.noise
        help(same)
    """
    done = python("-c", re.sub(r"^ {8}", "", program, flags=re.MULTILINE), folder=folder)
    assert done.returncode == 0, done.stderr
    assert "amount: float or DataNode, default 1.5. Unused." in done.stdout


def test_without_libraries_there_is_nothing_to_write(tmp_path):
    with pytest.raises(errors.ArgumentError, match="no library is loaded"):
        extension.write_stubs(tmp_path, [])
