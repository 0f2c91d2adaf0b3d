# SPDX-License-Identifier: Apache-2.0
"""torchvision's classes of tensors, which are not imported but known by their names."""

from __future__ import annotations

import sys
from typing import Any

import torch

__all__ = ["as_image", "kind_of", "wrapped"]

_MODULE = "torchvision.tv_tensors"


def kind_of(value: Any) -> str:
    """Returns the name of the class of torchvision's tensors that a value belongs to, or ""."""
    if type(value) is torch.Tensor or not isinstance(value, torch.Tensor):
        return ""
    for kind in type(value).__mro__:
        if kind.__module__.startswith(_MODULE):
            return kind.__name__
    return ""


def wrapped(data: torch.Tensor, like: Any, **attributes: Any) -> Any:
    """Returns a tensor as one of torchvision's tensors, with the attributes of another."""
    return sys.modules[_MODULE].wrap(data, like=like, **attributes)


def as_image(data: torch.Tensor) -> Any:
    """Returns a tensor as torchvision's class Image; as it is if torchvision is not in use."""
    module = sys.modules.get(_MODULE)
    return data if module is None else module.Image(data)
