// SPDX-License-Identifier: Apache-2.0
// One input of a fuzzer, through our parsers of audio files, on an instruction set that its size
// chooses. The frames of WAV are within the file; a part has the values of the whole, integers and
// floats agree, and the mean of the channels is that of the floats. Of MP3 and Ogg, which
// libsndfile decodes, only the headers are read.
// sources: csrc/io/audio/*.cpp csrc/kernels/audio/pcm_cpu.cpp csrc/kernels/flac/*.cpp
// sources: csrc/core/cpu_features.cpp
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "../cpp/expect.h"
#include "../cpp/read_audio.h"
#include "core/cpu_features.h"
#include "core/error.h"
#include "io/audio/flac.h"
#include "io/audio/mpeg_frames.h"
#include "io/audio/ogg_pages.h"
#include "io/audio/wav.h"

namespace torchdali::io {
namespace {

template <class T>
bool same(const std::vector<T>& part, const std::vector<T>& whole, int64_t begin) {
  return part.empty() ||
         std::memcmp(part.data(), whole.data() + begin, part.size() * sizeof(T)) == 0;
}

template <class T>
std::vector<T> check_parts(AudioReader& reader, int64_t n) {
  const int64_t frames = reader.info().frames, begin = n / 3 % (frames + 1);
  const std::vector<T> whole = read_frames<T>(reader, 0, frames);
  const std::vector<T> part = read_frames<T>(reader, begin, n / 7 % (frames - begin + 1));
  EXPECT(same(part, whole, begin * reader.info().channels));
  return whole;
}

void run_wav(std::span<const uint8_t> input, int64_t n) {
  const auto header = read_wav_header(input);
  if (!header) return;
  EXPECT(header->channels > 0 && header->channels <= 1024 && header->rate > 0);
  EXPECT(header->data <= input.size() && header->frames >= 0);
  EXPECT(header->frames * header->frame_bytes() <=
         static_cast<int64_t>(input.size() - header->data));
  const auto reader = open_wav(input, *header);
  const std::vector<float> floats = check_parts<float>(*reader, n);
  const std::vector<int16_t> shorts = check_parts<int16_t>(*reader, n);
  const std::vector<int32_t> ints = check_parts<int32_t>(*reader, n);
  if (kernels::is_integer(header->type))
    for (size_t i = 0; i < floats.size(); ++i) {
      EXPECT(shorts[i] == ints[i] >> 16);
      EXPECT(floats[i] == static_cast<float>(ints[i]) / 0x1p31f);
    }

  const int channels = header->channels;
  std::vector<float> mono(static_cast<size_t>(header->frames));
  reader->seek(0);
  reader->read_mono(mono.data(), header->frames);
  const float weight = 1.0f / static_cast<float>(channels);
  for (size_t i = 0; i < mono.size(); ++i) {
    const float* x = floats.data() + i * static_cast<size_t>(channels);
    float sum = channels == 1 ? x[0] : x[0] * weight;
    for (int c = 1; c < channels; ++c) sum += x[c] * weight;
    EXPECT(mono[i] == sum || (std::isnan(mono[i]) && std::isnan(sum)));
  }
}

void run_flac(std::span<const uint8_t> input, int64_t n) {
  const auto reader = open_flac(input);
  const AudioInfo& info = reader->info();
  EXPECT(info.channels > 0 && info.channels <= 8 && info.rate > 0 && info.frames >= 0);
  constexpr int64_t kMost = 1 << 20;  // silence takes few bytes
  if (info.frames <= kMost) check_parts<int32_t>(*reader, n);
}

void read_headers(std::span<const uint8_t> input) {
  if (const auto mp3 = count_mp3_frames(input)) {
    EXPECT(!mp3->first.empty() && mp3->rest.size() <= input.size());
    EXPECT(!count_mp3_frames(mp3->first));  // says its length
  }
  EXPECT(frames_of_last_ogg_page(input) >= -1);
  is_chained_ogg(input);
}

}  // namespace
}  // namespace torchdali::io

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace torchdali;  // NOLINT: a program of its own
  set_active_isa(static_cast<Isa>(size % kNumIsas));
  try {
    io::read_headers({data, size});
    if (io::is_wav({data, size})) io::run_wav({data, size}, static_cast<int64_t>(size));
    if (io::is_flac({data, size})) io::run_flac({data, size}, static_cast<int64_t>(size));
  } catch (const Error& e) {
    EXPECT(!e.message().empty() && e.kind() != ErrorKind::kInternal);
  }
  return 0;
}
