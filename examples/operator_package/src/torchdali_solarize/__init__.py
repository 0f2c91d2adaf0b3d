# SPDX-License-Identifier: Apache-2.0
"""Importing this package adds fn.my.solarize and fn.my.random_gain to torchdali.

Editors and type checkers know them after ``from torchdali_solarize import fn``, which is
torchdali.fn. After a change of an operator's description, write the files that they read again,
in the folder ``src``::

    python -m torchdali.extension stubs torchdali_solarize/_operators.so -o torchdali_solarize
"""

from pathlib import Path

from torchdali.extension import load_library

__all__ = ["OPERATORS"]

OPERATORS = load_library(Path(__file__).with_name("_operators.so"))
