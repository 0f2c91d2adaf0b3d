// SPDX-License-Identifier: Apache-2.0
// One input of a fuzzer, through the decoders for GPUs: packed on the host, or its codes found by
// the points of an index; then decoded by the functors of the GPU's kernels, whose checks are on.
// Whatever the bytes, the pixels are those of our decoder on the CPU, or none takes the file.
// sources: csrc/io/*.cpp csrc/io/formats/*.cpp csrc/io/jpeg_decoder/**/*.cpp csrc/kernels/jpeg/*.cpp
// sources: csrc/core/cpu_features.cpp csrc/ops/decoders/jpeg_tasks.cpp
// sources: csrc/io/png_decoder/*.cpp csrc/kernels/png/*.cpp
#include <cstring>
#include <vector>

#include "../cpp/exact_scratch.h"
#include "core/cpu_features.h"
#include "core/error.h"
#include "io/image.h"
#include "io/jpeg_decoder/header.h"
#include "io/jpeg_decoder/index/index.h"
#include "kernels/jpeg/jpeg_gpu.h"
#include "kernels/jpeg/jpeg_segments_gpu.h"
#include "nonsense_index.h"
#include "ops/decoders/jpeg_tasks.h"

namespace torchdali {
namespace {

// Larger pictures only make the fuzzer slow.
constexpr int64_t kMaxPixels = int64_t{1} << 14;

struct Picture {
  bool taken = false;
  std::vector<uint8_t> pixels;
};

Picture decode(io::Bytes bytes, const io::ImageInfo& info, const io::DecodeOptions& options,
               size_t size, int64_t row_bytes) {
  Picture result;
  result.pixels.resize(size);
  io::ExactScratch scratch;
  try {
    io::decode_image(bytes, info, options, result.pixels.data(), row_bytes, scratch);
    result.taken = true;
  } catch (const Error&) {
  }
  return result;
}

// A launch; each output byte and sample is written once, so that the order does not matter.
template <class Kernel>
void launch(const Kernel& kernel) {
  for (int64_t i = 0; i < kernel.task.size; ++i) kernel(i);
}

// What the host leaves to the GPU.
enum class Left : uint8_t { kUnits, kCodes };

// Does what the host has to do. Returns what is copied to the GPU, or null if the file is not
// taken.
std::byte* prepare(io::Bytes bytes, const io::ImageInfo& info, const io::DecodeOptions& options,
                   Left left, DeviceImage& image, io::ScratchMemory& memory) {
  io::ExactScratch scratch;  // gone before the kernels run
  if (left == Left::kCodes) {
    if (!io::find_jpeg_codes(bytes, info, options, scratch, image.jpeg, image.codes))
      return nullptr;
    const auto size = static_cast<size_t>(codes_bytes(image.codes));
    auto* const data = static_cast<std::byte*>(memory.allocate(size));
    write_codes(image, data);
    return data;
  }
  if (!io::pack_jpeg(bytes, info, options, scratch, image.jpeg)) return nullptr;
  const auto size = static_cast<size_t>(packing_bytes(image.jpeg));
  auto* const data = static_cast<std::byte*>(memory.allocate(size));
  write_packing(image, data);
  return data;
}

Picture unpack(io::Bytes bytes, const io::ImageInfo& info, const io::DecodeOptions& options,
               DeviceImage image, size_t size, Left left = Left::kUnits) {
  Picture result;
  io::ExactScratch memory;
  const std::byte* const data = prepare(bytes, info, options, left, image, memory);
  if (data == nullptr) return result;
  result.taken = true;
  result.pixels.resize(size);
  std::vector<int16_t> blob;
  const JpegTasks tasks = make_jpeg_tasks(
      image, data, result.pixels.data(),
      [&](int64_t n) { return static_cast<uint8_t*>(memory.allocate(static_cast<size_t>(n))); },
      [&](std::span<const int16_t> quant) {
        blob.insert(blob.end(), quant.begin(), quant.end());
        return static_cast<gpu::BlobOffset>((blob.size() - quant.size()) * sizeof(int16_t));
      });
  const gpu::JpegBlocksTask& b = tasks.blocks;
  EXPECT(b.size == int64_t{b.mcus_across} * b.mcus_down * b.blocks_per_mcu);
  launch(gpu::JpegZeroKernel{{tasks.zeros, nullptr}});
  launch(gpu::JpegSegmentsKernel{{tasks.segments, nullptr}});
  launch(gpu::JpegBlocksKernel{{tasks.blocks, blob.data()}});
  launch(gpu::JpegPixelsKernel{{tasks.pixels, nullptr}});
  return result;
}

// With an index that was made by another region, and with one that this region or the rest of the
// image has been added to: the same. With one of nonsense only the checks.
void run_with_index(io::Bytes bytes, const io::ImageInfo& info, io::DecodeOptions options,
                    const DeviceImage& image, const Picture& expected, size_t scan) {
  const size_t size = expected.pixels.size();
  {
    const auto index = io::jpeg::Index::open("memory", int64_t{1} << 24);
    options.jpeg_index = index.get();
    io::DecodeOptions corner = options;
    corner.region = io::Region{0, 0, 1, 1};
    corner.type = ImageType::kGray;
    (void)decode(bytes, info, corner, 1, 1);
    for (int i = 0; i < 2; ++i) {
      const Picture again = unpack(bytes, info, options, image, size);
      EXPECT(again.taken == expected.taken);
      EXPECT(!again.taken || again.pixels == expected.pixels);
      options.all_points = true;
    }
    const Picture codes = unpack(bytes, info, options, image, size, Left::kCodes);
    EXPECT(codes.taken == expected.taken);
    EXPECT(!codes.taken || codes.pixels == expected.pixels);
  }
  for (const Left left : {Left::kUnits, Left::kCodes}) {
    std::vector<uint8_t> other;
    const auto index = io::index_of_nonsense(bytes, other, left == Left::kCodes ? scan : 0);
    options.jpeg_index = index.get();
    if (index) (void)unpack(other, info, options, image, size, left);
  }
}

// What the input's size has to say about everything that varies besides, so that an input does the
// same every time.
io::DecodeOptions choose(int64_t n, const io::ImageInfo& info) {
  constexpr ImageType kTypes[] = {ImageType::kRGB, ImageType::kBGR, ImageType::kGray,
                                  ImageType::kAnyData};
  io::DecodeOptions options{.type = kTypes[n / kNumIsas % 4],
                            .adjust_orientation = n / 13 % 4 != 0};
  if (n / 2 % 4 == 0) return options;
  const auto seen = io::decoded_shape(info, options.type, options.adjust_orientation);
  io::Region part{.y = n % seen.height, .x = n / 7 % seen.width};
  part.height = 1 + n / 3 % (seen.height - part.y);
  part.width = 1 + n / 5 % (seen.width - part.x);
  options.region = part;
  return options;
}

void run(io::Bytes bytes) {
  io::ImageInfo info;
  try {
    info = io::peek_image(bytes);
  } catch (const Error&) {
    return;
  }
  if (info.format != io::ImageFormat::kJpeg || info.cmyk || info.height * info.width > kMaxPixels)
    return;
  const auto n = static_cast<int64_t>(bytes.size());
  set_active_isa(static_cast<Isa>(n % kNumIsas));
  const io::DecodeOptions options = choose(n, info);
  const auto whole = io::decoded_shape(info, options.type, options.adjust_orientation);
  DeviceImage image;
  image.height = options.region ? options.region->height : whole.height;
  image.width = options.region ? options.region->width : whole.width;
  image.channels = whole.channels;
  const int64_t row_bytes = image.width * image.channels;
  const auto size = static_cast<size_t>(image.height * row_bytes);

  const Picture expected = decode(bytes, info, options, size, row_bytes);
  const Picture actual = unpack(bytes, info, options, image, size);
  io::jpeg::Header header;
  const bool ours = io::jpeg::read_header(bytes, header) && !header.several_scans;
  EXPECT(actual.taken == (expected.taken && ours));
  EXPECT(!actual.taken || actual.pixels == expected.pixels);
  if (ours)
    run_with_index(bytes, info, options, image, {actual.taken, expected.pixels},
                   header.scan.size());
}

}  // namespace
}  // namespace torchdali

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  torchdali::run({data, size});
  return 0;
}
