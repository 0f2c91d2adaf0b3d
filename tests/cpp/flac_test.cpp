// SPDX-License-Identifier: Apache-2.0
// Mutated FLAC files: whatever the bytes are, parts have the values of the whole or an error is
// raised, and the result is the same with every instruction set.
// sources: csrc/io/audio/*.cpp csrc/kernels/audio/pcm_cpu.cpp csrc/kernels/flac/*.cpp
// sources: csrc/core/cpu_features.cpp
// sanitizers: address
#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/cpu_features.h"
#include "core/error.h"
#include "expect.h"
#include "io/audio/flac.h"
#include "kernels/flac/crc.h"
#include "read_audio.h"

namespace torchdali::io {
namespace {

using Bytes = std::vector<uint8_t>;

std::mt19937 generator(1);
uint32_t draw(uint32_t below) { return static_cast<uint32_t>(generator() % below); }

class BitWriter {
 public:
  void put(uint64_t value, int bits) {
    for (int i = bits - 1; i >= 0; --i) {
      if (used_ % 8 == 0) bytes.push_back(0);
      bytes.back() |= static_cast<uint8_t>((value >> i & 1) << (7 - used_ % 8));
      ++used_;
    }
  }
  Bytes bytes;

 private:
  size_t used_ = 0;
};

// A predictor or verbatim samples, with numbers that mean something or are random bits.
void put_subframe(BitWriter& out, int bits, int block) {
  const uint32_t kind = draw(4), order = draw(kind == 3 ? 32 : 5) + (kind == 3 ? 1 : 0);
  constexpr uint32_t kTypes[] = {0, 1, 8, 31};
  out.put(0, 1);
  out.put(kind < 2 ? kTypes[kind] : kTypes[kind] + order, 6);
  out.put(0, 1);
  const int raw = kind == 0 ? 1 : kind == 1 ? block : static_cast<int>(order);
  for (int i = 0; i < raw; ++i) out.put(generator(), bits);
  if (kind < 2) return;
  if (kind == 3) {
    out.put(11, 4);
    out.put(draw(16), 5);
    for (uint32_t i = 0; i < order; ++i) out.put(generator(), 12);
  }
  const uint32_t k = draw(16);
  out.put(0, 6);
  out.put(k, 4);
  if (k == 15) out.put(20, 5);
  for (int i = raw; i < block; ++i) {
    if (k == 15) {
      out.put(generator(), 20);
      continue;
    }
    for (uint32_t zeros = draw(draw(50) == 0 ? 200 : 4); zeros > 0; --zeros) out.put(0, 1);
    out.put(1, 1);
    out.put(generator(), static_cast<int>(k));
  }
}

Bytes make_file(int frames, int channels, int bits, int block) {
  BitWriter head;
  for (const char c : {'f', 'L', 'a', 'C'}) head.put(static_cast<uint8_t>(c), 8);
  head.put(0x80000022, 32);
  head.put(static_cast<uint64_t>(block), 16);
  head.put(static_cast<uint64_t>(block), 16);
  head.put(0, 48);
  head.put(16000, 20);
  head.put(static_cast<uint64_t>(channels - 1), 3);
  head.put(static_cast<uint64_t>(bits - 1), 5);
  head.put(draw(3) == 0 ? 0 : static_cast<uint64_t>(frames * block), 36);
  head.put(0, 64);
  head.put(0, 64);
  Bytes file = head.bytes;
  for (int f = 0; f < frames; ++f) {
    BitWriter out;
    const uint32_t stereo = channels == 2 ? draw(4) : 0;
    out.put(0xfff8, 16);
    out.put(0x70, 8);
    out.put(stereo > 0 ? 7 + stereo : static_cast<uint64_t>(channels - 1), 4);
    out.put(0, 4);
    out.put(static_cast<uint64_t>(f), 8);
    out.put(static_cast<uint64_t>(block - 1), 16);
    out.put(kernels::flac::crc8(out.bytes.data(), out.bytes.size()), 8);
    for (int c = 0; c < channels; ++c) {
      const bool side = stereo > 0 && (c == 0) == (stereo == 2);
      put_subframe(out, bits + (side ? 1 : 0), block);
    }
    const uint16_t crc = kernels::flac::crc16(out.bytes.data(), out.bytes.size());
    out.bytes.push_back(static_cast<uint8_t>(crc >> 8));
    out.bytes.push_back(static_cast<uint8_t>(crc));
    file.insert(file.end(), out.bytes.begin(), out.bytes.end());
  }
  return file;
}

// Samples, or the message of the error.
struct Result {
  std::vector<int32_t> samples;
  std::string error;
  bool operator==(const Result&) const = default;
};

Result decode(std::span<const uint8_t> file) {
  Result result;
  try {
    if (!is_flac(file)) return result;
    const auto reader = open_flac(file);
    const int64_t frames = reader->info().frames, channels = reader->info().channels;
    if (frames == 0 || frames > 1 << 20) return result;
    result.samples = read_frames<int32_t>(*reader, 0, frames);
    const auto shorts = read_frames<int16_t>(*reader, 0, frames);
    const auto floats = read_frames<float>(*reader, 0, frames);
    for (size_t i = 0; i < shorts.size(); ++i) {
      EXPECT(shorts[i] == result.samples[i] >> 16);
      // Wrong predictors give samples of more bits, of which integers keep the lower ones.
      const bool fits = floats[i] >= -1 && floats[i] < 1;
      EXPECT(!fits || floats[i] == static_cast<float>(result.samples[i]) / 0x1p31f);
    }
    const int64_t begin = frames * 2 / 3, count = (frames - begin + 1) / 2;
    const auto part = read_frames<int32_t>(*open_flac(file), begin, count);
    EXPECT(std::equal(part.begin(), part.end(), result.samples.begin() + begin * channels));
  } catch (const Error& e) {
    EXPECT(!e.message().empty() && e.kind() == ErrorKind::kData);
    result.samples.clear();
    result.error = e.message();
  }
  return result;
}

void check_all_isas(const Bytes& file) {
  const Bytes exact(file.begin(), file.end());  // so that reading past the end is seen
  const Isa best = active_isa();
  const Result result = decode(exact);
  for (int level = 0; level < static_cast<int>(best); ++level) {
    set_active_isa(static_cast<Isa>(level));
    EXPECT(decode(exact) == result);
  }
  set_active_isa(best);
}

// Repairs the checksums of a frame header, so that what was changed in it is read.
void repair(Bytes& file, size_t frame) {
  if (frame + 8 > file.size()) return;
  file[frame + 7] = kernels::flac::crc8(file.data() + frame, 7);
}

void test_files() {
  constexpr int kBits[] = {4, 8, 16, 24, 31, 32};
  for (int i = 0; i < 150; ++i) {
    const int frames = 1 + static_cast<int>(draw(5)), channels = 1 + static_cast<int>(draw(3));
    const Bytes file =
        make_file(frames, channels, kBits[draw(6)], 33 + static_cast<int>(draw(200)));
    const Result whole = decode(file);
    EXPECT(whole.error.empty() && !whole.samples.empty());
    check_all_isas(file);
    for (int m = 0; m < 40; ++m) {
      Bytes other = file;
      const auto size = static_cast<uint32_t>(other.size());
      if (draw(4) == 0) other.resize(draw(size));
      for (uint32_t n = draw(3) + 1; n > 0 && !other.empty(); --n) {
        const uint32_t near = draw(2) == 0 ? 64 : size;
        other[draw(std::min(near, static_cast<uint32_t>(other.size())))] ^=
            static_cast<uint8_t>(1U << draw(8));
      }
      repair(other, 42);
      check_all_isas(other);
      // Whole frames with right checksums around wrong bits.
      if (frames == 1 && other.size() > 60) {
        const uint16_t crc = kernels::flac::crc16(other.data() + 42, other.size() - 44);
        other[other.size() - 2] = static_cast<uint8_t>(crc >> 8);
        other[other.size() - 1] = static_cast<uint8_t>(crc);
        check_all_isas(other);
      }
    }
  }
}

}  // namespace
}  // namespace torchdali::io

int main() { torchdali::io::test_files(); }
