# SPDX-License-Identifier: Apache-2.0
"""One operator on one image, HWC, uint8, on one thread: by a program alone, by its function, ...

Axes: ``call``, a name of CALLS; ``size``, height and width. The peers: a compiled program in the
thread that calls it (docs/design/eager.md), the function of torchdali.functional, a pipeline that
is fed and run, and torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

PEERS = ["torchdali-program", "torchdali-function", "torchdali-pipeline", "torch"]
CALLS = ("flip", "crop_mirror_normalize")
SIZES = (32, 224)
REPEATS = 20  # calls of one step, whose own time is then small
_MEAN, _STD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]


def _arguments(call: str) -> dict[str, Any]:
    return {} if call == "flip" else {"mean": _MEAN, "std": _STD}


def _program(call: str, image: torch.Tensor) -> Callable[[], Any]:
    from torchdali import fn
    from torchdali._eager.program import Program, placeholder

    node = placeholder("image")
    program = Program([node], [getattr(fn, call)(node, **_arguments(call))])
    return lambda: program.run_sample([(image, "HWC")])


def _function(call: str, image: torch.Tensor) -> Callable[[], Any]:
    from torchdali import functional

    function, arguments = getattr(functional, call), _arguments(call)
    return lambda: function(image, **arguments)


def _pipeline(call: str, image: torch.Tensor) -> Callable[[], Any]:
    from torchdali import fn, pipeline_def

    @pipeline_def(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def definition() -> Any:
        node = fn.external_source(name="image", layout="HWC")
        return getattr(fn, call)(node, **_arguments(call))

    pipe = definition()
    pipe.build()

    def run() -> Any:
        pipe.feed_input("image", [image])
        return pipe.run()

    return run


def _torch(call: str, image: torch.Tensor) -> Callable[[], Any]:
    if call == "flip":
        return lambda: image.flip(1)
    mean, std = (torch.tensor(values).reshape(3, 1, 1) for values in (_MEAN, _STD))
    return lambda: image.permute(2, 0, 1).float().sub_(mean).div_(std).contiguous()


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes REPEATS calls and returns their number."""
    torch.set_num_threads(axes["threads"])
    size = axes["size"]
    generator = torch.Generator().manual_seed(0)
    image = torch.randint(0, 256, (size, size, 3), dtype=torch.uint8, generator=generator)
    makers = dict(zip(PEERS, (_program, _function, _pipeline, _torch), strict=True))
    call = makers[peer](axes["call"], image)

    def step() -> int:
        for _ in range(REPEATS):
            call()
        return REPEATS

    return step
