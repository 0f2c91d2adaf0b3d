# SPDX-License-Identifier: Apache-2.0
"""The command ``torchdali``: finds the command that is meant, and reports errors in one line."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from torchdali._build_info import VERSION
from torchdali.errors import TorchdaliError

__all__ = ["COMMANDS", "main"]

# Name -> module with main(arguments, prog), and what it does.
COMMANDS = {
    "info": ("torchdali.info", "say what this installation is made of"),
    "run": ("torchdali.run", "run a program for DALI unchanged; --check lists missing names"),
    "index": ("torchdali._cli.index", "make indexes of shards and of JPEG files"),
    "inspect": ("torchdali._cli.inspect", "say what is in a folder or in shards; find bad files"),
    "bench": ("torchdali._cli.bench", "measure loading your images; say how many threads to use"),
    "view": ("torchdali._cli.view", "show what a pipeline makes, before and after augmentation"),
    "doctor": (
        "torchdali._cli.doctor",
        "find mistakes and the bottleneck of a training script",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit status."""
    lines = [f"  {name:<9}{text}" for name, (_, text) in COMMANDS.items()]
    parser = argparse.ArgumentParser(
        prog="torchdali",
        usage="torchdali COMMAND [options]",
        description="Tools of torchdali, a data loader for PyTorch.\n\ncommands:\n"
        + "\n".join(lines)
        + "\n\n`torchdali COMMAND --help` describes a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"torchdali {VERSION}")
    parser.add_argument("command", choices=COMMANDS, help=argparse.SUPPRESS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    name, prog = options.command, f"torchdali {options.command}"
    command = importlib.import_module(COMMANDS[name][0])
    if name in ("run", "doctor"):  # errors are those of the user's program
        return int(command.main(options.arguments, prog))
    try:
        return int(command.main(options.arguments, prog))
    except BrokenPipeError:  # of `torchdali info | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, TorchdaliError, ValueError) as error:
        sys.stderr.write(f"{prog}: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write(f"{prog}: interrupted\n")
        return 130
