# SPDX-License-Identifier: Apache-2.0
"""``torchdali view``: sheets of what a pipeline makes, before and after augmentation."""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import runpy
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from torchdali import fn, types
from torchdali._cli import AS_DALI, sheet
from torchdali._cli.progress import track
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.pipeline import Pipeline
from torchdali.pipeline._pipeline_def import is_pipeline_def

__all__ = ["add_originals", "main"]

_MODULE = "torchdali_view"  # name of the script
_DEFAULTS = {"batch_size": 8, "num_threads": 2, "device_id": None, "debug": False}
_CHANNELS = (1, 3, 4)
_MOST_VALUES = 12


def _load(text: str) -> tuple[str, Any]:
    """Returns the name and the value of "script.py:name"."""
    path, _, name = text.rpartition(":")
    if not path or not name.isidentifier():
        raise _make(ArgumentError, f"{text} is not of the form script.py:name")
    folder = os.path.dirname(os.path.realpath(path))
    sys.path.insert(0, folder)
    found = runpy.run_path(path, run_name=_MODULE)
    if name not in found:
        own = (key for key, value in found.items() if _is_of_script(value))
        raise _make(ArgumentError, f"{path} has no {name}", fix=f"it has {', '.join(own)}")
    return name, found[name]


def _is_of_script(value: Any) -> bool:
    return isinstance(value, Pipeline) or getattr(value, "__module__", "") == _MODULE


def _make_pipeline(name: str, made: Any, given: dict[str, Any]) -> Pipeline:
    """Returns the pipeline that a name of a script stands for."""
    if callable(made):
        try:
            made = made(**({**_DEFAULTS, **given} if is_pipeline_def(made) else given))
        except TypeError as error:
            raise _make(
                ArgumentTypeError,
                f"{name}: {error}",
                fix="pass the arguments that it needs: name=value",
            ) from error
    if not isinstance(made, Pipeline):
        raise _make(
            ArgumentTypeError,
            f"{name} is a {type(made).__name__}",
            fix="name a pipeline, or a function that returns one, such as one under pipeline_def",
        )
    return made


def _origin(node: DataNode, seen: set[int]) -> DataNode | None:
    """Returns the nearest image before a node that a decoder or a source in Python has made."""
    maker = node.source
    if maker is None or id(maker) in seen:
        return None
    seen.add(id(maker))
    name = maker.schema.name
    if name.startswith("decoders.image") or name == "external_source":
        return node
    found = (_origin(parent, seen) for parent in maker.parents)
    return next((one for one in found if one is not None), None)


def _whole(origin: DataNode) -> DataNode:
    """Returns the whole image of a decoder that decodes a part of it."""
    maker = origin.source
    if maker is None or maker.schema.name in ("decoders.image", "external_source"):
        return origin
    return fn.decoders.image(maker.inputs[0].cpu(), output_type=types.RGB)


def add_originals(pipe: Pipeline) -> tuple[int, list[int | None]]:
    """Adds the images that others were made of as outputs.

    Returns:
        How many outputs there are without them, and for each the output with its original.
    """
    definition = pipe.__torchdali_driver__().definition
    if definition.is_built:
        return len(definition.outputs or ()), [None] * len(definition.outputs or ())
    definition.define(pipe, None)
    outputs = list(definition.outputs or ())
    places: list[int | None] = []
    originals: dict[int, int] = {}
    added: list[DataNode] = []
    with pipe:
        for output in outputs:
            origin = _origin(output, set())
            if origin is None or origin is output:
                places.append(None)
                continue
            if id(origin) not in originals:
                originals[id(origin)] = len(outputs) + len(added)
                added.append(_whole(origin))
            places.append(originals[id(origin)])
    pipe.set_outputs(*outputs, *added)
    return len(outputs), places


def _layout(layout: str | None, shape: Sequence[int]) -> str:
    """Returns the layout of a sample, which is guessed for images without one; "" for others."""
    if layout or len(shape) != 3:
        return layout or ""
    return "HWC" if shape[2] in _CHANNELS else "CHW" if shape[0] in _CHANNELS else ""


def _short(sample: Any) -> str:
    """Returns the values of a small sample, the shape of others."""
    array = sample.as_torch().cpu().numpy()
    if array.size <= _MOST_VALUES:
        values = array.round(4) if array.dtype.kind == "f" else array
        return np.array2string(values, separator=", ", floatmode="maxprec")
    return f"{array.dtype} {'x'.join(map(str, array.shape))}"


def _sections(pipe: Pipeline, batches: int) -> list[sheet.Section]:
    """Runs a pipeline; returns pictures of its outputs, each with its original."""
    count, places = add_originals(pipe)
    structure = pipe.__torchdali_driver__().definition.structure
    names = structure.paths if structure is not None else tuple(map(str, range(count)))
    sections = []
    for number in track(range(-1, batches), "building and running"):
        if number < 0:
            pipe.build()
            continue
        outputs = pipe.run()
        images = [_images(output) for output in outputs]
        values = [
            "; ".join(
                f"{names[i]}={_short(outputs[i][s])}"
                for i in range(count)
                if s not in images[i] and s < len(outputs[i])
            )
            for s in range(len(outputs[0]))
        ]
        for i in range(count):
            before = images[place] if (place := places[i]) is not None else {}
            pictures = [
                replace(
                    one,
                    caption=f"{s}: {one.caption} {values[s] if s < len(values) else ''}".strip(),
                    before=before[s].pixels if s in before else None,
                )
                for s, one in images[i].items()
            ]
            if pictures:
                what = ", before and after" if before else ""
                title = f"batch {number}, output {names[i] or i}{what}"
                sections.append(sheet.Section(title, "", pictures))
    return sections


def _images(batch: Any) -> dict[int, sheet.Picture]:
    """Returns the samples of a batch that are images."""
    found = {}
    for number, sample in enumerate(batch):
        pixels = sample.as_torch()
        layout = _layout(batch.layout(), pixels.shape)
        shape = "x".join(map(str, pixels.shape))
        one = sheet.picture(pixels, layout, shape) if layout else None
        if one is not None:
            found[number] = one
    return found


def _argument(text: str) -> tuple[str, Any]:
    """Returns name and value of "name=value"; what is no Python literal is a string."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def main(arguments: Sequence[str], prog: str) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Runs a pipeline of a script and shows its images, each with the decoded image "
        "that it was made of. The script is loaded as a module: code under "
        '`if __name__ == "__main__"` does not run.',
    )
    parser.add_argument("pipeline", metavar="SCRIPT:NAME", help="a pipeline, or what returns one")
    parser.add_argument(
        "arguments", nargs="*", type=_argument, metavar="name=value", help="its arguments"
    )
    parser.add_argument("--out", default="view.html", metavar="FILE", help="page.html or sheet.png")
    parser.add_argument("--batches", type=int, default=1, help="how many batches; default: 1")
    parser.add_argument("--as-dali", action="store_true", help=AS_DALI)
    options = parser.parse_args(arguments)
    if options.as_dali:
        importlib.import_module("torchdali.as_dali")
    name, made = _load(options.pipeline)
    pipe = _make_pipeline(name, made, dict(options.arguments))
    try:
        sections = _sections(pipe, options.batches)
    finally:
        pipe.close()
    if not sections:
        raise _make(ArgumentError, f"{name} has no images among its outputs")
    sheet.write(options.out, options.pipeline, sections)
    sys.stdout.write(f"written: {options.out}\n")
    return 0
