# SPDX-License-Identifier: Apache-2.0
"""Reading arrays by GPUDirect Storage: with a fake library, and (marked cuda) with the real one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.gpu_arrays import (
    LARGE,
    assert_equal,
    assert_same,
    built,
    counts_of,
    next_samples,
    numbers,
    saved,
)

from torchdali import Pipeline, fn, types

pytestmark = pytest.mark.slow

TYPES = ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"]


# -- whole arrays


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", TYPES)
def test_arrays_of_every_type(cufile_calls, tmp_path, dtype, order):
    files = saved(tmp_path, *(numbers(s, dtype, order) for s in (LARGE, (90, 1, 800))))
    counts = assert_same(2, 3, files=files)
    assert set(counts) == {"GDS"}
    assert counts["GDS"] >= 6
    assert len(cufile_calls("file")) == len(cufile_calls("file_end")) >= 6
    assert cufile_calls("memory")


def test_shapes_of_all_kinds(cufile_calls, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHDALI_GDS", "required")
    shapes = [(), (5,), (1, 1), (2, 3, 4, 5, 2, 3, 2, 2)]
    for shape in shapes:
        for order in "CF":
            (file,) = saved(tmp_path, numbers(shape, "i2", order))
            assert set(assert_same(files=[file])) == {"GDS"}
    # There are no bytes to read.
    assert assert_same(files=saved(tmp_path, numbers((0, 3)))) == {}


def test_booleans_are_zero_or_one(cufile_calls, tmp_path):
    array = np.arange(100_000, dtype=np.uint8)
    (file,) = saved(tmp_path, array.astype("?"))
    Path(file).write_bytes(Path(file).read_bytes()[:128] + array.tobytes())
    pipe = built("gpu", files=[file])
    (sample,) = next_samples(pipe)
    assert torch.equal(sample.view(torch.uint8), torch.from_numpy(array != 0).view(torch.uint8))
    assert set(counts_of(pipe)) == {"GDS"}


@pytest.mark.parametrize("chunk", ["4096", "64k", "1M", ""])
def test_files_are_read_in_chunks(cufile_calls, tmp_path, monkeypatch, chunk):
    monkeypatch.setenv("DALI_GDS_CHUNK_SIZE", chunk)
    files = saved(tmp_path, numbers((300, 500)), numbers((40, 501)))
    assert set(assert_same(2, files=files)) == {"GDS"}
    largest = {"4096": 4096, "64k": 1 << 16}.get(chunk, 4096 * -(-(300 * 500 * 4 + 128) // 4096))
    assert max(size for size, _ in cufile_calls("read")) == largest


@pytest.mark.parametrize("chunk", ["0", "1000", "3M", "32M", "2G", "k", "-4096", "1m", "9" * 30])
def test_other_sizes_of_chunks_are_an_error(cufile_calls, tmp_path, monkeypatch, chunk):
    monkeypatch.setenv("DALI_GDS_CHUNK_SIZE", chunk)
    with pytest.raises(ValueError, match=f'DALI_GDS_CHUNK_SIZE is "{chunk}", expected a power'):
        built("gpu", files=saved(tmp_path, numbers(LARGE)))


def test_short_reads_go_on(cufile_calls, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_CUFILE", "parts")
    assert set(assert_same(files=saved(tmp_path, numbers(LARGE, "u1")))) == {"GDS"}


@pytest.mark.parametrize("register", [True, False])
def test_memory_is_registered_on_demand(cufile_calls, tmp_path, register):
    files = saved(tmp_path, numbers(LARGE), numbers((2, *LARGE)), numbers((3, *LARGE)))
    assert set(assert_same(1, 6, files=files, register_buffers=register)) == {"GDS"}
    assert bool(cufile_calls("memory")) == register
    assert len(cufile_calls("memory")) == len(cufile_calls("memory_end")) <= 4


def test_memory_that_cannot_be_registered_is_used_as_it_is(cufile_calls, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_CUFILE", "register")
    assert set(assert_same(files=saved(tmp_path, numbers(LARGE)))) == {"GDS"}


# -- regions


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["?", "u2", "f4", "f8"])
def test_regions(cufile_calls, tmp_path, dtype, order, cached):
    files = saved(tmp_path, numbers((60, 70, 80), dtype, order))
    regions = [
        {"roi_start": [10, 0, 0], "roi_end": [50, 70, 80]},
        {"roi_start": [5, 20, 10], "roi_shape": [50, 40, 60]},
        {"roi_start": [0, 11], "roi_end": [60, 70], "roi_axes": [0, 2]},
        {"rel_roi_start": [0.25, 0.1, 0.0], "rel_roi_shape": [0.5, 0.8, 1.0]},
    ]
    for region in regions:
        counts = assert_same(2, 2, files=files, cache_header_information=cached, **region)
        assert counts["GDS"] >= 1
        assert set(counts) <= {"GDS", "CPU: scattered region"}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["?", "i1", "f2", "i4", "f8"])
def test_regions_that_extend_outside(cufile_calls, tmp_path, dtype, order):
    files = saved(tmp_path, numbers((60, 70, 80), dtype, order))
    region = {"roi_start": [-3, 5, -1], "roi_shape": [66, 70, 83]}
    pads = {"out_of_bounds_policy": "pad", "fill_value": 7}
    assert set(assert_same(files=files, **region, **pads)) == {"GDS"}
    assert set(assert_same(files=files, **region, out_of_bounds_policy="trim_to_shape")) == {"GDS"}
    outside = {"roi_start": [60, 0, 0], "roi_shape": [2, 3, 4]}
    assert assert_same(files=files, **outside, **pads) == {}
    with pytest.raises(RuntimeError, match="reaches outside the sample"):
        next_samples(built("gpu", files=files, **region))


def test_only_the_bytes_of_a_region_are_read(cufile_calls, tmp_path):
    files = saved(tmp_path, numbers((100, 100, 100)))
    assert set(assert_same(files=files, roi_start=[40], roi_end=[50], roi_axes=[0])) == {"GDS"}
    parts = {offset: size for size, offset in cufile_calls("read")}
    assert sum(parts.values()) <= 10 * 40_000 + 2 * 4096


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["?", "u2", "f8"])
def test_scattered_regions_are_read_slab_by_slab(cufile_calls, tmp_path, dtype, order):
    """Each index of the slowest axis has a part of the file, of 64 KB or more."""
    across, *others = (0, 1, 2) if order == "C" else (2, 1, 0)
    shape, start, extent = [0, 0, 0], [2, 2, 2], [3, 3, 3]
    shape[across], shape[others[0]], shape[others[1]] = 6, 40, 40_000
    extent[others[0]] = 4
    files = saved(tmp_path, numbers(tuple(shape), dtype, order))
    for outside in (0, 1):
        start[across], extent[across] = 2 - 3 * outside, 3 + 6 * outside
        region = {"roi_start": start, "roi_shape": extent, "out_of_bounds_policy": "pad"}
        counts = assert_same(2, 2, files=files, fill_value=9, **region)
        assert set(counts) == {"CPU: scattered region"}  # little of each slab, too
        large = [*extent]
        large[others[1]] = 30_000
        region["roi_shape"] = large
        counts = assert_same(2, 2, files=files, fill_value=9, **region)
        assert set(counts) == {"GDS"}
        size = np.dtype(dtype).itemsize
        slab = (4 * 40_000 - 10_000) * size
        largest = sum({offset: bytes_ for bytes_, offset in cufile_calls("read")}.values())
        assert largest <= (3 + 3 * outside) * (slab + 2 * 4096)


@pytest.mark.parametrize("failure", ["read", "later"])
def test_scattered_regions_are_made_up_for(cufile_calls, tmp_path, monkeypatch, failure):
    files = saved(tmp_path, *(numbers((6, 40, 40_000), "f4") for _ in range(2)))
    monkeypatch.setenv("FAKE_CUFILE", f"{failure}:/1.npy")
    region = {"roi_start": [1, 3, 7], "roi_shape": [3, 5, 39_000]}
    counts = assert_same(2, 2, files=files, **region)
    assert set(counts) == {"GDS", "CPU: error 5030 of cuFileRead"}


def test_regions_of_each_sample(cufile_calls, tmp_path):
    files = saved(tmp_path, *(numbers((40, 60, 70)) for _ in range(3)))

    def define(device: str) -> Pipeline:
        with Pipeline(batch_size=3, num_threads=2, device_id=0) as pipe:
            start = fn.external_source(source=[[np.array([i], "i4") for i in range(3)]], cycle=True)
            out = fn.readers.numpy(files=files, device=device, roi_start=start, roi_axes=[0])
            pipe.set_outputs(out)
        pipe.build()
        return pipe

    pipe = define("gpu")
    assert_equal(next_samples(pipe, 2), next_samples(define("cpu"), 2))
    assert set(counts_of(pipe)) == {"GDS"}


# -- the order of samples


@pytest.mark.parametrize(
    "args",
    [
        {"random_shuffle": True},
        {"shuffle_after_epoch": True},
        {"pad_last_batch": True, "num_shards": 2, "shard_id": 1},
        {"stick_to_shard": True, "num_shards": 3, "read_ahead": True, "prefetch_queue_depth": 3},
        {"lazy_init": True, "use_o_direct": True, "dont_use_mmap": True},
    ],
)
def test_samples_come_in_the_order_of_the_cpu(cufile_calls, tmp_path, args):
    files = saved(tmp_path, *(numbers((200, 200 + i)) for i in range(7)))
    assert set(assert_same(3, 6, files=files, **args)) == {"GDS"}


def test_checkpoints_go_on_where_they_were_made(cufile_calls, tmp_path):
    args = {"files": saved(tmp_path, *(numbers((150, 150 + i)) for i in range(7)))}
    args |= {"random_shuffle": True}

    def define(checkpoint: str | None = None) -> Pipeline:
        with Pipeline(
            batch_size=2, num_threads=2, device_id=0, seed=5, enable_checkpointing=True,
            checkpoint=checkpoint,
        ) as pipe:  # fmt: skip
            pipe.set_outputs(fn.readers.numpy(device="gpu", name="Reader", **args))
        pipe.build()
        return pipe

    pipe = define()
    next_samples(pipe, 3)
    checkpoint = pipe.checkpoint()
    expected = next_samples(pipe, 4)
    resumed = define(checkpoint)
    assert_equal(next_samples(resumed, 4), expected)
    assert_equal(expected, next_samples(built("cpu", 2, **args), 7)[6:])
    assert set(counts_of(resumed)) == {"GDS"}


def test_operators_that_follow_run_on_the_gpu(cufile_calls, tmp_path):
    files = saved(tmp_path, numbers(LARGE), numbers((100, 300)))

    def define(device: str) -> Pipeline:
        with Pipeline(batch_size=1, num_threads=2, device_id=0) as pipe:
            arrays = fn.readers.numpy(files=files, device=device)
            pipe.set_outputs(fn.reductions.sum(arrays * 2 + 1, axes=[0], dtype=types.FLOAT64))
        pipe.build()
        return pipe

    pipe = define("gpu")
    assert_equal(next_samples(pipe, 4), next_samples(define("cpu"), 4))
    assert set(counts_of(pipe)) == {"GDS"}


def test_groups_of_arrays_take_turns(cufile_calls, tmp_path):
    """More than what is read at a time."""
    files = saved(tmp_path, *(np.full((100 << 20) + i, i, np.uint8) for i in range(3)))
    assert set(assert_same(3, 2, files=files)) == {"GDS"}
    assert max(size for (size, *_) in cufile_calls("memory")) < 300 << 20


# -- the real library


@pytest.fixture
def real_library(monkeypatch):
    """Uses the GPU and NVIDIA's library, and says what else is so in a failure."""
    for name in ("TORCHDALI_EMULATE_GPU", "TORCHDALI_GDS_LIBRARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TORCHDALI_GDS", "1")


