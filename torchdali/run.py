# SPDX-License-Identifier: Apache-2.0
"""Runs a program for DALI with torchdali: ``python -m torchdali.run script.py args...``.

The program is not changed: for it, and for the processes that it starts, ``nvidia.dali`` is
torchdali (torchdali.as_dali). Start jobs on several GPUs with

  torchrun --nproc-per-node=8 -m torchdali.run script.py args...

--check runs nothing. It reads programs and lists the names and arguments of DALI that torchdali
does not have, each with its line and what to use instead.
"""

from __future__ import annotations

import argparse
import importlib
import os
import runpy
import sys
from collections.abc import Sequence

__all__ = ["main", "run_program"]


def run_program(program: str, arguments: Sequence[str], *, module: bool = False) -> None:
    """Runs a program as Python does, in this process.

    Args:
        program: a script, or the name of a module.
        arguments: of the program.
        module: whether it is a module.
    """
    sys.argv[:] = [program, *arguments]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.getcwd() if module else os.path.dirname(os.path.realpath(program))
    if module:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(program, run_name="__main__")


def main(arguments: Sequence[str] | None = None, prog: str = "python -m torchdali.run") -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog=prog, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "-m", dest="module", action="store_true", help="PROGRAM is a module, as for python -m"
    )
    parser.add_argument(
        "--check", action="store_true", help="list what is missing in a file, a folder or several"
    )
    parser.add_argument("program", metavar="PROGRAM", help="a script; with --check, also a folder")
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, help="arguments of the program", metavar="..."
    )
    options = parser.parse_args(arguments)
    if not options.check:
        importlib.import_module("torchdali.as_dali")
        run_program(options.program, options.arguments, module=options.module)
        return 0
    if options.module:
        parser.error("--check reads files: name the file or the folder of the module")
    check = importlib.import_module("torchdali._cli.check")
    return int(check.main([options.program, *options.arguments]))


if __name__ == "__main__":
    sys.exit(main())
