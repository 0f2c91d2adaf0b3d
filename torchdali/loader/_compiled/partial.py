# SPDX-License-Identifier: Apache-2.0
"""Datasets of which only the first transforms are known: the others run in Python, in workers."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch.utils.data import Dataset

from torchdali.errors import TorchdaliError
from torchdali.loader._compiled.recognize import recognize
from torchdali.loader._compiled.recognized import Recognized
from torchdali.transforms import Transform

__all__ = ["PartialSamples"]


class PartialSamples(Dataset[Any]):
    """A dataset whose images the engine decodes and begins to transform, one by one.

    Workers that are other processes recognize the dataset again.

    Args:
        dataset: of the user.
        first: what the engine runs.
        rest: what is called after it.
    """

    def __init__(
        self, dataset: Any, first: Transform, rest: Sequence[Callable[[Any], Any]]
    ) -> None:
        self._dataset, self._first, self._rest = dataset, first, list(rest)
        self._recognized: Recognized | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_recognized": None}

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> Any:
        """Returns a sample. If the engine cannot make it, the dataset does, or raises its error."""
        if self._recognized is None:
            self._recognized = recognize(self._dataset)
        known = self._recognized
        sample, name = known.read(index), known.image
        image, *others = sample if name is None else (sample[name],)
        together: list[Any] = others if known.is_joint else []
        try:
            made = self._begun(image, known, together)
        except TorchdaliError:
            return self._dataset[index]
        for transform in self._rest:
            made = transform(*made) if together else transform(made)
        if together:
            return made
        if name is not None:
            return {**sample, name: made}
        return (made, *others) if others else made

    def renew(self, other: PartialSamples) -> None:
        """Has it make what another one makes."""
        self.__dict__.update(other.__dict__)

    def _begun(self, image: Any, recognized: Recognized, others: list[Any]) -> Any:
        if isinstance(image, dict):  # as Image(decode=False) of Hugging Face's returns it
            image = Path(image["path"]) if image["bytes"] is None else image["bytes"]
        if isinstance(image, os.PathLike):
            image = np.fromfile(image, np.uint8)
        if recognized.is_encoded:
            return self._first.decode(image, recognized.is_upright, *others)
        array = np.asarray(image)
        pillow = importlib.import_module("PIL.Image")
        return self._first(pillow.fromarray(array[..., 0] if array.shape[2] == 1 else array))
