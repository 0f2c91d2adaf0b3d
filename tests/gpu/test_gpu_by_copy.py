# SPDX-License-Identifier: Apache-2.0
"""Operators that run on the CPU and copy: readers of arrays, dump_image, inputs.video."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.fits_tiles import compressed_unit, header
from helpers.numbered_videos import numbers_of, write_video

from torchdali import Pipeline, fn, types

PRIMARY = header({"SIMPLE": True, "BITPIX": 8, "NAXIS": 0})
ARRAYS = [np.arange(12 * (i + 1), dtype="i2").reshape(4, -1) for i in range(3)]


def outputs_of(define, batch=3, **options):
    """Returns the batches of one run."""
    pipe = Pipeline(batch_size=batch, num_threads=2, device_id=0, **options)
    with pipe:
        made = define()
        pipe.set_outputs(*(made if isinstance(made, (list, tuple)) else [made]))
    pipe.build()
    return [[sample.clone() for sample in out.as_torch_list()] for out in pipe.run()]


def saved(folder: Path) -> list[str]:
    for i, array in enumerate(ARRAYS):
        np.save(folder / f"{i}.npy", array)
        unit = compressed_unit(array, "GZIP_1", (4, array.shape[1]))
        (folder / f"{i}.fits").write_bytes(PRIMARY + unit)
    return [str(i) for i in range(len(ARRAYS))]


@pytest.mark.parametrize("register", [False, True])
def test_numpy_files(tmp_path, backend, register):
    files = [f"{name}.npy" for name in saved(tmp_path)]
    args = {"file_root": str(tmp_path), "files": files, "register_buffers": register}
    whole, part = outputs_of(
        lambda: [
            fn.readers.numpy(**args, device="gpu"),
            fn.readers.numpy(
                **args, device="gpu", roi_start=[1, -1], roi_shape=[2, 3],
                out_of_bounds_policy="pad", fill_value=9, cache_header_information=True,
            ),
        ]
    )  # fmt: skip
    for array, ours, region in zip(ARRAYS, whole, part, strict=True):
        assert ours.device.type == region.device.type == backend
        assert torch.equal(ours.cpu(), torch.from_numpy(array))
        expected = np.pad(array[1:3, :2], ((0, 0), (1, 0)), constant_values=9)
        assert np.array_equal(region.cpu(), expected)


def test_numpy_regions_of_each_sample(tmp_path, backend):
    files = [str(tmp_path / f"{name}.npy") for name in saved(tmp_path)]

    def define():
        start = fn.external_source(source=[[np.array([i], "i4") for i in range(3)]], cycle=True)
        return fn.readers.numpy(files=files, device="gpu", roi_start=start, roi_axes=[0]) + 0

    (rows,) = outputs_of(define)
    for i, (array, ours) in enumerate(zip(ARRAYS, rows, strict=True)):
        assert ours.device.type == backend
        assert np.array_equal(ours.cpu(), array[i:])


def test_fits_files(tmp_path, backend):
    files = [str(tmp_path / f"{name}.fits") for name in saved(tmp_path)]
    first, second = outputs_of(
        lambda: fn.experimental.readers.fits(
            files=files, device="gpu", hdu_indices=[2, 2], dtypes=[types.INT16] * 2, name="Reader"
        )
    )
    for array, *ours in zip(ARRAYS, first, second, strict=True):
        for sample in ours:
            assert sample.device.type == backend
            assert np.array_equal(sample.cpu(), array)


@pytest.mark.parametrize("where", ["cpu", "gpu"])
def test_dump_image(tmp_path, backend, monkeypatch, where):
    monkeypatch.chdir(tmp_path)
    images = [torch.full((2, 3, 3), i, dtype=torch.uint8) for i in range(3)]

    def define():
        x = fn.external_source(source=[images], cycle=True, layout="HWC")
        x = x.gpu() + types.Constant(np.uint8(1)) if where == "gpu" else x
        fn.dump_image(x, device="gpu", suffix="unused")
        return fn.dump_image(x, device="gpu", suffix="a")

    (out,) = outputs_of(define, prefetch_queue_depth=1)
    for i, (image, ours) in enumerate(zip(images, out, strict=True)):
        value = i + (where == "gpu")
        assert ours.device.type == backend
        assert torch.equal(ours.cpu(), torch.full_like(image, value))
        for suffix in ("a", "unused"):
            text = Path(f"{i}-{suffix}-0.ppm").read_text().split()
            assert text == ["P3", "3", "2", "255", *[str(value)] * 18]


@pytest.mark.on_gpu("experimental.inputs.video")
def test_sequences_of_a_video_that_is_fed(tmp_path, backend):
    file = np.fromfile(write_video(tmp_path / "x.mp4", 7), np.uint8)
    pipe = Pipeline(batch_size=2, num_threads=2, device_id=0)
    with pipe:
        frames = fn.experimental.inputs.video(sequence_length=3, device="mixed")
        pipe.set_outputs(frames)
    pipe.build()
    pipe.feed_input(frames, [file])
    batches = [pipe.run()[0].as_torch_list() for _ in range(2)]
    assert all(x.device.type == backend for batch in batches for x in batch)
    shown = [[numbers_of(x.cpu()) for x in batch] for batch in batches]
    assert shown == [[[0, 1, 2], [3, 4, 5]], [[6]]]
