# SPDX-License-Identifier: Apache-2.0
"""Where transforms run at once, on tensors and Pillow images; see docs/design/eager.md."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch

from torchdali import fn
from torchdali._eager import devices, values
from torchdali._eager.pillow import IMAGE_MODES, is_pillow, pixels_of, to_image
from torchdali._eager.program import Program, derive_seeds, draw_seed, placeholder
from torchdali.data_node import DataNode, OpNode
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.pipeline._compile import reachable
from torchdali.transforms._annotations import follows_images
from torchdali.transforms._follow import Follower, check_alone, leaves_of, replaced, size_of
from torchdali.transforms._sample import Sample, size_in_file
from torchdali.transforms._tensor_classes import as_image, kind_of, wrapped

__all__ = ["find_image", "run", "run_on_file"]


_Tensor = torch.Tensor
_NOTHING: Sequence[_Tensor] = ()
_DTYPES = (torch.uint8, torch.float32)
# Of Pillow images; arrays of bytes become images of the same modes again.
_MODES = ("L", "LA", "RGB", "RGBA")


@dataclass(frozen=True)
class _Traced:
    """What a transform has recorded for one kind of images.

    Attributes:
        program: of the recorded operators; None: the pixels stay as they are.
        kind: of the result.
        layout: of the images that it takes.
        wraps: see Sample.
        follower: of boxes, masks and key points.
        certain: what was recorded for a transform that chance decides on; it holds no reference to
            others, which are to be released when their users drop them.
        chance: the probability that it is applied.
        otherwise: what is done to other images.
    """

    program: Program | None
    kind: Literal["pil", "tensor"]
    layout: Literal["CHW", "HWC"]
    wraps: bool
    follower: Follower
    certain: Any = None
    chance: float = 1.0
    otherwise: _Traced | None = None

    def drawn(self) -> _Traced:
        """Returns what is done to an image, by a draw of torch's global generator."""
        if self.otherwise is None or float(torch.rand(())) < self.chance:
            return self
        return self.otherwise


# What was made of an image, how, and the values of the follower's nodes.
_Made = tuple[Any, _Traced, Sequence[_Tensor]]

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
    given = inputs if len(inputs) > 1 else inputs[0]
    if type(given) is _Tensor:
        return _run_on_tensor(transform, given, given, follows=False)[0]
    if is_pillow(given):
        return _run_on_pillow(transform, given, follows=False)[0]
    leaves = list(leaves_of(given))
    image = find_image(type(transform).__name__, leaves)
    follows = any(map(follows_images, leaves))
    made, traced, drawn = _run_on_image(transform, image, follows)
    if not follows:
        return replaced(given, {id(image): made})
    return traced.follower.follow(given, image, made, drawn, size_of(image))


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


def _run_on_image(transform: Any, image: Any, follows: bool) -> _Made:
    if is_pillow(image):
        return _run_on_pillow(transform, image, follows)
    tensor, _ = values.sample(image)
    if isinstance(image, _Tensor):
        if type(tensor) is not _Tensor:
            tensor = tensor.as_subclass(_Tensor)
        return _run_on_tensor(transform, image, tensor, follows)
    if tensor.dim() == 2:
        tensor = tensor[..., None]
    if tensor.dim() == 3:  # else it is refused
        tensor = tensor.permute(2, 0, 1)
    made, traced, drawn = _run_on_tensor(transform, image, tensor, follows, is_array=True)
    if isinstance(made, _Tensor) and not made.is_contiguous():
        made = made.contiguous()  # not another view of the array
    return made, traced, drawn


def _run_on_pillow(transform: Any, image: Any, follows: bool) -> _Made:
    if image.mode not in _MODES:
        raise _make(
            UnsupportedError,
            f"{type(transform).__name__}: Pillow images of mode {image.mode} are not implemented",
            fix='pass image.convert("RGB"), or put RGB() before it',
        )
    is_plain = image.mode in IMAGE_MODES
    traced = _trace(transform, "pil", torch.uint8, len(image.getbands()), follows, wraps=False)
    traced = traced.drawn()
    made, drawn = None, _NOTHING
    if traced.program is None and traced.kind == "pil":
        made = image  # which is not converted
    elif is_plain and not follows:
        made = (traced.certain or transform).on_pillow(image)
    if made is None:
        made = pixels_of(image, planar=traced.program is None)
        if traced.program is not None:
            made, drawn = _result(traced, made, "HWC")
    return _as_given(image, made, traced, follows), traced, drawn


