// SPDX-License-Identifier: Apache-2.0
#include "kernels/flac/crc.h"

#include <array>

namespace torchdali::kernels::flac {
namespace {

constexpr std::array<uint8_t, 256> make_table8() {
  std::array<uint8_t, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned x = i;
    for (int bit = 0; bit < 8; ++bit) x = (x & 0x80) != 0 ? (x << 1) ^ 0x07 : x << 1;
    table[i] = static_cast<uint8_t>(x);
  }
  return table;
}

// Table n: the effect of a byte that n bytes follow, so that 8 bytes are 8 independent look-ups.
using Tables16 = std::array<std::array<uint16_t, 256>, 8>;
constexpr Tables16 make_tables16() {
  Tables16 tables{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned x = i << 8;
    for (int bit = 0; bit < 8; ++bit) x = (x & 0x8000) != 0 ? (x << 1) ^ 0x8005 : x << 1;
    tables[0][i] = static_cast<uint16_t>(x);
  }
  for (size_t n = 1; n < 8; ++n)
    for (unsigned i = 0; i < 256; ++i) {
      const unsigned x = tables[n - 1][i];
      tables[n][i] = static_cast<uint16_t>((x << 8) ^ tables[0][(x >> 8) & 0xff]);
    }
  return tables;
}

constexpr std::array<uint8_t, 256> kTable8 = make_table8();
constexpr Tables16 kTables16 = make_tables16();

}  // namespace

uint8_t crc8(const uint8_t* data, size_t size) {
  uint8_t crc = 0;
  for (size_t i = 0; i < size; ++i) crc = kTable8[crc ^ data[i]];
  return crc;
}

uint16_t crc16(const uint8_t* data, size_t size) {
  const Tables16& t = kTables16;
  unsigned crc = 0;
  for (; size >= 8; size -= 8, data += 8) {
    const unsigned first = t[7][data[0] ^ (crc >> 8)] ^ t[6][data[1] ^ (crc & 0xff)];
    crc = first ^ t[5][data[2]] ^ t[4][data[3]] ^ t[3][data[4]] ^ t[2][data[5]] ^ t[1][data[6]] ^
          t[0][data[7]];
  }
  for (; size > 0; --size, ++data) crc = ((crc << 8) & 0xffff) ^ t[0][(crc >> 8) ^ *data];
  return static_cast<uint16_t>(crc);
}

}  // namespace torchdali::kernels::flac
