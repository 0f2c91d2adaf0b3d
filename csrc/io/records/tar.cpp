// SPDX-License-Identifier: Apache-2.0
#include "io/records/tar.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/error.h"
#include "io/records/window_reader.h"

namespace torchdali::io {
namespace {

using Chars = std::string_view;

// Places in a header.
constexpr size_t kName = 0, kNameSize = 100;
constexpr size_t kSize = 124, kChecksum = 148, kType = 156, kNumberSize = 12, kChecksumSize = 8;
constexpr size_t kMagic = 257, kPrefix = 345, kPrefixSize = 155;
constexpr std::string_view kUstar("ustar\0", 6);
// The largest size that a header has as an octal number; larger ones may be in a pax record only.
constexpr int64_t kMostOctal = (int64_t{1} << 33) - 1;
// Of a long name or of pax records. Linux's paths have at most 4096 bytes.
constexpr int64_t kMaxExtension = int64_t{1} << 20;

Chars field(const uint8_t* header, size_t begin, size_t size) {
  return {reinterpret_cast<const char*>(header) + begin, size};
}

Chars until_nul(Chars text) { return text.substr(0, text.find('\0')); }

// A number of a header: octal digits between spaces and NULs, or GNU's binary one, whose first bit
// is set. Nothing if it is neither, is negative, or does not fit.
std::optional<int64_t> parse_number(Chars text) {
  if ((static_cast<uint8_t>(text.front()) & 0x80) != 0) {
    uint64_t value = static_cast<uint8_t>(text.front()) & 0x7f;
    for (const char c : text.substr(1)) {
      if (value > (static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) >> 8))
        return std::nullopt;
      value = value << 8 | static_cast<uint8_t>(c);
    }
    return static_cast<int64_t>(value);
  }
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): with its end
  const auto parsed = std::from_chars(text.data(), end, value, 8);
  if (value < 0 || parsed.ec == std::errc::result_out_of_range) return std::nullopt;
  for (const char* at = parsed.ptr; at < end; ++at)
    if (*at != ' ' && *at != '\0') return std::nullopt;
  return value;
}

// The sum of the bytes, as if those of the checksum were spaces. Old programs added signed bytes.
bool has_right_checksum(const uint8_t* header) {
  const auto stored = parse_number(field(header, kChecksum, kChecksumSize));
  if (!stored) return false;
  int64_t sum = 0, large = 0;
  for (size_t i = 0; i < kTarBlock; ++i) {
    sum += header[i];
    large += header[i] >> 7;
  }
  for (size_t i = kChecksum; i < kChecksum + kChecksumSize; ++i) {
    sum += ' ' - header[i];
    large -= header[i] >> 7;
  }
  return *stored == sum || *stored == sum - 256 * large;
}

bool is_zero(const uint8_t* header) {
  return std::all_of(header, header + kTarBlock, [](uint8_t b) { return b == 0; });
}

bool is_regular(char type) { return type == '0' || type == '\0' || type == '7'; }

const char* compression(Chars begin) {
  if (begin.starts_with("\x1f\x8b")) return "gzip";
  if (begin.starts_with("BZh")) return "bzip2";
  if (begin.starts_with("\xfd\x37zXZ")) return "xz";
  if (begin.starts_with("\x28\xb5\x2f\xfd")) return "zstd";
  return nullptr;
}

// What the headers before the one of a file say about it.
struct Extension {
  std::string name;
  std::optional<int64_t> size;
  bool sparse = false;
  bool given = false;
};

class TarReader {
 public:
  TarReader(const InputFile& archive, const std::string& path)
      : path_(path), window_(archive, path, WindowReader::kWholeFile) {}

  void run(const std::function<void(const TarFile&)>& take,
           const std::function<void(int64_t)>& done) {
    constexpr int64_t kReportPeriod = int64_t{1} << 20;
    int64_t reported = 0;
    while (at_ < window_.size()) {
      const uint8_t* header = read_header();
      if (is_zero(header)) break;
      read_entry(header, take);
      if (at_ - reported < kReportPeriod) continue;
      done(at_ - reported);
      reported = at_;
    }
    check(!next_.given, "the archive ends before the file of the extended header",
          "it is truncated: make or copy it again");
    done(window_.size() - reported);
  }

 private:
  template <class Message>
  void check(bool condition, const Message& message, const char* fix) const {
    TORCHDALI_CHECK_KIND(kData, condition, "\"", path_, "\", tar header at byte ", at_, ": ",
                         message, to_fix(fix));
  }

  // The header at at_.
  const uint8_t* read_header() {
    const int64_t left = window_.size() - at_;
    const uint8_t* header = window_.read(at_, std::min(left, kTarBlock)).data();
    if (left >= kTarBlock && (is_zero(header) || has_right_checksum(header))) return header;
    const char* kind =
        at_ > 0 ? nullptr
                : compression(field(header, 0, static_cast<size_t>(std::min(left, kTarBlock))));
    TORCHDALI_CHECK_KIND(kData, kind == nullptr, "\"", path_, "\" is compressed (",
                         kind == nullptr ? "" : kind, "), expected a plain tar archive",
                         to_fix("decompress it; samples in the middle of a compressed archive "
                                "cannot be read"));
    check(left >= kTarBlock, "the archive ends within a header",
          "it is truncated: make or copy it again");
    check(false, "wrong checksum", "it is damaged, or not a tar archive: make or copy it again");
    return header;
  }

