# SPDX-License-Identifier: Apache-2.0
"""Decoding by nvJPEG: with a fake library, and (marked cuda) with the real one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.encoded_images import jpeg, png, ramp

from torchdali import errors, fn, pipeline_def, types

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
CSRC = HERE.parents[1] / "csrc"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
HARDWARE, GPU, HOST = 3, 2, 1  # nvjpegBackend_t


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiles the fake library; it stays loaded, so all tests share one."""
    if COMPILER is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("nvjpeg") / "libfake_nvjpeg.so"
    command = [COMPILER, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*command, str(HERE / "fake_nvjpeg.c"), "-o", str(library)], check=True)
    return library


@pytest.fixture
def calls(
    stand_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], list[tuple[str, list[int]]]]:
    """Makes pipelines use the fake library; returns a function that reads its recorded calls."""
    log = tmp_path / "calls"
    monkeypatch.setenv("TORCHDALI_EMULATE_GPU", "1")
    monkeypatch.setenv("TORCHDALI_MIXED_DECODER", "nvjpeg")
    monkeypatch.setenv("TORCHDALI_NVJPEG_LIBRARY", str(stand_in))
    monkeypatch.setenv("FAKE_NVJPEG_LOG", str(log))

    def read() -> list[tuple[str, list[int]]]:
        lines = [line.split() for line in log.read_text().splitlines()]
        return [(name, [int(number) for number in numbers]) for name, *numbers in lines]

    return read


def run(
    files: list[bytes], decode: Callable[..., Any], device: str = "mixed", iterations: int = 1
) -> list[np.ndarray]:
    @pipeline_def(batch_size=len(files), num_threads=3, device_id=None, seed=7)
    def define() -> Any:
        data = fn.external_source([[np.frombuffer(f, np.uint8) for f in files]], cycle=True)
        return decode(data, device=device)

    with define() as pipe:
        for _ in range(iterations):
            (out,) = pipe.run()
        return [sample.cpu().numpy() for sample in out.as_torch_list()]


def pattern(file: bytes, shape: tuple[int, ...], left: int = 0, top: int = 0) -> np.ndarray:
    """Returns the result of the fake library for a file."""
    y, x, c = np.mgrid[: shape[0], : shape[1], : shape[2]]
    return (x + left + 3 * (y + top) + 50 * c + len(file)).astype(np.uint8)


def files_of(count: int, **options: Any) -> list[bytes]:
    return [jpeg(ramp(20 + 3 * i, 31 + i, 3, seed=i), **options) for i in range(count)]


