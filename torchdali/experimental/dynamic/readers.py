# SPDX-License-Identifier: Apache-2.0
"""Readers of the dynamic mode: ``for files, labels in File(file_root=...).next_epoch(8):``."""

import sys

from torchdali._common.unsupported import names_of as _names_of
from torchdali.experimental.dynamic._readers import ReaderMeta, ReaderState
from torchdali.experimental.dynamic._readers import install as _install

__all__ = ["ReaderMeta", "ReaderState"]  # and classes of readers

_install(sys.modules[__name__])
__getattr__ = _names_of(__name__)
