# SPDX-License-Identifier: Apache-2.0
"""DALI's eager mode: operators as functions of TensorListCPU, which run at once.

Operators without state are functions; those that draw random values are methods of `rng_state`;
readers are iterators. `math` has functions of batches, and `arithmetic` turns operators such as
``batch + 1`` on. Results are those of pipelines. The guide is docs/guide/functional.md.
"""

import sys

from torchdali.experimental.eager import math
from torchdali.experimental.eager._arithmetic import arithmetic
from torchdali.experimental.eager._operators import install as _install
from torchdali.experimental.eager._random import rng_state

__all__ = ["arithmetic", "math", "rng_state"]

_install(sys.modules[__name__])
