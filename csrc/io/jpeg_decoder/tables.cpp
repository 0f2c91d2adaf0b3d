// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/tables.h"

#include <algorithm>
#include <array>
#include <memory>

namespace torchdali::io::jpeg {
namespace {

template <class Table>
struct Cache {
  struct Entry {
    std::array<uint8_t, 16 + 256> key;
    size_t size = 0;
    uint64_t used = 0;
    Table table;
  };
  std::array<std::unique_ptr<Entry>, 8> entries;
  uint64_t clock = 0;

  Table* find(Bytes key) {
    ++clock;
    std::unique_ptr<Entry>* oldest = &entries[0];
    for (std::unique_ptr<Entry>& e : entries) {
      if (!e) {
        oldest = &e;
        break;
      }
      if (e->size == key.size() && std::equal(key.begin(), key.end(), e->key.begin())) {
        e->used = clock;
        return &e->table;
      }
      if (e->used < (*oldest)->used) oldest = &e;
    }
    if (!*oldest) *oldest = std::make_unique<Entry>();
    Entry& e = **oldest;
    e.size = 0;
    if (!make_jpeg_table(key.first<16>(), key.subspan(16), e.table)) return nullptr;
    std::copy(key.begin(), key.end(), e.key.begin());
    e.size = key.size();
    e.used = clock;
    return &e.table;
  }
};

}  // namespace

const kernels::JpegDcTable* dc_table(Bytes counts_and_symbols) {
  thread_local Cache<kernels::JpegDcTable> cache;
  return cache.find(counts_and_symbols);
}

const kernels::JpegAcTable* ac_table(Bytes counts_and_symbols, bool skip) {
  thread_local Cache<kernels::JpegAcTable> cache;
  kernels::JpegAcTable* table = cache.find(counts_and_symbols);
  if (table && skip && !table->has_skip) kernels::add_jpeg_skip(*table);
  return table;
}

const kernels::JpegBandTable* band_table(Bytes counts_and_symbols) {
  thread_local Cache<kernels::JpegBandTable> cache;
  return cache.find(counts_and_symbols);
}

}  // namespace torchdali::io::jpeg
