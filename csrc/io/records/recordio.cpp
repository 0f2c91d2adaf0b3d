// SPDX-License-Identifier: Apache-2.0
#include "io/records/recordio.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "io/bytes.h"
#include "io/records/window_reader.h"

namespace torchdali::io {
namespace {

constexpr uint32_t kRecordIoMagic = 0xCED7230A;
constexpr int kSizeBits = 29;

bool ends_record(RecordIoPart part) {
  return part == RecordIoPart::kWhole || part == RecordIoPart::kLast;
}

// Raises kData if a part of this kind cannot be the next one.
void check_part_order(RecordIoPart part, bool begun) {
  const bool begins = part == RecordIoPart::kWhole || part == RecordIoPart::kFirst;
  TORCHDALI_CHECK_KIND(kData, begins != begun, "a RecordIO record ",
                       begun ? "has no end: another one begins within it"
                             : "without a beginning: there is a later part of one");
}

std::string make_recordio_index(const InputFile& file, const std::string& path,
                                const std::function<void(int64_t)>& done) {
  WindowReader reader(file, path, WindowReader::kWholeFile);
  std::string index;
  int64_t count = 0, begin = 0;
  bool begun = false;
  for (int64_t offset = 0; offset < reader.size();) {
    const int64_t left = reader.size() - offset;
    RecordIoHeader header;
    try {
      header = read_recordio_header(reader.read(offset, std::min(left, RecordIoHeader::kBytes)),
                                    left - RecordIoHeader::kBytes);
      check_part_order(header.part, begun);
    } catch (const Error& e) {
      raise(ErrorKind::kData, '"', path, "\", byte ", offset, ": ", e.message(),
            to_fix("check that the file is complete, and a RecordIO file"));
    }
    if (!begun) begin = offset;
    begun = !ends_record(header.part);
    if (!begun) index += std::to_string(count++) + '\t' + std::to_string(begin) + '\n';
    const int64_t size = std::min(header.padded_size(), left);
    offset += size;
    done(size);
  }
  TORCHDALI_CHECK_KIND(kData, !begun, '"', path, "\" ends within the record at byte ", begin,
                       to_fix("check that the file is complete"));
  return index;
}

}  // namespace

const IndexKind& recordio_index() {
  static const IndexKind kind{.name = "recordio", .version = 1, .make = make_recordio_index};
  return kind;
}

RecordIoHeader read_recordio_header(std::span<const uint8_t> header, int64_t left) {
  TORCHDALI_CHECK_KIND(kData, left >= 0 && header.size() >= RecordIoHeader::kBytes,
                       "a RecordIO record is cut off within its header");
  ByteReader reader(header);
  const uint32_t magic = reader.u32(), word = reader.u32(), part = word >> kSizeBits;
  TORCHDALI_CHECK_KIND(kData, magic == kRecordIoMagic,
                       "there is no RecordIO record: it begins with ", magic, ", expected ",
                       kRecordIoMagic, to_fix("check that the index is that of the file"));
  TORCHDALI_CHECK_KIND(kData, part <= static_cast<uint32_t>(RecordIoPart::kLast),
                       "a RecordIO record has a part of the unknown kind ", part);
  const RecordIoHeader result{.part = static_cast<RecordIoPart>(part),
                              .size = word & ((uint32_t{1} << kSizeBits) - 1)};
  TORCHDALI_CHECK_KIND(kData, result.size <= left, "a RecordIO record has a part of ", result.size,
                       " bytes, and ", left, " are left",
                       to_fix("check that the file is complete, and that the index is its own"));
  return result;
}

std::span<const uint8_t> join_recordio(std::span<const uint8_t> record, std::span<uint8_t> to) {
  size_t size = 0;
  for (bool begun = false;;) {
    const auto left = static_cast<int64_t>(record.size()) - RecordIoHeader::kBytes;
    const RecordIoHeader header = read_recordio_header(record, left);
    check_part_order(header.part, begun);
    if (begun) {  // less than the header of the part
      std::memcpy(to.data() + size, &kRecordIoMagic, sizeof kRecordIoMagic);
      size += sizeof kRecordIoMagic;
    }
    const auto data = record.subspan(RecordIoHeader::kBytes, static_cast<size_t>(header.size));
    std::copy(data.begin(), data.end(), to.begin() + static_cast<std::ptrdiff_t>(size));
    size += data.size();
    if (ends_record(header.part)) return to.first(size);
    begun = true;
    record = record.subspan(std::min(record.size(), static_cast<size_t>(header.padded_size())));
  }
}

}  // namespace torchdali::io