def assert_same(actual: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_batch_is_shared_between_the_hardware_and_the_host(calls):
    files = files_of(8)
    out = run(
        files, lambda data, device: fn.decoders.image(data, device=device, hw_decoder_load=0.5)
    )
    assert_same(out, [pattern(f, (20 + 3 * i, 31 + i, 3)) for i, f in enumerate(files)])
    decoded = [numbers[:3] for name, numbers in calls() if name == "decode"]
    assert [HARDWARE, 4, 1] in decoded
    assert [HOST, 4, 1] in decoded
    # Each is initialized before, for as many images, with the pipeline's threads, as RGB.
    order = [c for c in calls() if c[0] in ("initialize", "decode")]
    for before, after in zip(order[::2], order[1::2], strict=True):
        assert before[0] == "initialize"
        assert after[0] == "decode"
        assert before[1] == [after[1][0], 4, 3, 5]


def test_large_images_use_gpu_huffman_decoding(calls):
    files = [jpeg(ramp(8, 8, 3)), jpeg(ramp(64, 64, 3))]
    run(
        files,
        lambda data, device: fn.decoders.image(
            data, device=device, hw_decoder_load=0.0, hybrid_huffman_threshold=1000
        ),
    )
    decoded = {tuple(numbers[:2]) for name, numbers in calls() if name == "decode"}
    assert decoded == {(GPU, 1), (HOST, 1)}
    assert all(numbers[0] != HARDWARE for name, numbers in calls() if name == "create")


def test_arguments_reach_the_library(calls):
    run(
        files_of(2),
        lambda data, device: fn.decoders.image(
            data,
            device=device,
            hw_decoder_load=0.0,
            device_memory_padding=1234,
            host_memory_padding=567,
            preallocate_width_hint=64,
            preallocate_height_hint=48,
            jpeg_fancy_upsampling=True,
        ),
    )
    found = calls()
    assert ("create", [HOST, 32, 1, 1]) in found
    assert ("device_padding", [HOST, 1234, 0, 0]) in found
    assert ("pinned_padding", [HOST, 567, 0, 0]) in found
    assert found.count(("preallocate", [HOST, 2, 64, 48])) == 2
    assert found[-1] == ("destroy", [HOST, 0, 0, 0])  # no state is left


def test_color_types_equal_the_cpu(calls):
    color = files_of(1)[0]
    for kind, channels, number in (("BGR", 3, 6), ("GRAY", 1, 2), ("ANY_DATA", 3, 5)):
        output_type = getattr(types, kind)
        out = run(
            [color],
            lambda data, device, output_type=output_type: fn.decoders.image(
                data, device=device, output_type=output_type
            ),
        )
        assert_same(out, [pattern(color, (20, 31, channels))])
        formats = [numbers[3] for name, numbers in calls() if name == "initialize"]
        assert formats[-1] == number


def test_regions_equal_the_cpu(calls):
    files = files_of(2)
    out = run(
        files,
        lambda data, device: fn.decoders.image_crop(
            data, device=device, crop=(9, 7), crop_pos_x=1.0, crop_pos_y=0.0
        ),
    )
    assert_same(out, [pattern(f, (9, 7, 3), left=31 + i - 7) for i, f in enumerate(files)])
    assert any(name == "decode_ex" for name, _ in calls())


def test_unsupported_files_are_decoded_on_the_cpu(calls):
    other = [
        jpeg(ramp(20, 30, 3), progressive=True),
        jpeg(ramp(20, 30, 3), orientation=6),
        jpeg(ramp(20, 30, 1)),
        jpeg(ramp(20, 30, 4)),
        png(ramp(9, 11, 3), 8, 2),
    ]
    file = files_of(1)[0]
    expected = [pattern(file, (20, 31, 3)), *run(other, fn.decoders.image, "cpu")]
    assert_same(run([file, *other], fn.decoders.image), expected)
    assert sum(numbers[1] for name, numbers in calls() if name == "decode") >= 1


def test_files_that_the_library_rejects_are_decoded_on_the_cpu(calls, monkeypatch):
    files = files_of(4)
    files[2] = jpeg(ramp(26, 33, 3, seed=2), comment=b"nvjpeg fails")
    expected = [pattern(f, (20 + 3 * i, 31 + i, 3)) for i, f in enumerate(files)]
    expected[2] = run(files[2:3], fn.decoders.image, "cpu")[0]
    assert_same(run(files, fn.decoders.image, iterations=3), expected)
    monkeypatch.setenv("FAKE_NVJPEG_BROKEN", "123")
    assert_same(run(files, fn.decoders.image), run(files, fn.decoders.image, "cpu"))
    assert calls()


def test_without_hardware_the_other_backends_decode_everything(calls, monkeypatch):
    monkeypatch.setenv("FAKE_NVJPEG_BROKEN", str(HARDWARE))
    files = files_of(4)
    out = run(files, fn.decoders.image)
    assert_same(out, [pattern(f, (20 + 3 * i, 31 + i, 3)) for i, f in enumerate(files)])
    assert {tuple(numbers[:2]) for name, numbers in calls() if name == "decode"} == {(HOST, 4)}


def test_errors_equal_those_of_the_cpu(calls):
    broken = jpeg(ramp(40, 50, 3), comment=b"nvjpeg fails")
    with pytest.raises(errors.TorchdaliError, match="sample 1 of 2") as caught:
        run([files_of(1)[0], broken[: len(broken) // 2]], fn.decoders.image)
    assert "fn.decoders.image:" in str(caught.value)
    assert "truncated" in str(caught.value)
    assert calls()


def test_a_missing_library_is_an_error():
    code = (
        "from torchdali import fn, pipeline_def\n"
        "@pipeline_def(batch_size=1, num_threads=1, device_id=None)\n"
        "def define():\n"
        "    return fn.decoders.image(fn.external_source(name='x'), device='mixed')\n"
        "define().build()\n"
    )
    environment = {
        **os.environ,
        "TORCHDALI_EMULATE_GPU": "1",
        "TORCHDALI_MIXED_DECODER": "nvjpeg",
        "TORCHDALI_NVJPEG_LIBRARY": "/nowhere/libnvjpeg.so",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "fn.decoders.image: nvJPEG was not found: /nowhere/libnvjpeg.so" in done.stderr
    assert "pip install nvidia-nvjpeg" in done.stderr


@pytest.mark.cuda
def test_the_real_library_is_close_to_the_cpu(monkeypatch):
    monkeypatch.setenv("TORCHDALI_MIXED_DECODER", "nvjpeg")
    smooth = np.kron(np.arange(48).reshape(6, 8, 1), np.ones((20, 20, 3))) * 4
    files = [jpeg(smooth[: 40 + 20 * i], subsampling=i % 3, quality=95) for i in range(5)]
    for load, threshold in ((0.0, 1 << 40), (0.0, 0), (1.0, 0)):

        def decode(data: Any, device: str, load: float = load, threshold: int = threshold) -> Any:
            return fn.decoders.image(
                data,
                device=device,
                hw_decoder_load=load,
                hybrid_huffman_threshold=threshold,
                jpeg_fancy_upsampling=True,
            )

        for ours, expected in zip(
            run(files, decode, iterations=4), run(files, decode, "cpu"), strict=True
        ):
            difference = torch.from_numpy(ours).float() - torch.from_numpy(expected).float()
            assert difference.abs().mean() < 1


# Types in calls: pointers are pointers, enumerations are integers.
CHECK = """
#include <cuda_runtime_api.h>
#include <nvjpeg.h>
#include <type_traits>
#include "gpu/nvjpeg_api.h"
namespace ours = torchdali::gpu::nvjpeg;
template <class T>
using Abi = std::conditional_t<std::is_pointer_v<T>, void*,
                               std::conditional_t<std::is_enum_v<T>, int, T>>;
template <class F> struct Call;
template <class R, class... A> struct Call<R(A...)> { using Type = Abi<R>(Abi<A>...); };
#define CHECK(name, ...) static_assert(std::is_same_v<Call<decltype(nvjpeg##name)>::Type, \\
                                       Call<ours::Api::name##Function>::Type>);
TORCHDALI_NVJPEG_FUNCTIONS(CHECK)
static_assert(ours::kSuccess == NVJPEG_STATUS_SUCCESS);
static_assert(ours::kBackendHybrid == NVJPEG_BACKEND_HYBRID);
static_assert(ours::kBackendGpuHybrid == NVJPEG_BACKEND_GPU_HYBRID);
static_assert(ours::kBackendHardware == NVJPEG_BACKEND_HARDWARE);
static_assert(ours::kOutputY == NVJPEG_OUTPUT_Y && ours::kOutputRGB == NVJPEG_OUTPUT_RGBI);
static_assert(ours::kOutputBGR == NVJPEG_OUTPUT_BGRI && ours::kSampling444 == NVJPEG_CSS_444);
static_assert(ours::kSmoothUpsampling == (NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION));
static_assert(sizeof(ours::Image) == sizeof(nvjpegImage_t));
static_assert(offsetof(ours::Image, pitch) == offsetof(nvjpegImage_t, pitch));
"""


def test_the_declarations_equal_those_of_the_header(tmp_path):
    header = os.environ.get("TORCHDALI_NVJPEG_HEADER")
    cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    compiler = shutil.which("c++") or shutil.which("g++")
    if not header or not Path(cuda, "include", "cuda_runtime_api.h").exists() or not compiler:
        pytest.skip("TORCHDALI_NVJPEG_HEADER names no folder with nvjpeg.h, or CUDA is missing")
    source = tmp_path / "check.cpp"
    source.write_text(CHECK)
    includes = [f"-I{CSRC}", f"-I{header}", f"-I{cuda}/include"]
    subprocess.run([compiler, "-std=c++20", "-fsyntax-only", *includes, str(source)], check=True)