def _run_on_tensor(
    transform: Any, image: Any, tensor: _Tensor, follows: bool, is_array: bool = False
) -> _Made:
    """Returns what a transform makes of an image "CHW", which was a tensor or an array."""
    shape = tensor.shape
    if len(shape) != 3:
        raise _make(
            UnsupportedError,
            f"{type(transform).__name__}: expected an image [C, H, W], got a tensor of shape "
            f"{list(shape)}",
        )
    values.check_strided(tensor)
    is_tensor = type(image) is _Tensor
    wraps = not is_tensor and kind_of(image) == "Image"
    gpu = devices.gpu_of(tensor)
    kind = "array" if is_array else "tensor"
    traced = _trace(transform, kind, tensor.dtype, shape[0], follows, wraps, gpu >= 0).drawn()
    drawn = _NOTHING
    if traced.program is None:
        made = tensor
    else:
        if traced.layout == "HWC":
            tensor = tensor.permute(1, 2, 0)
        made, drawn = _result(traced, tensor, traced.layout, gpu)
    if not is_tensor or follows:
        made = _as_given(image, made, traced, follows)
    return made, traced, drawn


def _as_given(image: Any, made: Any, traced: _Traced, follows: bool) -> Any:
    """Returns the result as a tensor of torchvision's class, where torchvision would."""
    if traced.kind == "pil":
        return made
    if kind_of(image) == "Image":
        return wrapped(made, image) if traced.wraps else made
    # Without boxes, what ToImage makes is used as a tensor. With them, their next transform has to
    # know the image among other tensors.
    return as_image(made) if follows and traced.wraps else made


def _check_dtype(transform: Any, dtype: torch.dtype) -> None:
    if dtype not in _DTYPES:
        name = type(transform).__name__
        raise _make(UnsupportedError, f"{name}: images of {dtype} are not implemented")


def _result(
    traced: _Traced, tensor: _Tensor, layout: str, gpu: int = devices.CPU
) -> tuple[Any, Sequence[_Tensor]]:
    """Returns what a program makes of a tensor: a tensor or a Pillow image, and its values."""
    program = traced.program
    assert program is not None
    seeds = derive_seeds(draw_seed(), program.num_random) if program.num_random else ()
    gpu = devices.find([gpu]) if program.uses_gpu else gpu
    outputs = program.run_sample([(tensor, layout)], seeds, gpu)
    made = outputs[0][0]
    if traced.kind == "pil":
        made = to_image(made.cpu())
    return made, [data for data, _ in outputs[1:]]


def _trace(
    transform: Any,
    kind: Any,
    dtype: torch.dtype,
    channels: int,
    follows: bool,
    wraps: bool,
    on_gpu: bool = False,
) -> _Traced:
    """Returns what a transform records for a kind of images, which is recorded once.

    A kind is "pil", "tensor", or "array" of a tensor that was an array.
    """
    known = _traced.get(transform)
    if known is None:
        known = _traced[transform] = {}
    key = transform.key(), kind, dtype, channels, follows, wraps, on_gpu
    found = known.get(key)
    if found is None:
        _check_dtype(transform, dtype)
        chance, certain = transform.applied()
        name = type(transform).__name__
        is_array = kind == "array"
        kind = "tensor" if is_array else kind

        def traced_in(layout: Literal["CHW", "HWC"]) -> tuple[_Traced, bool]:
            node = placeholder("image", on_gpu)
            sample = Sample(node, kind, dtype, channels=channels, layout=layout)
            sample.follows, sample.wraps, sample.is_array = follows, wraps, is_array
            try:
                certain.record(sample)
                return _compiled(name, sample, node, kind)
            except (ArgumentError, UnsupportedError) as error:
                if not on_gpu or error.operator is None:
                    raise
                raise _make(
                    UnsupportedError,
                    f"{name}: {error.operator} cannot run on the GPU in this version",
                    fix="pass image.cpu(), and move the result with .cuda()",
                ) from error

        # Tensors are not copied to the other layout, if the operators read theirs.
        found, reads = traced_in("CHW" if kind == "tensor" else "HWC")
        if not reads and kind == "tensor":
            found, _ = traced_in("HWC")
        if chance < 1:
            follower = Follower(name, Sample(placeholder("image"), kind))
            same = _Traced(None, kind, found.layout, wraps, follower)
            found = replace(found, certain=certain, chance=chance, otherwise=same)
        known[key] = found
    return found


def _compiled(name: str, sample: Sample, node: DataNode, kind: str) -> tuple[_Traced, bool]:
    """Returns what was recorded for images like `node`, and whether all operators read them."""
    follower, layout = Follower(name, sample), sample.layout
    # A tensor that becomes a Pillow image is read as "HWC".
    if sample.is_untouched(node) and (sample.kind == kind or kind == "pil"):
        return _Traced(None, sample.kind, layout, sample.wraps, follower), True
    made = sample.result()
    assert made.source is not None
    reads = all(_reads(node, layout) for node in reachable([made.source]))
    program = Program([node], [made, *follower.nodes])
    return _Traced(program, sample.kind, layout, sample.wraps, follower), reads


def _reads(node: OpNode, layout: str) -> bool:
    layouts = node.schema.inputs[0].layouts if node.schema.inputs else ()
    return layout in layouts or not layouts
