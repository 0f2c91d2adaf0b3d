# SPDX-License-Identifier: Apache-2.0
"""Recognizes Hugging Face datasets with set_transform(). The package is not imported for it."""

from __future__ import annotations

from typing import Any

from torchdali.errors import TorchdaliError, UnsupportedError, _make
from torchdali.loader._compiled.recognized import Recognized
from torchdali.transforms import OnColumn

__all__ = ["DATASET", "recognize_dataset"]

DATASET = "datasets.arrow_dataset.Dataset"
_IMAGE = "datasets.features.image.Image"


def _unknown(why: str) -> UnsupportedError:
    error = _make(UnsupportedError, why)
    assert isinstance(error, UnsupportedError)
    return error


def recognize_dataset(dataset: Any) -> Recognized:
    """Returns what is known about a datasets.Dataset.

    Raises:
        UnsupportedError: its samples may be anything.
    """
    settings = dataset.format
    transform = (settings.get("format_kwargs") or {}).get("transform")
    if settings["type"] != "custom":
        raise _unknown(
            "there is no set_transform(torchdali.transforms.OnColumn(column, transform))"
        )
    if type(transform) is not OnColumn:
        name = getattr(transform, "__qualname__", type(transform).__qualname__)
        raise _unknown(
            f"{name} of set_transform() may do anything; "
            "torchdali.transforms.OnColumn(column, transform) in its place is compiled"
        )
    every = list(dataset.column_names)
    formatted = [name for name in every if name in settings["columns"]]
    try:
        names = transform.names(formatted)
    except TorchdaliError as error:
        raise _unknown(str(error).splitlines()[0]) from None
    if settings["output_all_columns"]:
        names.update({name: name for name in every if name not in formatted})
    encoded = _encoded(dataset, transform.column).select_columns(list(names))
    if len(encoded) and _is_remote(encoded[0][transform.column]):
        raise _unknown(f"the images of the column `{transform.column}` are not on this machine")

    def read(index: int) -> dict[str, Any]:
        row = encoded[index]
        return {output: row[name] for name, output in names.items()}

    return Recognized(
        "datasets.Dataset",
        read,
        transform.transform,
        True,
        3,
        image=names[transform.column],
        is_upright=True,
    )


def _encoded(dataset: Any, column: str) -> Any:
    """Returns a dataset of the same rows, without a transform, whose images are files or bytes."""
    feature = dataset.features[column]
    if f"{type(feature).__module__}.{type(feature).__qualname__}" != _IMAGE:
        raise _unknown(f"the column `{column}` is {feature}, expected datasets.Image()")
    if feature.mode not in (None, "RGB"):
        raise _unknown(f'the column `{column}` has images of mode "{feature.mode}"')
    plain = dataset.with_format(None)
    return plain.cast_column(column, type(feature)(decode=False)) if feature.decode else plain


def _is_remote(image: Any) -> bool:
    """Returns whether a value of Image(decode=False) is a URL."""
    return isinstance(image, dict) and image["bytes"] is None and "://" in str(image["path"])
