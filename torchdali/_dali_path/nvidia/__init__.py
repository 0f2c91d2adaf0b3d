# SPDX-License-Identifier: Apache-2.0
"""The package ``nvidia`` of processes that are started by a program with torchdali.as_dali.

It has what all packages of this name on sys.path have, and nvidia.dali is torchdali, if this Python
has torchdali.
"""

import importlib
import importlib.util
from pkgutil import extend_path

__all__: list[str] = []

__path__ = extend_path(__path__, __name__)

if importlib.util.find_spec("torchdali") is not None:
    importlib.import_module("torchdali.as_dali")
