# SPDX-License-Identifier: Apache-2.0
"""The declarations of NVDEC's library, against its headers where these are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CSRC = Path(__file__).resolve().parents[2] / "csrc"
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
# Sizes, places and values of the library's headers.
STRUCTS = {
    "Caps CUVIDDECODECAPS": "codec eCodecType, chroma eChromaFormat, bits_minus_8 nBitDepthMinus8, "
    "is_supported bIsSupported, engines nNumNVDECs, surface_formats nOutputFormatMask, "
    "max_width nMaxWidth, max_macroblocks nMaxMBCount, min_height nMinHeight",
    "CreateInfo CUVIDDECODECREATEINFO": "width ulWidth, surfaces ulNumDecodeSurfaces, "
    "codec CodecType, chroma ChromaFormat, bits_minus_8 bitDepthMinus8, max_height ulMaxHeight, "
    "display display_area, surface_format OutputFormat, deinterlace DeinterlaceMode, "
    "target_width ulTargetWidth, target_height ulTargetHeight, output_surfaces "
    "ulNumOutputSurfaces, lock vidLock, target target_rect, histogram enableHistogram",
    "ReconfigureInfo CUVIDRECONFIGUREDECODERINFO": "width ulWidth, target_height ulTargetHeight, "
    "surfaces ulNumDecodeSurfaces, display display_area, target target_rect",
    "Format CUVIDEOFORMAT": "codec codec, progressive progressive_sequence, luma_bits_minus_8 "
    "bit_depth_luma_minus8, min_surfaces min_num_decode_surfaces, coded_width coded_width, "
    "display display_area, chroma chroma_format, header_size seqhdr_data_length",
    "FormatEx CUVIDEOFORMATEX": "format format, header raw_seqhdr_data",
    "DisplayInfo CUVIDPARSERDISPINFO": "index picture_index, progressive progressive_frame, "
    "top_field_first top_field_first, repeat_first_field repeat_first_field, timestamp timestamp",
    "MapParams CUVIDPROCPARAMS": "progressive progressive_frame, second_field second_field, "
    "unpaired_field unpaired_field, stream output_stream, histogram histogram_dptr",
    "Status CUVIDGETDECODESTATUS": "status decodeStatus",
    "Packet CUVIDSOURCEDATAPACKET": "flags flags, size payload_size, data payload, "
    "timestamp timestamp",
    "ParserParams CUVIDPARSERPARAMS": "codec CodecType, surfaces ulMaxNumDecodeSurfaces, "
    "clock_rate ulClockRate, error_threshold ulErrorThreshold, display_delay ulMaxDisplayDelay, "
    "user pUserData, on_sequence pfnSequenceCallback, on_decode pfnDecodePicture, "
    "on_display pfnDisplayPicture, on_operating_point pfnGetOperatingPoint, header pExtVideoInfo",
}
CHECK = """
#include <cstddef>
#include <type_traits>
#include <ffnvcodec/dynlink_cuda.h>
#include <ffnvcodec/dynlink_cuviddec.h>
#include <ffnvcodec/dynlink_nvcuvid.h>
#include "gpu/nvdec/cuvid_api.h"
namespace ours = torchdali::gpu::cuvid;
// Types in calls: pointers are pointers, enumerations are integers.
template <class T>
using Abi = std::conditional_t<std::is_pointer_v<T>, void*,
                               std::conditional_t<std::is_enum_v<T>, int, T>>;
template <class F> struct Call;
template <class R, class... A> struct Call<R(A...)> { using Type = Abi<R>(Abi<A>...); };
#define CHECK(name, ...) static_assert(std::is_same_v<Call<tcuvid##name>::Type, \\
                                       Call<ours::Api::name##Function>::Type>);
#define tcuvidMapVideoFrame64 tcuvidMapVideoFrame
#define tcuvidUnmapVideoFrame64 tcuvidUnmapVideoFrame
TORCHDALI_CUVID_FUNCTIONS(CHECK)
static_assert(ours::kSuccess == CUDA_SUCCESS);
static_assert(static_cast<int>(ours::Codec::kMpeg4) == cudaVideoCodec_MPEG4);
static_assert(static_cast<int>(ours::Codec::kH264) == cudaVideoCodec_H264);
static_assert(static_cast<int>(ours::Codec::kHevc) == cudaVideoCodec_HEVC);
static_assert(static_cast<int>(ours::Codec::kVp8) == cudaVideoCodec_VP8);
static_assert(static_cast<int>(ours::Codec::kVp9) == cudaVideoCodec_VP9);
static_assert(static_cast<int>(ours::Codec::kAv1) == cudaVideoCodec_AV1);
static_assert(ours::kChroma420 == cudaVideoChromaFormat_420);
static_assert(ours::kSurfaceNv12 == cudaVideoSurfaceFormat_NV12);
static_assert(ours::kSurfaceP016 == cudaVideoSurfaceFormat_P016);
static_assert(ours::kWeave == cudaVideoDeinterlaceMode_Weave);
static_assert(ours::kEndOfStream == CUVID_PKT_ENDOFSTREAM);
static_assert(ours::kHasTimestamp == CUVID_PKT_TIMESTAMP);
static_assert(ours::kEndOfPicture == CUVID_PKT_ENDOFPICTURE);
static_assert(ours::kDecodeError == cuvidDecodeStatus_Error);
static_assert(ours::kDecodeErrorConcealed == cuvidDecodeStatus_Error_Concealed);
static_assert(offsetof(ours::PictureParams, index) == offsetof(CUVIDPICPARAMS, CurrPicIdx));
"""


def test_the_declarations_equal_those_of_the_headers(tmp_path):
    folder = os.environ.get("TORCHDALI_CUVID_HEADERS", "/usr/include")
    if COMPILER is None or not Path(folder, "ffnvcodec", "dynlink_nvcuvid.h").exists():
        pytest.skip(
            "no headers of NVDECODE (Debian: libffmpeg-nvenc-dev) in /usr/include or in the folder "
            "that TORCHDALI_CUVID_HEADERS names"
        )
    lines = [CHECK]
    for names, members in STRUCTS.items():
        our, their = names.split()
        lines.append(f"static_assert(sizeof(ours::{our}) == sizeof({their}));")
        for member in members.split(", "):
            a, b = member.split()
            lines.append(f"static_assert(offsetof(ours::{our}, {a}) == offsetof({their}, {b}));")
    source = tmp_path / "check.cpp"
    source.write_text("\n".join(lines))
    includes = [f"-I{CSRC}", f"-I{folder}"]
    command = [COMPILER, "-std=c++20", "-fsyntax-only", *includes, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
