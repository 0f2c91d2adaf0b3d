# SPDX-License-Identifier: Apache-2.0
"""Importing this package adds fn.my.solarize and fn.my.random_gain to torchdali."""

from pathlib import Path

from torchdali.extension import load_library

__all__ = ["OPERATORS"]

OPERATORS = load_library(Path(__file__).with_name("_operators.so"))
