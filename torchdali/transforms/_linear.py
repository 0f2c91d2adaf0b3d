# SPDX-License-Identifier: Apache-2.0
"""LinearTransformation, in calls only."""

from __future__ import annotations

from typing import Any

import torch

from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.transforms._detection import EagerTransform
from torchdali.transforms._eager import find_image
from torchdali.transforms._follow import leaves_of, replaced
from torchdali.transforms._tensor_classes import kind_of, wrapped

__all__ = ["LinearTransformation"]


class LinearTransformation(EagerTransform):
    """Subtracts a vector from the values of a tensor, and multiplies them by a matrix.

    Args:
        transformation_matrix: [D, D], where D is the number of values of an image.
        mean_vector: [D].
    """

    def __init__(self, transformation_matrix: torch.Tensor, mean_vector: torch.Tensor) -> None:
        rows, columns = transformation_matrix.shape
        if rows != columns or mean_vector.shape[0] != rows:
            raise _make(
                ArgumentError,
                "LinearTransformation: `transformation_matrix` has shape "
                f"{[rows, columns]} and `mean_vector` {list(mean_vector.shape)}, expected [D, D] "
                "and [D]",
            )
        for attribute in ("device", "dtype"):
            given = [getattr(x, attribute) for x in (transformation_matrix, mean_vector)]
            if given[0] != given[1]:
                raise _make(
                    ArgumentError,
                    f"LinearTransformation: the {attribute} of `transformation_matrix` is "
                    f"{given[0]}, and that of `mean_vector` {given[1]}",
                )
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def _run(self, given: Any) -> Any:
        image = find_image("LinearTransformation", list(leaves_of(given)))
        if not isinstance(image, torch.Tensor):
            raise _make(
                ArgumentTypeError,
                f"LinearTransformation: expected a tensor, got {type(image).__name__}",
                fix="put ToTensor() or ToImage() before it",
            )
        values, count = image.as_subclass(torch.Tensor), len(self.mean_vector)
        if values.shape[-3:].numel() != count:
            raise _make(
                ArgumentError,
                f"LinearTransformation: an image of shape {list(image.shape)}, and a matrix for "
                f"{count} values",
            )
        made = values.reshape(-1, count) - self.mean_vector
        made = torch.mm(made, self.transformation_matrix.to(made.dtype)).reshape(values.shape)
        return replaced(given, {id(image): wrapped(made, image) if kind_of(image) else made})
