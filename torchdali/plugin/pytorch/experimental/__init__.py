# SPDX-License-Identifier: Apache-2.0
"""Pipelines inside the datasets of other loaders, under DALI's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchdali._common.unsupported import names_of

__all__ = ["proxy"]

if not TYPE_CHECKING:  # else a type checker would believe every name
    __getattr__ = names_of(__name__)
