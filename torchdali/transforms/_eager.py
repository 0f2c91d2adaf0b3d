# SPDX-License-Identifier: Apache-2.0
"""Where transforms run at once, on tensors and Pillow images; see docs/design/eager.md."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch

from torchdali import fn
from torchdali._eager import values
from torchdali._eager.pillow import IMAGE_MODES, is_pillow, pixels_of, to_image
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


_Tensor = torch.Tensor
_NOTHING: Sequence[_Tensor] = ()
_DTYPES = (torch.uint8, torch.float32)


@dataclass(frozen=True)
class _Traced:
    """What a transform has recorded for one kind of images.

    Attributes:
        program: of the recorded operators; None: the pixels stay as they are.
        kind: of the result.
        layout: of the images that it takes.
        sample: the recorded sample: how boxes, masks and key points follow.
        certain: what was recorded for a transform that chance decides on; it holds no reference to
            others, which are to be released when their users drop them.
        chance: the probability that it is applied.
        otherwise: what is done to other images.
    """

    program: Program | None
    kind: Literal["pil", "tensor"]
    layout: Literal["CHW", "HWC"]
    sample: Sample
    certain: Any = None
    chance: float = 1.0
    otherwise: _Traced | None = None

    def drawn(self) -> _Traced:
        """Returns what is done to an image, by a draw of torch's global generator."""
        if self.otherwise is None or float(torch.rand(())) < self.chance:
            return self
        return self.otherwise


# For each transform, what it has recorded, by its arguments and the kind of the image.
_traced: weakref.WeakKeyDictionary[Any, dict[Any, _Traced]] = weakref.WeakKeyDictionary()


def run(transform: Any, inputs: tuple[Any, ...]) -> Any:
    """Returns what a transform makes of an image, and the other inputs as they are.

    Random values follow from torch's global generator.

    Args:
        transform: which is kept in mind with what it records.
        inputs: of the user: one image, of Pillow, NumPy ("HWC") or torch ("CHW"), and anything
            else; or a structure of them.

    Raises:
        ArgumentTypeError: there is no image.
        ArgumentError: boxes, masks or key points are of an image of another size.
        UnsupportedError: there are several images, or videos or batches of images.
    """
    name = type(transform).__name__
    given = inputs if len(inputs) > 1 else inputs[0]
    if type(given) is _Tensor:
        return _run_on_tensor(transform, given, given, (), is_chw=True)
    if is_pillow(given):
        return _run_on_pillow(transform, given, ())
    leaves = list(leaves_of(given))
    parts = {id(leaf): part for leaf in leaves if (part := annotation(leaf)) is not None}
    image = find_image(name, leaves)
    made = {id(image): _run_on_image(transform, image, list(parts.values()))}
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
    found = [leaf for leaf, kind in pairs if kind == "Image" or is_pillow(leaf)]
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


def run_on_file(transform: Any, data: Any, is_upright: bool = False) -> Any:
    """Returns what a transform makes of the RGB image in a file, which is decoded as Pillow does.

    Args:
        transform: which is kept in mind with what it records.
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
        transform.record(sample)
        program = Program([node], [sample.result()])
        known[key] = _Traced(program, sample.kind, "HWC", sample)
    return _result(known[key], values.sample(data)[0], "")[0]


def _run_on_image(transform: Any, image: Any, parts: Sequence[Annotation]) -> Any:
    """Returns what a transform makes of an image; moves what follows it."""
    if is_pillow(image):
        return _run_on_pillow(transform, image, parts)
    tensor, _ = values.sample(image)
    is_chw = isinstance(image, _Tensor)
    if not is_chw and tensor.dim() == 2:
        tensor = tensor[..., None]
    if type(tensor) is not _Tensor:
        tensor = tensor.as_subclass(_Tensor)
    return _run_on_tensor(transform, image, tensor, parts, is_chw)


def _run_on_pillow(transform: Any, image: Any, parts: Sequence[Annotation]) -> Any:
    channels = IMAGE_MODES.get(image.mode)
    is_plain = channels is not None
    traced = _trace(transform, "pil", torch.uint8, channels or len(image.getbands()), bool(parts))
    if parts:
        _check_sizes(transform, traced, parts, (image.height, image.width))
    traced = traced.drawn()
    made, drawn = None, _NOTHING
    if traced.program is None and traced.kind == "pil":
        made = image  # which is not converted
    elif is_plain and not parts:
        made = (traced.certain or transform).on_pillow(image)
    if made is None:
        made = pixels_of(image, planar=traced.program is None)
        _check_dtype(transform, made.dtype)
        if traced.program is not None:
            made, drawn = _result(traced, made, "HWC")
    if parts:
        _move(traced, parts, drawn)
    return _as_given(image, made, traced, parts)


def _run_on_tensor(
    transform: Any, image: Any, tensor: _Tensor, parts: Sequence[Annotation], is_chw: bool
) -> Any:
    """Returns what a transform makes of an image, which was given as a tensor or an array."""
    shape = tensor.shape
    if len(shape) != 3:
        raise _make(
            UnsupportedError,
            f"{type(transform).__name__}: expected an image [C, H, W], got a tensor of shape "
            f"{list(shape)}",
        )
    values.check_strided(tensor)
    channels = shape[0 if is_chw else 2]
    traced = _trace(transform, "tensor", tensor.dtype, channels, bool(parts))
    if parts:
        _check_sizes(transform, traced, parts, tuple(shape[1:] if is_chw else shape[:2]))
    traced = traced.drawn()
    drawn = _NOTHING
    if traced.program is None:
        made = tensor if is_chw else tensor.permute(2, 0, 1)
    else:
        if is_chw and traced.layout == "HWC":
            tensor = tensor.permute(1, 2, 0)
        made, drawn = _result(traced, tensor, traced.layout)
    if parts:
        _move(traced, parts, drawn)
    return made if type(image) is _Tensor and not parts else _as_given(image, made, traced, parts)


def _as_given(image: Any, made: Any, traced: _Traced, parts: Sequence[Annotation]) -> Any:
    """Returns the result as a tensor of torchvision's class, where torchvision would."""
    if traced.kind == "pil":
        return made
    if kind_of(image) == "Image":
        return made if traced.sample.wraps is False else wrapped(made, image)
    # Without boxes, what ToImage makes is used as a tensor. With them, their next transform has to
    # know the image among other tensors.
    return as_image(made) if parts and traced.sample.wraps else made


