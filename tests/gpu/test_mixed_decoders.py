# SPDX-License-Identifier: Apache-2.0
"""Decoders with device="mixed" are bit-identical to the CPU.

A batch is decoded twice, so that the second time the points of the files are known.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.encoded_images import jpeg, png, ramp

from torchdali import errors, fn, pipeline_def, types

DECODERS = ("image", "image_crop", "image_random_crop", "image_slice")
pytestmark = pytest.mark.on_gpu(*(f"decoders.{name}" for name in DECODERS))


@pytest.fixture(autouse=True, params=["hybrid", "gpu"])
def decoder(request: pytest.FixtureRequest, backend: str, monkeypatch: pytest.MonkeyPatch) -> str:
    del backend
    monkeypatch.setenv("TORCHDALI_MIXED_DECODER", request.param)
    return str(request.param)


def noise(height: int, width: int, channels: int = 3, seed: int = 0) -> np.ndarray:
    """Black and white: the largest possible coefficients."""
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 2, (height, width, channels)) * 255).astype(np.uint8)


def run(
    files: list[bytes], decode: Callable[..., Any], device: str, **options: Any
) -> list[torch.Tensor]:
    @pipeline_def(batch_size=len(files), num_threads=2, device_id=None, seed=7, **options)
    def define() -> Any:
        data = fn.external_source([[np.frombuffer(f, np.uint8) for f in files]], cycle=True)
        return decode(data, device=device)

    with define() as pipe:
        pipe.run()
        (out,) = pipe.run()
        assert out.layout() == "HWC"
        return [sample.cpu().clone() for sample in out.as_torch_list()]


def assert_alike(files: list[bytes], decode: Callable[..., Any]) -> None:
    expected, actual = run(files, decode, "cpu"), run(files, decode, "mixed")
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


SIZES = [(1, 1), (2, 3), (5, 40), (8, 8), (17, 15), (33, 50), (16, 129)]


@for_each("quality", [5, 75, 100])
@for_each("subsampling", [0, 1, 2])
def test_files_of_any_size_sampling_and_quality_equal_the_cpu(subsampling, quality):
    files = [
        jpeg(make(h, w, 3), subsampling=subsampling, quality=quality)
        for (h, w), make in itertools.product(SIZES, (ramp, noise))
    ]
    assert_alike(files, fn.decoders.image)


@pytest.mark.parametrize("kind", ["RGB", "BGR", "GRAY", "ANY_DATA", "YCbCr"])
def test_color_types_equal_the_cpu(kind):
    files = [jpeg(ramp(30, 41, c), quality=90) for c in (1, 3)]
    output_type = getattr(types, kind)
    for i in range(2):
        one = files[i : i + 1]
        assert_alike(
            one,
            lambda data, device: fn.decoders.image(data, device=device, output_type=output_type),
        )


@for_each("orientation", range(1, 9))
def test_orientations_equal_the_cpu(orientation):
    file = jpeg(ramp(21, 38, 3), orientation=orientation)
    assert_alike([file], fn.decoders.image)
    window = {"crop": (9, 14), "crop_pos_x": 0.3, "crop_pos_y": 0.8}
    assert_alike([file], lambda data, device: fn.decoders.image_crop(data, device=device, **window))


def test_files_with_restart_markers_equal_the_cpu():
    files = [jpeg(ramp(50, 70, 3), restart_marker_blocks=n) for n in (1, 3, 1000)]
    assert_alike(files, fn.decoders.image)


@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_regions_equal_the_cpu(subsampling):
    files = [jpeg(make(90, 140, 3), subsampling=subsampling) for make in (ramp, noise)] * 4
    assert_alike(files, fn.decoders.image_random_crop)
    for x, y, size in itertools.product((0, 0.37, 1), (0, 0.52, 1), ((1, 1), (16, 33), (40, 5))):
        assert_alike(
            files[:2],
            lambda data, device, x=x, y=y, size=size: fn.decoders.image_crop(
                data, device=device, crop=size, crop_pos_x=x, crop_pos_y=y
            ),
        )
    assert_alike(
        files[:2],
        lambda data, device: fn.decoders.image_slice(
            data,
            [10.0, 21.0],
            [33.0, 18.0],
            axes=[0, 1],
            normalized_anchor=False,
            normalized_shape=False,
            device=device,
        ),
    )


@pytest.mark.parametrize("where", ["memory", "file"])
def test_windows_with_a_jpeg_index_equal_the_cpu(where, tmp_path):
    path = tmp_path / "index"
    index = "memory" if where == "memory" else str(path)
    files = [
        jpeg(ramp(90, 400, 3, seed=i), subsampling=i % 3, restart_marker_rows=i // 3)
        for i in range(6)
    ]
    for x, y in ((0.1, 0.2), (0.9, 0.9), (0.5, 0)):
        options = {"crop": (20, 60), "crop_pos_x": x, "crop_pos_y": y}

        def decode(data: Any, device: str, options: Any = options) -> Any:
            noted = {"jpeg_index": index} if device == "mixed" else {}
            return fn.decoders.image_crop(data, device=device, **noted, **options)

        expected = run(files, decode, "cpu")
        torch.testing.assert_close(run(files, decode, "mixed"), expected, rtol=0, atol=0)
    # The file has points: it is larger than its header and directory.
    assert where == "memory" or path.stat().st_size > 48 + len(files) * 24


def test_other_formats_are_decoded_on_the_cpu():
    sound = [jpeg(ramp(20 + i, 30, 3)) for i in range(2)]
    odd = [jpeg(ramp(24, 30, 3), progressive=True), png(ramp(9, 11, 3), 8, 2), jpeg(ramp(8, 9, 4))]
    assert_alike([*sound, *odd], fn.decoders.image)
    assert_alike(odd, fn.decoders.image)
    assert_alike(
        sound, lambda data, device: fn.decoders.image(data, device=device, dtype=types.FLOAT)
    )
    assert_alike(
        odd,
        lambda data, device: (
            fn.resize(fn.decoders.image(data, device=device), size=(8, 8))
            if device == "mixed"
            else fn.resize(fn.decoders.image(data).gpu(), size=(8, 8))
        ),
    )


def test_images_are_inputs_of_gpu_operators():
    files = [jpeg(ramp(40 + 3 * i, 50, 3)) for i in range(3)]

    def decode(data: Any, device: str) -> Any:
        image = fn.decoders.image(data, device=device)
        return fn.flip(image if device == "mixed" else image.gpu())

    assert_alike(files, decode)


def test_errors_name_the_operator_and_the_sample():
    @pipeline_def(batch_size=2, num_threads=2, device_id=None)
    def define() -> Any:
        files = [jpeg(ramp(20, 30, 3)), b"no image"]
        data = fn.external_source([[np.frombuffer(f, np.uint8) for f in files]])
        return fn.decoders.image(data, device="mixed")

    with define() as pipe, pytest.raises(errors.TorchdaliError, match="sample 1") as caught:
        pipe.run()
    assert "fn.decoders.image:" in str(caught.value)
    assert "host_part" not in str(caught.value)


def test_a_decoder_in_a_branch_decodes_its_samples_only():
    files = [jpeg(ramp(16, 16, 3, seed=i)) for i in range(4)]

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, enable_conditionals=True)
    def define() -> Any:
        data = fn.external_source([[np.frombuffer(f, np.uint8) for f in files]])
        odd = fn.external_source([[np.bool_(i % 2) for i in range(4)]])
        if odd:  # noqa: SIM108
            image = fn.decoders.image(data, device="mixed").cpu()
        else:
            image = fn.decoders.image(data)
        return image

    with define() as pipe:
        (out,) = pipe.run()
        actual = out.as_torch_list()
    torch.testing.assert_close(actual, run(files, fn.decoders.image, "cpu"), rtol=0, atol=0)


def test_an_unknown_decoder_is_an_error(monkeypatch):
    monkeypatch.setenv("TORCHDALI_MIXED_DECODER", "magic")
    with pytest.raises(ValueError, match='unknown decoder "magic", expected "cpu"'):
        run([jpeg(ramp(8, 8, 3))], fn.decoders.image, "mixed")


def sent_bytes(
    files: list[bytes], then: Callable[[Any], Any] = lambda image: image, **options: Any
) -> int:
    """Returns how many bytes of a batch are copied to the GPU."""

    @pipeline_def(
        batch_size=len(files), num_threads=1, device_id=None, seed=1, enable_memory_stats=True
    )
    def define() -> Any:
        data = fn.external_source([[np.frombuffer(f, np.uint8) for f in files]])
        return then(fn.decoders.image(data, device="mixed", name="decoder", **options))

    with define() as pipe:
        pipe.run()
        statistics = pipe.executor_statistics()
        return int(statistics["CPU_decoder"]["real_memory_size"][0])


def test_fewer_bytes_are_copied_than_the_image_has_pixels(monkeypatch):
    rng = np.random.default_rng(0)
    smooth = np.kron(rng.integers(0, 255, (12, 16, 3)), np.ones((20, 20, 1)))
    file = jpeg(smooth, quality=90)
    packed = sent_bytes([file])
    monkeypatch.setenv("TORCHDALI_MIXED_DECODER", "cpu")
    assert packed < sent_bytes([file]) // 2


@pytest.mark.parametrize("decoder", ["gpu"], indirect=True)
def test_the_codes_of_files_with_points_are_copied(tmp_path):
    files = [jpeg(noise(90, 400), quality=95, restart_marker_blocks=n) for n in (0, 7)]
    index = str(tmp_path / "index")
    packed = sent_bytes(files, jpeg_index=index)
    codes = sent_bytes(files, jpeg_index=index)
    tables_and_points = 12_000  # of a file
    assert codes < packed
    assert abs(codes - sum(map(len, files))) < len(files) * tables_and_points


@pytest.mark.parametrize("decoder", ["cpu", "hybrid", "gpu"], indirect=True)
@pytest.mark.parametrize(
    "options",
    [
        {"size": 20},
        {"size": (9, 50), "dtype": types.FLOAT, "interp_type": types.INTERP_LANCZOS3},
        {"size": 300, "random_area": (0.01, 0.05), "antialias": False},
        {"size": 12, "interp_type": types.INTERP_NN},
        {"size": 0},
    ],
    ids=str,
)
def test_a_fused_random_resized_crop_decodes_its_window_only(options, monkeypatch):
    files = [jpeg(ramp(60 + 9 * i, 110 - 7 * i, 3), orientation=1 + i) for i in range(6)]
    files += [png(ramp(40, 30, 3), 8, 2), jpeg(ramp(1, 1, 3))]

    def decode(data: Any, device: str) -> Any:
        return fn.random_resized_crop(fn.decoders.image(data, device=device), **options)

    fused = run(files, decode, "mixed")
    monkeypatch.setenv("TORCHDALI_FUSION", "0")
    torch.testing.assert_close(fused, run(files, decode, "mixed"), rtol=0, atol=0)


def test_errors_of_fused_operators_name_their_lines():
    def errors_of(file: bytes, **options: Any) -> str:
        @pipeline_def(batch_size=1, num_threads=1, device_id=None)
        def define() -> Any:
            data = fn.external_source([[np.frombuffer(file, np.uint8)]])
            image = fn.decoders.image(data, device="mixed")
            return fn.random_resized_crop(image, **options)

        with pytest.raises(errors.TorchdaliError) as caught, define() as pipe:
            pipe.run()
        return str(caught.value)

    assert "fn.decoders.image:" in errors_of(b"no image", size=8)
    sound = jpeg(ramp(20, 30, 3))
    assert "fn.random_resized_crop:" in errors_of(sound, size=-1)
    assert "fn.random_resized_crop:" in errors_of(sound, size=8, dtype=types.INT16)


@pytest.mark.parametrize("decoder", ["cpu", "hybrid"], indirect=True)
def test_fewer_bytes_are_copied_if_an_image_is_cropped():
    file = jpeg(ramp(200, 300, 3))

    def crop(image: Any) -> Any:
        return fn.random_resized_crop(image, size=8, random_area=(0.1, 0.1))

    assert sent_bytes([file], crop) < sent_bytes([file]) // 4
