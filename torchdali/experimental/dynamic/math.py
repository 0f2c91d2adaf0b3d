# SPDX-License-Identifier: Apache-2.0
"""Mathematical functions of Tensor and Batch, element by element; see torchdali.math."""

import sys

from torchdali import math as _math
from torchdali._eager.math_functions import install as _install
from torchdali.experimental.dynamic._expressions import apply as _apply

__all__ = list(_math.__all__)

_install(sys.modules[__name__], _apply)
