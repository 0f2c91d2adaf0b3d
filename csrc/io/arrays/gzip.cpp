// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/gzip.h"

#include "core/error.h"

#ifdef TORCHDALI_HAVE_ZLIB
#define ZLIB_CONST
#include <zlib.h>

#include <algorithm>
#include <limits>
#endif

namespace torchdali::io {

#ifdef TORCHDALI_HAVE_ZLIB

namespace {

// A stream of zlib, which counts in 32 bits.
class GzipStream {
 public:
  GzipStream() {
    constexpr int kWindowBits = 15, kGzip = 16;
    TORCHDALI_CHECK_KIND(kRuntime, ::inflateInit2(&stream_, kWindowBits + kGzip) == Z_OK,
                         "zlib could not start: out of memory");
  }
  ~GzipStream() { ::inflateEnd(&stream_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  // Returns zlib's last answer; `in` and `out` become what was not used.
  int run(std::span<const uint8_t>& in, std::span<uint8_t>& out) {
    for (;;) {
      stream_.next_in = in.data();
      stream_.avail_in = limited(in.size());
      stream_.next_out = out.data();
      stream_.avail_out = limited(out.size());
      const int answer = ::inflate(&stream_, Z_NO_FLUSH);
      in = in.subspan(static_cast<size_t>(stream_.next_in - in.data()));
      out = out.subspan(static_cast<size_t>(stream_.next_out - out.data()));
      if (answer != Z_OK) return answer;
    }
  }
  const char* message() const { return stream_.msg == nullptr ? "" : stream_.msg; }

 private:
  static uInt limited(size_t size) {
    return static_cast<uInt>(std::min(size, size_t{std::numeric_limits<uInt>::max()}));
  }
  z_stream stream_{};
};

}  // namespace

void decompress_gzip(std::span<const uint8_t> in, std::span<uint8_t> out) {
  const size_t expected = out.size();
  GzipStream stream;
  uint8_t more = 0;  // zlib refuses a null pointer, even for no bytes
  if (out.empty()) out = {&more, 0};
  const int answer = stream.run(in, out);
  TORCHDALI_CHECK_KIND(kRuntime, answer != Z_MEM_ERROR, "zlib is out of memory");
  if (answer == Z_BUF_ERROR) {
    TORCHDALI_CHECK_KIND(kData, !in.empty(), "the gzip data is truncated");
    raise(ErrorKind::kData, "the gzip data has more than the expected ", expected, " bytes");
  }
  TORCHDALI_CHECK_KIND(kData, answer == Z_STREAM_END,
                       "the gzip data is damaged: ", stream.message());
  TORCHDALI_CHECK_KIND(kData, out.empty(), "the gzip data has ", expected - out.size(),
                       " bytes, expected ", expected);
}

#else

void decompress_gzip(std::span<const uint8_t> /*in*/, std::span<uint8_t> /*out*/) {
  raise(ErrorKind::kUnsupported, "the data is compressed by gzip, and this build has no zlib",
        to_fix("install zlib1g-dev and build torchdali again"));
}

#endif

}  // namespace torchdali::io