  // Handles the entry at at_ and goes to the next one. `header` is memory of window_.
  void read_entry(const uint8_t* header, const std::function<void(const TarFile&)>& take) {
    const char type = static_cast<char>(header[kType]);
    const auto number = parse_number(field(header, kSize, kNumberSize));
    check(number.has_value(), "the size of the entry is not a number of 0 or more",
          "it is damaged: make or copy it again");
    const bool has_data = type < '1' || type > '6';
    const int64_t data = at_ + kTarBlock;
    const int64_t stored = number.value_or(0);
    const int64_t size = !has_data ? 0 : is_extension(type) ? stored : next_.size.value_or(stored);
    // The name is copied: reading an extension replaces the window.
    set_name(header);
    const int64_t left = window_.size() - data;
    check(size <= left,
          str_cat("\"", name_, "\" has ", size, " bytes, but the archive ends after ", left),
          "it is truncated or damaged: make or copy it again");
    if (is_extension(type)) {
      read_extension(type, data, size);
    } else {
      check(type != 'S' && !next_.sparse, str_cat("\"", name_, "\" is stored as a sparse file"),
            "make the archive without tar's option --sparse");
      if (is_regular(type) && !name_.ends_with('/')) take({name_, data, size});
      next_ = {};
    }
    at_ = data + (size + kTarBlock - 1) / kTarBlock * kTarBlock;
  }

  static bool is_extension(char type) {
    return type == 'L' || type == 'K' || type == 'x' || type == 'X' || type == 'g';
  }

  void set_name(const uint8_t* header) {
    name_.clear();
    if (!next_.name.empty()) {
      name_ = next_.name;
      return;
    }
    // GNU's magic number ends differently; it has other fields instead of the prefix.
    if (field(header, kMagic, kUstar.size()) == kUstar) {
      name_ = until_nul(field(header, kPrefix, kPrefixSize));
      if (!name_.empty()) name_ += '/';
    }
    name_ += until_nul(field(header, kName, kNameSize));
  }

  void read_extension(char type, int64_t data, int64_t size) {
    if (type == 'K') return;  // the target of a link
    check(size <= kMaxExtension,
          str_cat("an extended header of ", size, " bytes, expected at most ", kMaxExtension),
          "it is damaged: make or copy it again");
    const auto* bytes = reinterpret_cast<const char*>(window_.read(data, size).data());
    const Chars text(bytes, static_cast<size_t>(size));
    if (type == 'L') next_.name = until_nul(text);
    else read_records(text, type == 'g');
    next_.given = next_.given || type != 'g';
  }

  // Records of pax: "LENGTH KEY=VALUE\n".
  void read_records(Chars text, bool global) {
    while (!text.empty() && text.front() != '\0') {
      size_t length = 0;
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), length);
      const auto digits = static_cast<size_t>(parsed.ptr - text.data());
      const bool right = parsed.ec == std::errc() && length <= text.size() && length > digits + 2 &&
                         text[digits] == ' ' && text[length - 1] == '\n';
      const Chars record = right ? text.substr(digits + 1, length - digits - 2) : Chars();
      const size_t equals = record.find('=');
      check(equals != Chars::npos, "a damaged record of an extended header",
            "make or copy the archive again");
      read_record(record.substr(0, equals), record.substr(equals + 1), global);
      text.remove_prefix(length);
    }
  }

  void read_record(Chars key, Chars value, bool global) {
    const bool sparse = key.starts_with("GNU.sparse.");
    if (key != "path" && key != "size" && !sparse) return;
    check(!global, str_cat("a global header with \"", key, "\", which would be that of all files"),
          "make the archive with another program");
    if (key == "path") next_.name = until_nul(value);
    if (sparse) next_.sparse = true;
    if (key != "size") return;
    int64_t size = -1;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), size);
    check(parsed.ec == std::errc() && parsed.ptr == value.data() + value.size() && size >= 0,
          str_cat("the size \"", value, "\" is not a number of 0 or more"),
          "it is damaged: make or copy it again");
    next_.size = size;
  }

  const std::string& path_;
  WindowReader window_;
  int64_t at_ = 0;  // the header that is read
  Extension next_;
  std::string name_;
};

}  // namespace

void for_each_tar_file(const InputFile& archive, const std::string& path,
                       const std::function<void(const TarFile&)>& take,
                       const std::function<void(int64_t)>& done) {
  TarReader(archive, path).run(take, done);
}

std::string tar_header_problem(const TarHeader& header, int64_t size) {
  if (!has_right_checksum(header.data())) return "there is no tar header";
  if (!is_regular(static_cast<char>(header[kType])))
    return "the tar header is not that of a regular file";
  const auto stored = parse_number(field(header.data(), kSize, kNumberSize));
  if (stored && (*stored == size || size > kMostOctal)) return {};
  return str_cat("the tar header has a size of ", stored.value_or(-1));
}

}  // namespace torchdali::io
