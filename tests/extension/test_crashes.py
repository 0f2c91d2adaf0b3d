# SPDX-License-Identifier: Apache-2.0
"""What a process that crashes says: the operator, its library, the user's line, the sample."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from torchdali import extension

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow

CRASHES = """
#include <torchdali/operator.h>
#include <csignal>
#include <cstdlib>
using namespace torchdali;
// Recursion that no compiler turns into a loop.
int deep(volatile char* above) {
  volatile char here[4096];
  here[0] = static_cast<char>(above[0] + 1);
  return deep(here) + here[0];
}
struct Crash final : Operator {
  explicit Crash(const OpSpec& spec) : how_(spec, "how") {
    if (spec.get<bool>("made")) std::abort();
  }
  void run(SampleContext& ctx) const override {
    volatile char zero = 0;
    switch (how_(ctx)) {
      case SIGSEGV: *reinterpret_cast<volatile int*>(uintptr_t{8}) = 1; break;
      case SIGABRT: std::abort();
      case SIGBUS: case SIGFPE: case SIGILL: raise(how_(ctx)); break;
      case 100: zero = static_cast<char>(deep(&zero)); break;
    }
    ctx.share_input(0, 0, ctx.input(0));
  }
  Arg<int> how_;
};
TORCHDALI_OPERATOR("my.crash").doc("Crashes.").input("data", "Any.").output("out", "It.")
    .arg("how", 0, "The signal; 100: the stack overflows.", Arity::kPerSample)
    .arg("made", false, "Crash when it is made.")
    .image_role(ImageRole::kPixelwise).cpu<Crash>();
"""

PROGRAM = """
import sys, torch
from torchdali import Pipeline, extension, fn
extension.load_library(sys.argv[1])
how, kind = int(sys.argv[2]), sys.argv[3]
image = torch.zeros((64, 128, 3), dtype=torch.uint8)
pipe = Pipeline(2, 1, device_id=None)
with pipe:
    data = fn.external_source(source=lambda: [image, image], layout="HWC")
    if kind == "file":
        data, _ = fn.readers.file(files=[sys.argv[0]] * 2)
    hows = fn.external_source(source=lambda: [torch.tensor(0), torch.tensor(how)])
    if kind == "chain":
        data = fn.flip(fn.resize(data, size=[99, 88]))
    out = fn.my.crash(data, how=hows, made=kind == "made")  # the line
    pipe.set_outputs(fn.flip(out) if kind == "chain" else out)
if kind == "removed":
    import signal
    first = Pipeline(1, 1, device_id=None)
    with first:
        first.set_outputs(fn.random.uniform())
    first.build()
    signal.signal(how, signal.SIG_DFL)
pipe.run()
print("not reached")
"""


@pytest.fixture(scope="module")
def crash(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crashes")
    (folder / "crash.cpp").write_text(CRASHES)
    (folder / "program.py").write_text(PROGRAM)
    library = folder / "libcrash.so"
    flags = " ".join(extension._flags())
    command = f"c++ {flags} -shared -fPIC {folder / 'crash.cpp'} -o {library}"
    assert os.system(command) == 0

    def run(how, kind="plain", *options, **env):
        command = [sys.executable, *options, folder / "program.py", library, str(how), kind]
        return subprocess.run(
            list(map(str, command)),
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        )

    return run


def check(done, *texts, number):
    assert done.returncode == -number, done.stderr
    assert "not reached" not in done.stdout
    places = [done.stderr.find(text) for text in texts]
    assert -1 not in places, f"not all of {texts} in {done.stderr}"
    assert places == sorted(places), done.stderr


WHERE = (
    "my.crash is not part of torchdali: it is in",
    "libcrash.so",
    "program.py:15, in",
    "# the line",
)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL"])
def test_each_signal_says_whose_it_is(crash, name):
    number = getattr(signal, name)
    done = crash(int(number))
    texts = (f"torchdali: {name} (", " in the operator my.crash, sample 1 of 2\n", *WHERE)
    check(done, *texts, number=number)
    assert done.stderr.count("\ntorchdali: ") == 1


@pytest.mark.parametrize("options", [(), ("-X", "faulthandler")])
def test_a_stack_overflow_and_the_handler_of_before(crash, options):
    done = crash(100, "plain", *options)
    texts = ("torchdali: SIGSEGV", "operator my.crash, sample 1 of 2", *WHERE)
    check(done, *texts, *(["Segmentation fault"] * bool(options)), number=signal.SIGSEGV)


def test_a_handler_that_was_removed(crash):
    """As by Lightning after a training."""
    done = crash(int(signal.SIGSEGV), "removed")
    check(done, "operator my.crash, sample 1 of 2\n", *WHERE, number=signal.SIGSEGV)


def test_a_chain_names_the_member_that_crashed(crash):
    done = crash(int(signal.SIGSEGV), "chain")
    check(done, " in the operator my.crash, sample 1 of 2\n", *WHERE, number=signal.SIGSEGV)
    assert "resize" not in done.stderr


def test_the_file_of_the_sample(crash):
    done = crash(int(signal.SIGSEGV), "file")
    check(done, *WHERE, "the sample is /", number=signal.SIGSEGV)


def test_a_crash_while_the_operator_is_made(crash):
    done = crash(0, "made", "-X", "faulthandler")
    texts = ("torchdali: SIGABRT", "operator my.crash\n", *WHERE, "Fatal Python error: Aborted")
    check(done, *texts, number=signal.SIGABRT)


def test_the_report_can_be_disabled(crash):
    done = crash(int(signal.SIGSEGV), TORCHDALI_CRASH_REPORT="0")
    assert done.returncode == -signal.SIGSEGV
    assert "torchdali" not in done.stderr


OWN = """
import ctypes, sys
from torchdali import Pipeline, fn
pipe = Pipeline(1, 1, device_id=None)
with pipe:
    data, _ = fn.readers.file(files=[sys.argv[0]])
    pipe.set_outputs(fn.python_function(data, function=lambda x: ctypes.string_at(8)))  # mine
pipe.run()
"""


def test_operators_of_torchdali(tmp_path):
    program = tmp_path / "own.py"
    program.write_text(OWN)
    done = subprocess.run(
        [sys.executable, program],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    texts = ("SIGSEGV", " in the operator python_function", "own.py:7", "# mine")
    check(done, *texts, number=signal.SIGSEGV)
    assert "not part of torchdali" not in done.stderr
