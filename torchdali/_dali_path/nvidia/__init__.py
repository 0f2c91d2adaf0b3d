# SPDX-License-Identifier: Apache-2.0
"""The package ``nvidia`` of processes that are started by a program with torchdali.as_dali.

It has what all packages of this name on sys.path have, and nvidia.dali is torchdali, if this Python
has torchdali.
"""

import importlib
import importlib.util
import os
from pkgutil import extend_path

__all__: list[str] = []

# Not its own folder, in which there is nothing else: programs look for libraries in the first one.
_OWN = os.path.dirname(__file__)
__path__[:] = [path for path in extend_path(__path__, __name__) if path != _OWN]

if importlib.util.find_spec("torchdali") is not None:
    importlib.import_module("torchdali.as_dali")