@pytest.mark.cuda
@pytest.mark.on_gpu("readers.numpy")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.usefixtures("real_library")
def test_the_real_library_reads_what_the_cpu_reads(tmp_path, dtype, order):
    files = saved(tmp_path, *(numbers((50 + i, 100, 120), dtype, order) for i in range(5)))
    args = {"files": files, "random_shuffle": True}
    counts = assert_same(3, 6, **args)
    pads = {"out_of_bounds_policy": "pad", "fill_value": 1}
    assert_same(3, 3, **args, roi_start=[-3, 5, -1], roi_shape=[56, 100, 123], **pads)
    if "GDS" not in counts:
        pytest.skip(f"it does not read files here: {counts}")


@pytest.mark.cuda
@pytest.mark.on_gpu("readers.numpy")
@pytest.mark.usefixtures("real_library")
def test_the_real_library_reads_batches_that_are_computed_with(tmp_path):
    """Memory that files are read into is used again while kernels run."""
    files = saved(tmp_path, *(np.full((1 << 20,), i, np.float32) for i in range(16)))
    with Pipeline(batch_size=4, num_threads=4, device_id=0) as pipe:
        arrays = fn.readers.numpy(files=files, device="gpu")
        for _ in range(20):
            arrays = arrays + 1
        pipe.set_outputs(arrays)
    pipe.build()
    for batch in range(20):
        for i, x in enumerate(pipe.run()[0].as_torch_list()):
            assert (x == (4 * batch + i) % 16 + 20).all()
