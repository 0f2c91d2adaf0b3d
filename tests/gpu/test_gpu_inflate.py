# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.inflate on the GPU: chunks anywhere, types, damaged blocks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.ops import run_op

from torchdali import types
from torchdali.errors import UnsupportedError

OP = "decoders.inflate"


def literals(data: bytes) -> bytes:
    """Returns a block without matches, of at least 15 bytes."""
    more = len(data) - 15
    return b"\xf0" + b"\xff" * (more // 255) + bytes([more % 255]) + data


def tensor(data: bytes) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(data, np.uint8).copy())


def test_chunks_may_be_anywhere_and_of_any_type(backend):
    rng = np.random.default_rng(3)
    parts = [rng.bytes(240), bytes(239) + b"\3"]
    blocks = [literals(part) for part in parts]
    data = tensor(b"??" + blocks[1] + b"?" + blocks[0])
    offsets = [3 + len(blocks[1]), 2]
    sizes = [len(block) for block in blocks]
    args = {"chunk_offsets": offsets, "chunk_sizes": sizes, "shape": [5, -1]}
    for dtype, numpy in ((types.UINT8, "u1"), (types.FLOAT64, "f8"), (types.BOOL, "?")):
        args["shape"] = [5, 48 // np.dtype(numpy).itemsize]
        ours = run_op(OP, data, device="gpu", dtype=dtype, **args)
        assert ours.device.type == backend
        theirs = run_op(OP, data, dtype=dtype, **args)
        assert ours.cpu().numpy().tobytes() == theirs.numpy().tobytes()


def test_what_follows_damage_is_zero(backend):
    start = literals(bytes(range(1, 21)))
    for rest in (b"", b"\x00", b"\x01\0", b"\0\0\x10a", b"\x99\0\x10a", b"\1\0\xff", b"\1\0\xf5ab"):
        ours = run_op(OP, tensor(start + rest), device="gpu", shape=[24]).cpu().numpy()
        assert ours[:20].tolist() == list(range(1, 21)), rest
        assert not ours[20:].any() or len(set(ours[20:].tolist())) == 1
    # More data than `shape`, and none.
    assert not run_op(OP, tensor(start), device="gpu", shape=[10]).cpu().any()
    assert not run_op(OP, tensor(b""), device="gpu", shape=[10]).cpu().any()


def test_any_bytes_are_read_inside_of_the_block(backend):
    rng = np.random.default_rng(8)
    for _ in range(200):
        data = rng.integers(0, 256, rng.integers(1, 60), "u1") & rng.choice([255, 31, 3])
        result = run_op(OP, torch.from_numpy(data.astype("u1")), device="gpu", shape=[100])
        assert result.shape == (100,)


def test_sizes_cannot_be_checked(backend):
    with pytest.raises(UnsupportedError, match="`check_output_size` is not supported on the GPU"):
        run_op(OP, tensor(literals(bytes(20))), device="gpu", shape=[20], check_output_size=True)
