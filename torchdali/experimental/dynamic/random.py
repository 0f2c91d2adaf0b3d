# SPDX-License-Identifier: Apache-2.0
"""Random numbers of the dynamic mode: generators, and the operators that draw."""

from torchdali._common.unsupported import names_of as _names_of
from torchdali.experimental.dynamic._rng import RNG, get_default_rng, set_seed

__all__ = ["RNG", "get_default_rng", "set_seed"]  # and operators, which _operators.py places here

__getattr__ = _names_of(__name__)
