# SPDX-License-Identifier: Apache-2.0
"""Where transforms run at once, on tensors and Pillow images; see docs/design/eager.md."""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from torchdali import fn
from torchdali._eager import values
from torchdali._eager.program import Program, derive_seeds, draw_seed, placeholder
from torchdali.data_node import DataNode, OpNode
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.pipeline._compile import reachable
from torchdali.transforms._annotations import (
    Annotation,
    annotation,
    as_image,
    kind_of,
    wrapped,
)
from torchdali.transforms._sample import Sample

__all__ = ["find_image", "leaves_of", "replaced", "run", "run_on_file"]


@dataclass(frozen=True)
class _Traced:
    """What a transform has recorded for one kind of images.

    Attributes:
        program: of the recorded operators; None: the image is returned as it is.
        kind: of the result.
        layout: of the images that it takes.
        sample: the recorded sample: how boxes, masks and key points follow.
    """

    program: Program | None
    kind: Literal["pil", "tensor"]
    layout: Literal["CHW", "HWC"]
    sample: Sample


# Of Pillow images; arrays of bytes become images of the same modes again.
_MODES = ("L", "LA", "RGB", "RGBA")

# For each transform, what it has recorded, by its arguments and the kind of the image.
_traced: weakref.WeakKeyDictionary[Any, dict[Any, _Traced]] = weakref.WeakKeyDictionary()


def run(transform: Any, record: Callable[[Sample], None], inputs: tuple[Any, ...]) -> Any:
    """Returns what a transform makes of an image, and the other inputs as they are.

    Random values follow from torch's global generator, from which one number is drawn.

    Args:
        transform: which is kept in mind with what it records.
        record: its method.
        inputs: of the user: one image, of Pillow, NumPy ("HWC") or torch ("CHW"), and anything
            else; or a structure of them.

    Raises:
        ArgumentTypeError: there is no image.
        ArgumentError: boxes, masks or key points are of an image of another size.
        UnsupportedError: there are several images, or videos or batches of images.
    """
    name = type(transform).__name__
    given = inputs if len(inputs) > 1 else inputs[0]
    if type(given) is torch.Tensor or _is_pil(given):
        return _run_on_image(transform, record, given, ())
    leaves = list(leaves_of(given))
    parts = {id(leaf): part for leaf in leaves if (part := annotation(leaf)) is not None}
    image = find_image(name, leaves)
    made = {id(image): _run_on_image(transform, record, image, list(parts.values()))}
    made.update((key, part.result()) for key, part in parts.items())
    return replaced(given, made)


def find_image(name: str, leaves: Sequence[Any]) -> Any:
    """Returns the image among inputs: of Pillow, or torchvision's class, or the first tensor.

    Raises:
        ArgumentTypeError: there is none.
        UnsupportedError: there are several, or videos.
    """
    kinds = [kind_of(leaf) for leaf in leaves]
    if "Video" in kinds:
        raise _make(UnsupportedError, f"{name}: Video is not implemented for tensors")
    pairs = list(zip(leaves, kinds, strict=True))
    found = [leaf for leaf, kind in pairs if kind == "Image" or _is_pil(leaf)]
    if len(found) > 1:
        raise _make(
            UnsupportedError,
            f"{name}: {len(found)} images in one call are not implemented",
            fix="call the transform for each image",
        )
    plain = (torch.Tensor, np.ndarray)
    found = found or [leaf for leaf, kind in pairs if not kind and isinstance(leaf, plain)]
    if not found:
        raise _make(ArgumentTypeError, f"{name}: there is no image among the inputs")
    return found[0]


