# SPDX-License-Identifier: Apache-2.0
"""Transforms of a column of a Hugging Face dataset."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Mapping
from typing import Any

from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["OnColumn"]

_ORIENTATION = 274  # the tag of EXIF


class OnColumn:
    """What set_transform() of a Hugging Face dataset takes: transforms the images of a column.

    It works with any loader. DataLoader(accelerate=True) can run it in the engine, unlike a
    function.

    Args:
        column: has images: decoded, or as `Image(decode=False)` returns them.
        transform: of torchvision or of torchdali.transforms, or any function of a Pillow image,
            which it gets in RGB and turned upright.
        output: the name of the column of results, which takes the place of the other; None: the
            name stays.

    Raises:
        ArgumentTypeError: an argument is of another type.
    """

    def __init__(
        self, column: str, transform: Callable[[Any], Any], output: str | None = None
    ) -> None:
        for name, value in {"column": column, "output": output or column}.items():
            if not isinstance(value, str):
                raise _make(
                    ArgumentTypeError, f"OnColumn: `{name}` is {value!r}, expected a column's name"
                )
        if not callable(transform):
            raise _make(
                ArgumentTypeError,
                f"OnColumn: `transform` is a {type(transform).__name__}, expected a function of "
                "an image",
            )
        self.column, self.transform, self.output = column, transform, output

    def names(self, columns: Any) -> dict[str, str]:
        """Returns the names of the results, by those of the columns.

        Raises:
            ArgumentError: there is no such column, or two results have one name.
        """
        named = {name: name for name in columns}
        if self.column not in named:
            raise _make(
                ArgumentError,
                f"OnColumn: there is no column `{self.column}`; there are "
                + ", ".join(f"`{name}`" for name in named),
            )
        if self.output is not None and self.output != self.column:
            if self.output in named:
                raise _make(
                    ArgumentError,
                    f"OnColumn: `output` is `{self.output}`, which is another column",
                    fix="choose another name, or remove that column",
                )
            named[self.column] = self.output
        return named

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a batch whose images are transformed.

        Args:
            batch: a list of values for each column.

        Raises:
            ArgumentError: see names().
            ArgumentTypeError: it is no batch, or the column has other values than images.
        """
        if not isinstance(batch, Mapping):
            raise _make(
                ArgumentTypeError,
                f"OnColumn: got a {type(batch).__name__}, expected a dict of columns",
                fix="pass it to set_transform() or with_transform() of a datasets.Dataset",
            )
        return {
            output: [self.transform(self._image(value)) for value in batch[name]]
            if name == self.column
            else batch[name]
            for name, output in self.names(batch).items()
        }

    def _image(self, value: Any) -> Any:
        """Returns an RGB image of Pillow."""
        if isinstance(value, dict) and value.keys() == {"bytes", "path"}:
            value = _opened(value)
        if not hasattr(value, "convert"):
            raise _make(
                ArgumentTypeError,
                f"OnColumn: the column `{self.column}` has a {type(value).__name__}, expected "
                "images",
            )
        return value.convert("RGB")

    def __repr__(self) -> str:
        return f"OnColumn({self.column!r}, {self.transform!r}, output={self.output!r})"


def _opened(value: dict[str, Any]) -> Any:
    """Returns the image of a value of `Image(decode=False)`, as `Image()` returns it."""
    data = value["bytes"]
    file = value["path"] if data is None else io.BytesIO(data)
    image = importlib.import_module("PIL.Image").open(file)
    image.load()
    if image.getexif().get(_ORIENTATION) is not None:
        image = importlib.import_module("PIL.ImageOps").exif_transpose(image)
    return image
