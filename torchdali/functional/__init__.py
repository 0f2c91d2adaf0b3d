# SPDX-License-Identifier: Apache-2.0
"""Operators that are called on tensors, arrays, images of PIL, bytes and files.

``resize(image, size=[224, 224])`` returns a torch tensor; a list of images gives a Batch, whose
images may differ in size. The functions are those of ``torchdali.fn``, made from the engine's
registry when the module is imported; the stubs beside this file (``make generate``) say the same to
editors and type checkers. The guide is docs/guide/functional.md.
"""

import sys

from torchdali._eager import functions as _functions
from torchdali._eager.batch import Batch
from torchdali._eager.program import release_unused_memory
from torchdali._eager.settings import (
    deferred,
    get_default_layout,
    get_num_threads,
    set_default_layout,
    set_num_threads,
)

__all__ = [
    "Batch",
    "deferred",
    "get_default_layout",
    "get_num_threads",
    "release_unused_memory",
    "set_default_layout",
    "set_num_threads",
]

_functions.install(sys.modules[__name__])