def leaves_of(value: Any) -> Iterator[Any]:
    """Yields what is in tuples, lists and dicts."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for member in value:
            yield from leaves_of(member)
    else:
        yield value


def replaced(value: Any, made: dict[int, Any]) -> Any:
    """Returns a structure in which objects are replaced, by their id()."""
    if isinstance(value, dict):
        return {key: replaced(member, made) for key, member in value.items()}
    if isinstance(value, (tuple, list)):
        members = [replaced(member, made) for member in value]
        return type(value)(*members) if hasattr(value, "_fields") else type(value)(members)
    return made.get(id(value), value)


def _is_pil(value: Any) -> bool:
    return hasattr(value, "getbands") and hasattr(value, "mode")


def run_on_file(
    transform: Any, record: Callable[[Sample], None], data: Any, is_upright: bool = False
) -> Any:
    """Returns what a transform makes of the RGB image in a file, which is decoded as Pillow does.

    Args:
        transform: which is kept in mind with what it records.
        record: its method.
        data: the bytes of the file.
        is_upright: turn the image as its EXIF data say.

    Raises:
        TorchdaliError: the file cannot be decoded.
    """
    node = placeholder("file")
    key = transform.key(), "file", is_upright
    known = _traced.setdefault(transform, {})
    if key not in known:
        decoded = fn.decoders.image(node, adjust_orientation=is_upright)
        assert isinstance(decoded, DataNode)
        sample = Sample(decoded)
        record(sample)
        program = Program([node], [sample.result()])
        known[key] = _Traced(program, sample.kind, "HWC", sample)
    return _result(known[key], values.sample(data)[0], "")[0]


def _run_on_image(
    transform: Any, record: Callable[[Sample], None], image: Any, parts: Sequence[Annotation]
) -> Any:
    """Returns what a transform makes of an image; moves what follows it."""
    name = type(transform).__name__
    follows = bool(parts)
    if _is_pil(image):
        if image.mode not in _MODES:
            raise _make(
                UnsupportedError,
                f"{name}: Pillow images of mode {image.mode} are not implemented",
                fix='pass image.convert("RGB"), or put RGB() before it',
            )
        # An image that stays as it is, is not converted.
        bands = len(image.getbands())
        traced = _trace(transform, record, "pil", torch.uint8, bands, follows, False)
        if traced.program is None and traced.kind == "pil":
            _move(name, traced, parts, (image.height, image.width), [])
            return image
    tensor, _ = values.sample(image)
    kind: Literal["pil", "tensor"] = "pil" if _is_pil(image) else "tensor"
    if isinstance(image, torch.Tensor):
        if tensor.dim() != 3:
            raise _make(
                UnsupportedError,
                f"{name}: expected an image [C, H, W], got a tensor of shape {list(tensor.shape)}",
            )
        if type(tensor) is not torch.Tensor:
            tensor = tensor.as_subclass(torch.Tensor)
    elif tensor.dim() == 2:
        tensor = tensor[..., None]
    if tensor.dtype not in (torch.uint8, torch.float32):
        raise _make(UnsupportedError, f"{name}: images of {tensor.dtype} are not implemented")
    is_chw = isinstance(image, torch.Tensor)
    channels = tensor.shape[0 if is_chw else 2]
    wraps = kind_of(image) == "Image"
    traced = _trace(transform, record, kind, tensor.dtype, channels, follows, wraps)
    height_and_width = tensor.shape[1:] if is_chw else tensor.shape[:2]
    drawn: list[torch.Tensor] = []
    if traced.program is None:
        made = tensor if is_chw else tensor.permute(2, 0, 1)
    else:
        if is_chw and traced.layout == "HWC":
            tensor = tensor.permute(1, 2, 0)
        made, drawn = _result(traced, tensor, traced.layout)
    if parts:
        _move(name, traced, parts, tuple(height_and_width), drawn)
    elif type(image) is torch.Tensor:
        return made
    return _as_given(image, made, traced, parts)


def _as_given(image: Any, made: Any, traced: _Traced, parts: Sequence[Annotation]) -> Any:
    """Returns the result as a tensor of torchvision's class, where torchvision would."""
    if traced.kind == "pil":
        return made
    if kind_of(image) == "Image":
        return wrapped(made, image) if traced.sample.wraps else made
    # Without boxes, what ToImage makes is used as a tensor. With them, their next transform has to
    # know the image among other tensors.
    return as_image(made) if parts and traced.sample.wraps else made


def _move(
    name: str,
    traced: _Traced,
    parts: Sequence[Annotation],
    size: tuple[int, ...],
    drawn: Sequence[torch.Tensor],
) -> None:
    """Has boxes, masks and key points follow the image."""
    if traced.sample.needs_one_size and any(part.canvas != size for part in parts):
        raise _make(
            ArgumentError,
            f"{name}: found several sizes: an image of {size}, and boxes, masks or key points of "
            + ", ".join(str(part.canvas) for part in parts),
        )
    numbers = iter([v.reshape(-1).tolist() if v.numel() <= 64 else v.reshape(-1) for v in drawn])
    for function, given in traced.sample.moves:
        taken = [next(numbers) if isinstance(value, DataNode) else value for value in given]
        for part in parts:
            function(part, *taken)


def _result(traced: _Traced, tensor: torch.Tensor, layout: str) -> tuple[Any, list[torch.Tensor]]:
    """Returns what a program makes of a tensor: a tensor or a Pillow image, and its values."""
    assert traced.program is not None
    seeds = []
    if traced.program.num_random:
        seeds = derive_seeds(draw_seed(), traced.program.num_random)
    outputs = traced.program.run([(tensor, layout)], seeds=seeds, single=True)
    made, drawn = outputs[0][0], [data for data, _ in outputs[1:]]
    if traced.kind == "tensor":
        return made, drawn
    array = made.numpy()
    module = importlib.import_module("PIL.Image")
    return module.fromarray(array[..., 0] if array.shape[2] == 1 else array), drawn


def _trace(
    transform: Any,
    record: Callable[[Sample], None],
    kind: Any,
    dtype: torch.dtype,
    channels: int,
    follows: bool,
    wraps: bool,
) -> _Traced:
    known = _traced.setdefault(transform, {})
    key = transform.key(), kind, dtype, channels, follows, wraps
    if key not in known:
        # Tensors are not copied to the other layout, if the operators read theirs.
        layouts: list[Literal["CHW", "HWC"]] = ["CHW"] if kind == "tensor" else []
        for layout in [*layouts, "HWC"]:
            known[key], reads = _traced_in(layout, record, kind, dtype, channels, follows, wraps)
            if reads:
                break
    return known[key]


def _traced_in(
    layout: Any,
    record: Callable[[Sample], None],
    kind: Any,
    dtype: torch.dtype,
    channels: int,
    follows: bool,
    wraps: bool,
) -> tuple[_Traced, bool]:
    """Returns what is recorded for images of a layout, and whether all operators read it."""
    node = placeholder("image")
    sample = Sample(node, kind, dtype, channels=channels, layout=layout)
    sample.follows, sample.wraps = follows, wraps
    record(sample)
    # Of a Pillow image that becomes a tensor, values are copied.
    if sample.is_untouched(node) and sample.kind == kind:
        return _Traced(None, sample.kind, layout, sample), True
    made = sample.result()
    assert made.source is not None
    reads = all(_reads(node, layout) for node in reachable([made.source]))
    drawn = [v for _, given in sample.moves for v in given if isinstance(v, DataNode)]
    program = Program([node], [made, *drawn])
    return _Traced(program, sample.kind, layout, sample), reads


def _reads(node: OpNode, layout: str) -> bool:
    layouts = node.schema.inputs[0].layouts if node.schema.inputs else ()
    return layout in layouts or not layouts
