# Made by `python -m torchdali.extension stubs`; do not edit.
# ruff: noqa
"""torchdali.ops; to type checkers, with the operators of this package."""

import sys

from torchdali import ops as shown

sys.modules.update(
    (__name__ + name.removeprefix(shown.__name__), module)
    for name, module in list(sys.modules.items())
    if f"{name}.".startswith(f"{shown.__name__}.")
)
