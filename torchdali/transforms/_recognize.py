# SPDX-License-Identifier: Apache-2.0
"""Recognizes the transforms of other packages, which are not imported for it."""

from __future__ import annotations

import importlib
from typing import Any

from torchdali.errors import UnsupportedError, _make
from torchdali.transforms._transform import Transform

__all__ = ["equivalent", "parts", "takes_targets"]

_SEQUENTIAL = "torch.nn.modules.container.Sequential"
_METHODS = ("__call__", "forward", "transform", "make_params", "get_params", "_get_params")
_PACKAGES = ("torch", "torchdali", "torchvision", "timm")


def equivalent(transform: Any) -> Transform:
    """Returns the transform of this package that does what an object of torchvision's does.

    Objects are recognized by the module and the name of their class, exactly: a subclass of the
    user's may do something else.

    Args:
        transform: one of torchvision.transforms or its v2, of timm, or of this package.

    Raises:
        UnsupportedError: there is no equivalent.
    """
    if isinstance(transform, Transform):
        return transform
    kind = type(transform)
    name = f"{kind.__module__}.{kind.__qualname__}"
    own = None
    package = importlib.import_module("torchdali.transforms")
    if name == _SEQUENTIAL:
        _check_unchanged(transform, name)
        composed = package.Compose(list(transform))
        assert isinstance(composed, Transform)
        return composed
    if kind.__module__ == "timm.data.transforms":
        _check_unchanged(transform, name)
        found = importlib.import_module("torchdali.transforms._timm").of_timm(transform)
        if found is None:
            raise _make(UnsupportedError, f"{name}: there is no native equivalent")
        assert isinstance(found, Transform)
        return found
    is_torchvision = kind.__module__.split(".")[:2] == ["torchvision", "transforms"]
    if is_torchvision and kind.__name__ in package.__all__:
        own = getattr(package, kind.__name__)
    if not (isinstance(own, type) and issubclass(own, Transform)):
        raise _make(UnsupportedError, f"{name}: there is no native equivalent")
    _check_unchanged(transform, name)
    return own.from_torchvision(transform)


def parts(transform: Any) -> list[Any]:
    """Returns the transforms that one consists of, in their order: those of Compose and Sequential.

    Args:
        transform: of torchvision, or any other.
    """
    kind = type(transform)
    is_compose = kind.__name__ == "Compose" and kind.__module__.startswith(
        ("torchvision.transforms", "torchdali.transforms")
    )
    is_sequential = f"{kind.__module__}.{kind.__qualname__}" == _SEQUENTIAL
    if not (is_compose or is_sequential):
        return [transform]
    try:
        _check_unchanged(transform, kind.__qualname__)
    except UnsupportedError:
        return [transform]
    members = transform if is_sequential else transform.transforms
    return [part for member in members for part in parts(member)]


def takes_targets(transform: Any) -> bool:
    """Returns whether calls with images and their targets are possible: not those of older classes.

    Args:
        transform: of torchvision.transforms.v2 or of this package; others may be among its members.
    """
    kind = type(transform)
    is_v2 = kind.__module__.startswith("torchvision.transforms.v2.")
    return (is_v2 or isinstance(transform, Transform)) and all(map(_may_take, _members(transform)))


def _members(transform: Any) -> list[Any]:
    members = getattr(transform, "transforms", None)
    is_list = isinstance(members, (list, tuple)) or type(members).__name__ == "ModuleList"
    return list(members) if is_list and members is not None else []


def _may_take(transform: Any) -> bool:
    kind = type(transform)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if name == _SEQUENTIAL or name.startswith(("torchvision.transforms.", "timm.")):
        return takes_targets(transform)
    return all(map(_may_take, _members(transform)))


def _check_unchanged(transform: Any, name: str) -> None:
    """Checks that an object does what its class does, and its class what its package does.

    Raises:
        UnsupportedError: a method was replaced, or there are hooks.
    """
    for method in _METHODS:
        function = getattr(type(transform), method, None)
        package = str(getattr(function, "__module__", "")).partition(".")[0]
        if method in vars(transform) or (function is not None and package not in _PACKAGES):
            raise _make(UnsupportedError, f"{name}: `{method}` was replaced")
    if getattr(transform, "_forward_hooks", None) or getattr(transform, "_forward_pre_hooks", None):
        raise _make(UnsupportedError, f"{name}: it has hooks")
