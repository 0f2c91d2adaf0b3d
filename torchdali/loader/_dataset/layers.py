# SPDX-License-Identifier: Apache-2.0
"""Which layers a loader puts between its batches and the user."""

from __future__ import annotations

from typing import Any

from torchdali.loader._dataset.ahead import DeviceLayer, Layer, PlainDeviceLayer, Pull
from torchdali.loader._dataset.progress import Mark

__all__ = ["layer_of"]


class _Both(Layer):
    """A layer on top of another."""

    def __init__(self, below: Layer, above: Layer) -> None:
        super().__init__()
        self._below, self._above = below, above

    def next(self, pull: Pull) -> tuple[Any, list[Mark]]:
        """See Layer."""
        return self._above.next(lambda: self._below.next(pull))

    def clear(self) -> None:
        """See Layer."""
        self._below.clear()
        self._above.clear()


def layer_of(loader: Any) -> Layer | None:
    """Returns what a loader does to its batches, None where that is nothing."""
    layers: list[Layer] = []
    if loader.pipeline is not None:
        from torchdali.loader._dataset.pipeline import PipelineLayer

        layers.append(PipelineLayer(loader))
    device = loader.device
    if device is not None and device.type == "cuda":
        layers.append(DeviceLayer(device))
    elif device is not None and device.type != "cpu":
        layers.append(PlainDeviceLayer(device))
    if len(layers) == 2:
        return _Both(*layers)
    return layers[0] if layers else None
