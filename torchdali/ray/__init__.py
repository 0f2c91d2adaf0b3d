# SPDX-License-Identifier: Apache-2.0
"""Pipelines in Ray: preprocessing fleets, and training on datasets of Ray. Needs the package ray.

docs/design/ray.md describes what a rank gets, and what is repeated after a failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import ray.data  # noqa: F401 (the modules of this package need it)
except ImportError as error:
    raise ImportError(
        "torchdali.ray needs the packages ray, pandas and pyarrow\n"
        '  To fix it: pip install "torchdali[ray]"'
    ) from error

from torchdali.ray._loader import RayLoader
from torchdali.ray._mapper import TorchDaliMapper
from torchdali.ray._shared import SharedDataset

if TYPE_CHECKING:
    from torchdali.ray._train import DataConfig

__all__ = ["DataConfig", "RayLoader", "SharedDataset", "TorchDaliMapper"]


def __getattr__(name: str) -> Any:
    if name == "DataConfig":  # needs ray[train], which the others do not
        from torchdali.ray._train import DataConfig

        return DataConfig
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
