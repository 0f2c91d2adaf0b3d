# SPDX-License-Identifier: Apache-2.0
"""Operators as functions: ``fn.readers.file(...)``, ``fn.resize(images, size=224)``.

The contents are made from the engine's registry when the module is imported; the stubs beside
this file (``make generate``) say the same to editors and type checkers.
"""

import sys

from torchdali.fn import _callables

__all__: list[str] = []

_callables.install(sys.modules[__name__])