def _check_sizes(
    transform: Any, traced: _Traced, parts: Sequence[Annotation], size: tuple[int, ...]
) -> None:
    if traced.sample.needs_one_size and any(part.canvas != size for part in parts):
        raise _make(
            ArgumentError,
            f"{type(transform).__name__}: found several sizes: an image of {size}, and boxes, "
            "masks or key points of " + ", ".join(str(part.canvas) for part in parts),
        )


def _check_dtype(transform: Any, dtype: torch.dtype) -> None:
    if dtype not in _DTYPES:
        name = type(transform).__name__
        raise _make(UnsupportedError, f"{name}: images of {dtype} are not implemented")


def _move(traced: _Traced, parts: Sequence[Annotation], drawn: Sequence[_Tensor]) -> None:
    """Has boxes, masks and key points follow the image."""
    numbers = iter([value.reshape(-1).tolist() for value in drawn])
    for function, given in traced.sample.moves:
        taken = [next(numbers) if isinstance(value, DataNode) else value for value in given]
        for part in parts:
            function(part, *taken)


def _result(traced: _Traced, tensor: _Tensor, layout: str) -> tuple[Any, Sequence[_Tensor]]:
    """Returns what a program makes of a tensor: a tensor or a Pillow image, and its values."""
    program = traced.program
    assert program is not None
    seeds = derive_seeds(draw_seed(), program.num_random) if program.num_random else ()
    outputs = program.run_sample([(tensor, layout)], seeds)
    made = outputs[0][0]
    if traced.kind == "pil":
        made = to_image(made)
    return made, [data for data, _ in outputs[1:]]


def _trace(transform: Any, kind: Any, dtype: torch.dtype, channels: int, follows: bool) -> _Traced:
    """Returns what a transform records for a kind of images, which is recorded once."""
    known = _traced.get(transform)
    if known is None:
        known = _traced[transform] = {}
    key = transform.key(), kind, dtype, channels, follows
    found = known.get(key)
    if found is None:
        _check_dtype(transform, dtype)
        chance, certain = transform.applied()
        found = _traced_in_best_layout(certain, kind, dtype, channels, follows)
        if chance < 1:
            same = _Traced(None, kind, found.layout, Sample(placeholder("image"), kind))
            found = replace(found, certain=certain, chance=chance, otherwise=same)
        known[key] = found
    return found


def _traced_in_best_layout(
    transform: Any, kind: Any, dtype: torch.dtype, channels: int, follows: bool
) -> _Traced:
    # Tensors are not copied to the other layout, if the operators read theirs.
    if kind == "tensor":
        found, reads = _traced_in("CHW", transform, kind, dtype, channels, follows)
        if reads:
            return found
    return _traced_in("HWC", transform, kind, dtype, channels, follows)[0]


def _traced_in(
    layout: Any, transform: Any, kind: Any, dtype: torch.dtype, channels: int, follows: bool
) -> tuple[_Traced, bool]:
    """Returns what is recorded for images of a layout, and whether all operators read it."""
    node = placeholder("image")
    sample = Sample(node, kind, dtype, channels=channels, layout=layout)
    sample.follows = follows
    transform.record(sample)
    if sample.is_untouched(node):
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
