// SPDX-License-Identifier: Apache-2.0
#include "io/audio/ogg_pages.h"

#include <string_view>

#include "io/bytes.h"

namespace torchdali::io {
namespace {

constexpr size_t kHeader = 27;
constexpr std::string_view kFirstBytes("OggS\0", 5);  // with the version

struct Page {
  int64_t end = 0;  // its granule position, in frames; -1 if no packet ends in it
  uint32_t serial = 0;
};

Page page_at(std::span<const uint8_t> bytes, size_t at) {
  ByteReader in(bytes.subspan(at, kHeader));
  in.skip(6);
  const auto end = static_cast<int64_t>(in.u64());
  return {.end = end, .serial = in.u32()};
}

}  // namespace

int64_t frames_of_last_ogg_page(std::span<const uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (bytes.size() < kHeader || !text.starts_with(kFirstBytes)) return -1;
  const uint32_t serial = page_at(bytes, 0).serial;
  int64_t last = -1;
  for (size_t at = bytes.size() - kHeader + 1; at > 0;) {
    at = text.rfind(kFirstBytes, at - 1);
    if (at == std::string_view::npos) break;
    const Page page = page_at(bytes, at);
    if (page.serial != serial || page.end < 0) continue;
    if (last >= 0) return page.end <= last ? last - page.end : -1;
    last = page.end;
  }
  return -1;
}

bool is_chained_ogg(std::span<const uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (bytes.size() < kHeader) return false;
  size_t last = text.rfind(kFirstBytes, bytes.size() - kHeader);
  if (last == std::string_view::npos || last == 0) return false;
  const uint32_t serial = page_at(bytes, last).serial;
  constexpr uint8_t kBegins = 2;
  for (size_t at = 0; bytes.size() - at >= kHeader && text.substr(at).starts_with(kFirstBytes);) {
    const Page page = page_at(bytes, at);
    if (page.serial == serial) return false;
    if ((bytes[at + 5] & kBegins) == 0) return true;
    const size_t parts = bytes[at + kHeader - 1];
    if (bytes.size() - at - kHeader < parts) return false;
    size_t next = at + kHeader + parts;
    for (const uint8_t part : bytes.subspan(at + kHeader, parts)) next += part;
    if (next >= bytes.size()) return false;
    at = next;
  }
  return false;
}

}  // namespace torchdali::io
