# SPDX-License-Identifier: Apache-2.0
"""What transforms work on: the data nodes of a sample, and what is known about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch

from torchdali import fn, types
from torchdali.data_node import DataNode
from torchdali.errors import UnsupportedError, _make

__all__ = ["Sample", "check_dtype", "size_in_file"]

Kind = Literal["pil", "tensor"]
_LARGEST = {torch.uint8: 255.0, torch.float32: 1.0}
_TYPES = {torch.uint8: types.UINT8, torch.float32: types.FLOAT}


class Sample:
    """A sample while transforms are recorded.

    The image is a node of one layout, whatever torchvision's is at this point: uint8 in 0 to 255,
    or float32. Conversions and normalization are not recorded at once. They are kept as
    (x - mean) / std of the node, and recorded as one operator when values or the result are needed.

    Args:
        image: the image.
        kind: what torchvision's transforms would get: a Pillow image, or a tensor.
        dtype: of the image: torch.uint8 or torch.float32.
        size: makes the node of height and width, float32 [2]; None: it is read from the image.
        channels: 3, or 1 of a gray image.
        layout: of the node: "HWC", or "CHW" of a tensor.

    Attributes:
        kind, channels, layout: see above.
        dtype: of the values as torchvision has them.
        boxes: float32 [N, 4], (left, top, right, bottom) in pixels; None: there are none.
        masks: uint8 [H, W, N].
        keypoints: float32 [N, 2], (x, y) in pixels.
        labels: of the boxes, int64 [N].
        follows: whether torchvision's boxes, masks and key points, which are not in the graph,
            follow the image.
        moves: how they do: (function, values) in turn, see `follow()`; values are None of what
            `follow_together()` got.
        needs_one_size: whether torchvision checks that they are of images of this size.
        wraps: whether torchvision would have a tensor of its class Image here.
        is_array: whether the image was given as a NumPy array, which ToTensor() converts.
    """

    def __init__(
        self,
        image: DataNode,
        kind: Kind = "pil",
        dtype: torch.dtype = torch.uint8,
        size: Callable[[], DataNode] | None = None,
        channels: int = 3,
        layout: Literal["HWC", "CHW"] = "HWC",
    ) -> None:
        self.channels, self.layout = channels, layout
        self.kind: Kind = kind
        self.dtype = dtype
        self._node, self._node_dtype = image, dtype
        self._mean: list[float] = [0.0]
        self._std: list[float] = [1.0]
        self._size = size
        self.boxes: DataNode | None = None
        self.masks: DataNode | None = None
        self.keypoints: DataNode | None = None
        self.labels: DataNode | None = None
        self.follows = False
        self.moves: list[tuple[Callable[..., Any], tuple[Any, ...] | None]] = []
        self.needs_one_size = False
        self.wraps = self.is_array = False

    @property
    def has_more(self) -> bool:
        """Whether there are boxes, masks or key points that follow the image."""
        return any(part is not None for part in (self.boxes, self.masks, self.keypoints))

    def follow(self, function: Callable[..., None], *values: Any, one_size: bool = False) -> None:
        """Says how boxes, masks and key points that are not in the graph follow the image.

        Args:
            function: gets an `Annotation` and the values; moves it.
            *values: constants, and data nodes, in place of which the function gets lists of
                numbers; a flat tensor in place of more than 64 numbers.
            one_size: whether torchvision refuses boxes of an image of another size.
        """
        if self.follows:
            self.needs_one_size |= one_size
            self.moves.append((function, values))

    def follow_together(self, function: Callable[[Any], Any]) -> None:
        """The same for a function that gets the image with all that follows it, and returns them.

        The image among them may be the one after later transforms.
        """
        if self.follows:
            self.moves.append((function, None))

    @property
    def largest(self) -> float:
        """The value of full intensity: 255 or 1."""
        return _LARGEST[self.dtype]

    @property
    def size(self) -> DataNode:
        """Height and width of the image, float32 [2]."""
        if self._size is None:
            height = self.layout.index("H")
            node = self._node.shape(dtype=types.FLOAT)[height : height + 2]
        else:
            node = self._size()
        assert isinstance(node, DataNode)
        self._size = lambda: node
        return node

    # -- the image

    @property
    def image(self) -> DataNode:
        """The image, in `layout`, with the values that torchvision has at this point.

        Setting it to a node keeps the type and the size; see `set_image()`.
        """
        if not self._is_plain:
            self._node = self._normalized(self.layout)
            self._node_dtype, self._mean, self._std = torch.float32, [0.0], [1.0]
        return self._node

    @image.setter
    def image(self, node: DataNode) -> None:
        self._node, self._node_dtype, self._mean, self._std = node, self.dtype, [0.0], [1.0]

    def set_image(self, node: DataNode, height: float, width: float) -> None:
        """Sets the image to one of the same type and of another, fixed size."""
        self.image = node
        self.set_fixed_size(height, width)

    def set_fixed_size(self, height: float, width: float) -> None:
        """Says that the image has got a size that all samples have."""
        self._size = lambda: fn.constant(fdata=[height, width], shape=[2])

    def set_size(self, size: Callable[[], DataNode] | None) -> None:
        """Says that the image has got another size.

        Args:
            size: makes the node of height and width; None: it is read from the image.
        """
        self._size = size

    def move_pixels(self, function: Callable[[DataNode], DataNode]) -> None:
        """Replaces the image by one with the same pixels at other places.

        Conversions and normalization stay delayed.

        Args:
            function: crops, flips, ... the node that it gets, of any type. It makes no new
                values; a constant border would have to be converted like the image.
        """
        self._node = function(self._node)

    def pad_or_move_pixels(self, function: Callable[[DataNode], DataNode]) -> None:
        """The same for a function that also adds pixels with the value 0."""
        if set(self._mean) == {0.0}:  # 0 is 0 in the node, too
            self.move_pixels(function)
        else:
            self.image = function(self.image)

    def to_float(self) -> None:
        """Converts integers to float32, full intensity to 1; floats stay."""
        if self.dtype == torch.uint8:
            self.dtype = torch.float32
            self.scale(255.0)

    def scale(self, divisor: float) -> None:
        """Divides the values; the type is float32 from here on."""
        self._std = [std * divisor for std in self._std]
        self.dtype = torch.float32

    def normalize(self, mean: Sequence[float], std: Sequence[float]) -> None:
        """Subtracts means from the float32 values of channels, and divides by deviations."""
        count = max(len(mean), len(std), len(self._mean), len(self._std))
        means, stds, old_means, old_stds = (
            list(values) * (count if len(values) == 1 else 1)
            for values in (mean, std, self._mean, self._std)
        )
        self._mean = [m + s * new for m, s, new in zip(old_means, old_stds, means, strict=True)]
        self._std = [s * new for s, new in zip(old_stds, stds, strict=True)]

    @property
    def _is_plain(self) -> bool:
        """Whether the node has the values."""
        is_mapped = set(self._mean) != {0.0} or set(self._std) != {1.0}
        return not is_mapped and self._node_dtype == self.dtype

    def is_untouched(self, node: DataNode) -> bool:
        """Returns whether the image is still this node, with the values that it has."""
        return self._node is node and self._is_plain

    def _normalized(self, layout: str) -> DataNode:
        node = fn.crop_mirror_normalize(
            self._node,
            mean=self._mean,
            std=self._std,
            dtype=_TYPES[self.dtype],
            output_layout=layout,
        )
        assert isinstance(node, DataNode)
        return node

    def result(self) -> DataNode:
        """Returns the image as torchvision returns it: "HWC" of a Pillow image, else "CHW"."""
        if self.kind == "pil":
            image = self.image
            return image if self.layout == "HWC" else _to_hwc(image)
        if self._is_plain and self.layout == "CHW":
            return self.image
        return self._normalized("CHW")


def _to_hwc(image: DataNode) -> DataNode:
    node = fn.transpose(image, perm=[1, 2, 0])
    assert isinstance(node, DataNode)
    return node


def size_in_file(encoded: DataNode, is_upright: bool) -> Callable[[], DataNode]:
    """Returns what makes the node of height and width of an image, from the header of its file."""

    def size() -> DataNode:
        shape = fn.peek_image_shape(encoded, adjust_orientation=is_upright)
        node = fn.cast(shape[:2], dtype=types.FLOAT)
        assert isinstance(node, DataNode)
        return node

    return size


def check_dtype(dtype: Any, name: str) -> torch.dtype:
    """Returns a type of images that operators can make.

    Raises:
        UnsupportedError: it is another one.
    """
    if dtype not in _TYPES:
        raise _make(
            UnsupportedError,
            f"{name}: images of {dtype} cannot be made",
            fix="convert to torch.float32 or torch.uint8, and the batch to another type",
        )
    assert isinstance(dtype, torch.dtype)
    return dtype
