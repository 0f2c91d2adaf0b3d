# SPDX-License-Identifier: Apache-2.0
"""Where transforms run at once, on tensors and Pillow images; see docs/design/eager.md."""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from torchdali import fn
from torchdali._eager import devices, values
from torchdali._eager.program import Program, derive_seeds, draw_seed, placeholder
from torchdali.data_node import DataNode, OpNode
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.pipeline._compile import reachable
from torchdali.transforms._annotations import follows_images
from torchdali.transforms._follow import Follower, check_alone, is_pil, leaves_of, replaced
from torchdali.transforms._sample import Sample, size_in_file
from torchdali.transforms._tensor_classes import as_image, kind_of, wrapped

__all__ = ["find_image", "run", "run_on_file"]


@dataclass(frozen=True)
class _Traced:
    """What a transform has recorded for one kind of images.

    Attributes:
        program: of the recorded operators; None: the image is returned as it is.
        kind: of the result.
        layout: of the images that it takes.
        wraps: see Sample.
        follower: of boxes, masks and key points.
    """

    program: Program | None
    kind: Literal["pil", "tensor"]
    layout: Literal["CHW", "HWC"]
    wraps: bool
    follower: Follower


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
    if type(given) is torch.Tensor or is_pil(given):
        return _run_on_image(transform, record, given)[0]
    leaves = list(leaves_of(given))
    image, follows = find_image(name, leaves), any(map(follows_images, leaves))
    made, traced, drawn, size = _run_on_image(transform, record, image, follows)
    if not follows:
        return replaced(given, {id(image): made})
    return traced.follower.follow(given, image, made, drawn, size)


def find_image(name: str, leaves: Sequence[Any]) -> Any:
    """Returns the image among inputs: of Pillow, or torchvision's class, or the first tensor.

    Raises:
        ArgumentTypeError: there is none.
        UnsupportedError: there are several, or videos.
    """
    found = check_alone(name, leaves)
    plain = (torch.Tensor, np.ndarray)
    found = found or [leaf for leaf in leaves if isinstance(leaf, plain) and not kind_of(leaf)]
    if not found:
        raise _make(ArgumentTypeError, f"{name}: there is no image among the inputs")
    return found[0]


def run_on_file(
    transform: Any,
    record: Callable[[Sample], None],
    data: Any,
    is_upright: bool = False,
    others: tuple[Any, ...] = (),
) -> Any:
    """Returns what a transform makes of the RGB image in a file, which is decoded as Pillow does.

    Args:
        transform: which is kept in mind with what it records.
        record: its method.
        data: the bytes of the file.
        is_upright: turn the image as its EXIF data say.
        others: what may follow the image. If there are any, the result is a tuple with them.

    Raises:
        TorchdaliError: the file cannot be decoded.
    """
    node = placeholder("file")
    follows = any(map(follows_images, leaves_of(others)))
    key = transform.key(), "file", is_upright, follows
    known = _traced.setdefault(transform, {})
    if key not in known:
        decoded = fn.decoders.image(node, adjust_orientation=is_upright)
        assert isinstance(decoded, DataNode)
        size = size_in_file(node, is_upright)
        sample = Sample(decoded, size=size)
        sample.follows = follows
        record(sample)
        follower = Follower(type(transform).__name__, sample, size)
        program = Program([node], [sample.result(), *follower.nodes])
        known[key] = _Traced(program, sample.kind, "HWC", sample.wraps, follower)
    traced = known[key]
    made, drawn = _result(traced, values.sample(data)[0], "")
    if not others:
        return made
    if traced.wraps:
        made = as_image(made)
    return traced.follower.follow((made, *others), made, made, drawn)


