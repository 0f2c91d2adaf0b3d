# SPDX-License-Identifier: Apache-2.0
"""fn.io.file.read: the bytes of the files whose paths are in a tensor."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.ops import OpCase, run_op

from torchdali import Pipeline, fn
from torchdali.errors import FileError

OP = "io.file.read"
FILES = [Path(__file__), Path(__file__).with_name("test_readers_file.py")]


def encoded(path, padding=0):
    return torch.from_numpy(np.frombuffer(str(path).encode() + bytes(padding), np.uint8).copy())


CASES = [
    OpCase(
        OP,
        make=lambda i: encoded(FILES[i % 2], padding=i),
        batch=3,
        args=args,
        no_parity="DALI 1.35 has no such operator",
    )
    for args in ({}, {"dont_use_mmap": True})
]


def contents(path, **args):
    name = path if isinstance(path, torch.Tensor) else encoded(path)
    return run_op(OP, name, **args).numpy().tobytes()


def test_files_are_read(tmp_path):
    for size in (0, 1, 5_000_000):
        data = os.urandom(size)
        path = tmp_path / "größe"
        path.write_bytes(data)
        for name in (path, f"file://{path}"):
            assert contents(name) == data
            assert contents(encoded(name, padding=3)) == data


def test_paths_differ_from_sample_to_sample(tmp_path):
    paths = [tmp_path / str(i) for i in range(3)]
    for i, path in enumerate(paths):
        path.write_bytes(bytes([i]) * i)
    pipe = Pipeline(3, 2, device_id=None)
    with pipe:
        names = fn.external_source(source=[[encoded(p) for p in paths]])
        pipe.set_outputs(fn.io.file.read(names))
    pipe.build()
    assert [s.numpy().tobytes() for s in pipe.run()[0].as_torch_list()] == [
        p.read_bytes() for p in paths
    ]


def test_files_are_read_past_the_page_cache(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(os.urandom(3_000_001))
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        pytest.skip("the file system has no O_DIRECT")
    assert contents(path, use_o_direct=True) == path.read_bytes()


def test_errors_name_the_path(tmp_path):
    for path, problem in ((tmp_path / "none", "cannot open"), (tmp_path, "it is a directory")):
        for args in ({}, {"use_o_direct": True}):
            with pytest.raises(FileError, match=f'"{path}": .*') as caught:
                contents(path, **args)
            assert problem in str(caught.value)
    with pytest.raises(ValueError, match="the path is empty"):
        contents(torch.zeros(3, dtype=torch.uint8))
    with pytest.raises(TypeError, match="takes paths, 1-D tensors of uint8, got int64"):
        contents(torch.zeros(3, dtype=torch.int64))
