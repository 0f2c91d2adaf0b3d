# SPDX-License-Identifier: Apache-2.0
"""The declarations of cuFile, against its header where that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CSRC = Path(__file__).resolve().parents[2] / "csrc"
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
CHECK = """
#include <cstddef>
#include <type_traits>
#include <cufile.h>
#include "gpu/gds/cufile_api.h"
namespace ours = torchdali::gpu::cufile;
// Types in calls: pointers are pointers, and results are two numbers.
template <class T>
using Plain = std::conditional_t<std::is_same_v<T, CUfileError_t>, ours::Status, T>;
template <class T>
using Abi = std::conditional_t<std::is_pointer_v<T>, void*, Plain<T>>;
template <class R> struct Result { using Type = Abi<R>; };
template <> struct Result<void> { using Type = void; };
template <class F> struct Call;
template <class R, class... A> struct Call<R(A...)> {
  using Type = typename Result<R>::Type(Abi<A>...);
};
#define CHECK(name, ...) static_assert(std::is_same_v<Call<decltype(cuFile##name)>::Type, \\
                                       Call<ours::Api::name##Function>::Type>);
TORCHDALI_CUFILE_FUNCTIONS(CHECK)
static_assert(sizeof(ours::Status) == sizeof(CUfileError_t));
static_assert(offsetof(ours::Status, error) == offsetof(CUfileError_t, err));
static_assert(offsetof(ours::Status, cuda_error) == offsetof(CUfileError_t, cu_err));
static_assert(sizeof(ours::Description) == sizeof(CUfileDescr_t));
static_assert(offsetof(ours::Description, type) == offsetof(CUfileDescr_t, type));
static_assert(offsetof(ours::Description, descriptor) == offsetof(CUfileDescr_t, handle.fd));
static_assert(offsetof(ours::Description, operations) == offsetof(CUfileDescr_t, fs_ops));
static_assert(ours::kLinuxDescriptor == CU_FILE_HANDLE_TYPE_OPAQUE_FD);
static_assert(ours::kUnsupported == CU_FILE_IO_NOT_SUPPORTED);
static_assert(ours::kCudaError == CU_FILE_CUDA_DRIVER_ERROR);
static_assert(ours::kWrongFileType == CU_FILE_INVALID_FILE_TYPE);
static_assert(ours::kDisabled == CU_FILE_IO_DISABLED);
static_assert(0 == CU_FILE_SUCCESS);
"""


def test_the_declarations_equal_those_of_the_header(tmp_path):
    folder = os.environ.get("TORCHDALI_CUFILE_HEADERS", "/usr/local/cuda/include")
    if COMPILER is None or not all(Path(folder, f).exists() for f in ("cufile.h", "cuda.h")):
        pytest.skip(
            "no headers of cuFile and CUDA (PyPI: nvidia-cufile, nvidia-cuda-runtime) in "
            "/usr/local/cuda/include or in the folder that TORCHDALI_CUFILE_HEADERS names"
        )
    source = tmp_path / "check.cpp"
    source.write_text(CHECK)
    command = [COMPILER, "-std=c++20", "-fsyntax-only", f"-I{CSRC}", f"-I{folder}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