def _run_on_image(
    transform: Any, record: Callable[[Sample], None], image: Any, follows: bool = False
) -> tuple[Any, _Traced, list[torch.Tensor], tuple[int, ...]]:
    """Returns what a transform makes of an image, what it has drawn, and the size before it."""
    name = type(transform).__name__
    if is_pil(image):
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
            return image, traced, [], (image.height, image.width)
    tensor, _ = values.sample(image)
    kind: Literal["pil", "tensor"] = "pil" if is_pil(image) else "tensor"
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
    wraps, gpu = kind_of(image) == "Image", devices.gpu_of(tensor)
    traced = _trace(transform, record, kind, tensor.dtype, channels, follows, wraps, gpu >= 0)
    size = tuple(tensor.shape[1:] if is_chw else tensor.shape[:2])
    drawn: list[torch.Tensor] = []
    if traced.program is None:
        made = tensor if is_chw else tensor.permute(2, 0, 1)
    else:
        if is_chw and traced.layout == "HWC":
            tensor = tensor.permute(1, 2, 0)
        made, drawn = _result(traced, tensor, traced.layout, gpu)
    return _as_given(image, made, traced, follows), traced, drawn, size


def _as_given(image: Any, made: Any, traced: _Traced, follows: bool) -> Any:
    """Returns the result as a tensor of torchvision's class, where torchvision would."""
    if traced.kind == "pil":
        return made
    if kind_of(image) == "Image":
        return wrapped(made, image) if traced.wraps else made
    # Without boxes, what ToImage makes is used as a tensor. With them, their next transform has to
    # know the image among other tensors.
    return as_image(made) if follows and traced.wraps else made


def _result(
    traced: _Traced, tensor: torch.Tensor, layout: str, gpu: int = devices.CPU
) -> tuple[Any, list[torch.Tensor]]:
    """Returns what a program makes of a tensor: a tensor or a Pillow image, and its values."""
    assert traced.program is not None
    seeds = []
    if traced.program.num_random:
        seeds = derive_seeds(draw_seed(), traced.program.num_random)
    gpu = devices.find([gpu]) if traced.program.uses_gpu else gpu
    outputs = traced.program.run([(tensor, layout)], seeds=seeds, single=True, gpu=gpu)
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
    on_gpu: bool = False,
) -> _Traced:
    known = _traced.setdefault(transform, {})
    key = transform.key(), kind, dtype, channels, follows, wraps, on_gpu
    if key not in known:
        # Tensors are not copied to the other layout, if the operators read theirs.
        layouts: list[Literal["CHW", "HWC"]] = ["CHW"] if kind == "tensor" else []
        for layout in [*layouts, "HWC"]:
            node = placeholder("image", on_gpu)
            sample = Sample(node, kind, dtype, channels=channels, layout=layout)
            sample.follows, sample.wraps = follows, wraps
            name = type(transform).__name__
            try:
                record(sample)
                known[key], reads = _compiled(name, sample, node, kind)
            except (ArgumentError, UnsupportedError) as error:
                if not on_gpu or error.operator is None:
                    raise
                raise _make(
                    UnsupportedError,
                    f"{name}: {error.operator} cannot run on the GPU in this version",
                    fix="pass image.cpu(), and move the result with .cuda()",
                ) from error
            if reads:
                break
    return known[key]


def _compiled(name: str, sample: Sample, node: DataNode, kind: str) -> tuple[_Traced, bool]:
    """Returns what was recorded for images like `node`, and whether all operators read them."""
    follower, layout = Follower(name, sample), sample.layout
    # Of a Pillow image that becomes a tensor, values are copied.
    if sample.is_untouched(node) and sample.kind == kind:
        return _Traced(None, sample.kind, layout, sample.wraps, follower), True
    made = sample.result()
    assert made.source is not None
    reads = all(_reads(node, layout) for node in reachable([made.source]))
    program = Program([node], [made, *follower.nodes])
    return _Traced(program, sample.kind, layout, sample.wraps, follower), reads


def _reads(node: OpNode, layout: str) -> bool:
    layouts = node.schema.inputs[0].layouts if node.schema.inputs else ()
    return layout in layouts or not layouts
