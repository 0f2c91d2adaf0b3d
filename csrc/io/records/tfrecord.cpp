// SPDX-License-Identifier: Apache-2.0
#include "io/records/tfrecord.h"

#include <array>

#include "core/error.h"
#include "io/bytes.h"
#include "io/records/window_reader.h"

namespace torchdali::io {
namespace {

constexpr int64_t kLengthBytes = 8, kHeaderBytes = 12;

constexpr std::array<uint32_t, 256> kCrcTable = [] {
  constexpr uint32_t kPolynomial = 0x82F63B78;  // CRC-32C, reflected
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}();

// TensorFlow's checksum of a length: a CRC-32C, rotated, plus a constant.
uint32_t masked_crc(std::span<const uint8_t> bytes) {
  uint32_t crc = ~0u;
  for (const uint8_t byte : bytes) crc = crc >> 8 ^ kCrcTable[(crc ^ byte) & 255];
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

uint64_t length_of(std::span<const uint8_t> header) {
  ByteReader reader(header);
  const uint64_t low = reader.u32(), high = reader.u32();
  return low | high << 32;
}

std::string make_tfrecord_index(const InputFile& file, const std::string& path,
                                const std::function<void(int64_t)>& done) {
  const Fix fix =
      to_fix("check that the file is complete, and a TFRecord file that is not compressed");
  WindowReader reader(file, path, WindowReader::kWholeFile);
  std::string index;
  for (int64_t offset = 0; offset < reader.size();) {
    const int64_t left = reader.size() - offset;
    TORCHDALI_CHECK_KIND(kData, left >= kTfRecordFrame, '"', path,
                         "\" ends within the record at byte ", offset, ": it has ", left,
                         " bytes after that, expected at least ", kTfRecordFrame, fix);
    const auto header = reader.read(offset, kHeaderBytes);
    ByteReader stored(header);
    stored.seek(kLengthBytes);
    TORCHDALI_CHECK_KIND(kData, stored.u32() == masked_crc(header.first(kLengthBytes)), '"', path,
                         "\": there is no TFRecord at byte ", offset,
                         ": the checksum of its length is wrong", fix);
    const uint64_t length = length_of(header);
    TORCHDALI_CHECK_KIND(kData, length <= static_cast<uint64_t>(left - kTfRecordFrame), '"', path,
                         "\" ends within the record at byte ", offset, ": it has ", length,
                         " bytes of data, and ", left - kTfRecordFrame, " are left", fix);
    const int64_t size = static_cast<int64_t>(length) + kTfRecordFrame;
    index += std::to_string(offset) + ' ' + std::to_string(size) + '\n';
    offset += size;
    done(size);
  }
  return index;
}

}  // namespace

const IndexKind& tfrecord_index() {
  static const IndexKind kind{.name = "tfrecord", .version = 1, .make = make_tfrecord_index};
  return kind;
}

std::span<const uint8_t> tfrecord_data(std::span<const uint8_t> record) {
  const auto size = static_cast<int64_t>(record.size()) - kTfRecordFrame;
  TORCHDALI_CHECK_KIND(kData, size >= 0, "a TFRecord of ", record.size(), " bytes, expected ",
                       kTfRecordFrame, " or more");
  const uint64_t length = length_of(record);
  TORCHDALI_CHECK_KIND(kData, length == static_cast<uint64_t>(size),
                       "the TFRecord has a length of ", length, ", and the index says ", size,
                       to_fix("make the index again, or leave out `index_path`"));
  return record.subspan(kHeaderBytes, static_cast<size_t>(size));
}

}  // namespace torchdali::io
