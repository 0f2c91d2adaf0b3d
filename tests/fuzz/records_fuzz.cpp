// SPDX-License-Identifier: Apache-2.0
// One input of a fuzzer, through a parser of records or of files of records; the first byte says
// which. Whatever the bytes, the parser returns or raises an error, and what it returns lies within
// the input.
// sources: csrc/io/records/messages/*.cpp csrc/io/records/index_lines.cpp
// sources: csrc/io/records/lmdb.cpp csrc/io/records/recordio.cpp csrc/io/records/tfrecord.cpp
// sources: csrc/io/storage/*.cpp csrc/core/threads/*.cpp
// sources: csrc/io/content_hash.cpp
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "../cpp/expect.h"
#include "core/error.h"
#include "io/records/index_lines.h"
#include "io/records/lmdb.h"
#include "io/records/messages/caffe2_tensors.h"
#include "io/records/messages/caffe_datum.h"
#include "io/records/messages/tf_example.h"
#include "io/records/recordio.h"
#include "io/records/tfrecord.h"
#include "memory_file.h"

namespace torchdali::io {
namespace {

using Input = std::span<const uint8_t>;

bool within(Input part, Input whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void run_example(Input input) {
  const std::vector<std::string> names = {"i", "f", "s", ""};
  std::vector<Input> entries(names.size());
  find_features(input, names, entries);
  for (const Input entry : entries) {
    EXPECT(within(entry, input));
    const ExampleFeature feature(entry);
    // Of the exact size, so that writing past the end is seen.
    const auto size = static_cast<size_t>(feature.size());
    EXPECT(size <= input.size());
    if (feature.kind() == FeatureKind::kInt64)
      feature.copy_int64(std::vector<int64_t>(size).data());
    if (feature.kind() == FeatureKind::kFloat) feature.copy_float(std::vector<float>(size).data());
    if (feature.kind() == FeatureKind::kBytes) EXPECT(within(feature.first_bytes(), input));
  }
}

void run_datum(Input input) {
  const CaffeDatum datum = parse_caffe_datum(input);
  if (datum.data) EXPECT(within(*datum.data, input));
}

void run_tensors(Input input) {
  std::vector<Input> found(3);
  found.resize(find_caffe2_tensors(input, found));
  for (const Input message : found) {
    EXPECT(within(message, input));
    const Caffe2Tensor tensor(message);
    const auto size = static_cast<size_t>(tensor.size());
    EXPECT(size <= input.size() && within(tensor.bytes(), input) && tensor.dims().size() <= 4);
    if (tensor.is(Caffe2Type::kFloat)) tensor.copy(std::vector<float>(size).data());
    if (tensor.is(Caffe2Type::kInt32)) tensor.copy(std::vector<int32_t>(size).data());
    if (tensor.is(Caffe2Type::kInt64)) tensor.copy(std::vector<int64_t>(size).data());
  }
}

std::string make_index(const IndexKind& kind, Input input) {
  return kind.make(MemoryFile(input), "fuzz", [](int64_t) {});
}

void run_tfrecord(Input input) {
  int64_t end = 0;
  read_index_lines(
      make_index(tfrecord_index(), input), "fuzz", [&](int64_t offset, int64_t size, int64_t) {
        EXPECT(offset == end);
        end = offset + size;
        const Input data =
            tfrecord_data(input.subspan(static_cast<size_t>(offset), static_cast<size_t>(size)));
        EXPECT(static_cast<int64_t>(data.size()) == size - kTfRecordFrame);
      });
  EXPECT(end == static_cast<int64_t>(input.size()));
}

void run_recordio(Input input) {
  std::vector<uint8_t> joined(input.size());
  try {
    EXPECT(join_recordio(input, joined).size() <= input.size());
  } catch (const Error&) {
  }
  std::vector<int64_t> offsets;
  read_index_lines(make_index(recordio_index(), input), "fuzz",
                   [&](int64_t number, int64_t offset, int64_t) {
                     EXPECT(number == static_cast<int64_t>(offsets.size()));
                     offsets.push_back(offset);
                   });
  offsets.push_back(static_cast<int64_t>(input.size()));
  EXPECT(offsets[0] == 0 && std::is_sorted(offsets.begin(), offsets.end()));
  for (size_t i = 0; i + 1 < offsets.size(); ++i)  // what was indexed can be read
    join_recordio(input.subspan(static_cast<size_t>(offsets[i]),
                                static_cast<size_t>(offsets[i + 1] - offsets[i])),
                  joined);
}

void run_lmdb(Input input) {
  size_t entries = 0;
  read_lmdb(MemoryFile(input), "fuzz", [&](const LmdbEntry& entry) {
    EXPECT(entry.offset >= 0 && entry.size >= 0);
    EXPECT(entry.size <= static_cast<int64_t>(input.size()) - entry.offset);
    EXPECT(++entries <= input.size());
  });
}

void run_lines(Input input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  read_index_lines(text, "fuzz", [](int64_t first, int64_t second, int64_t line) {
    EXPECT(first >= 0 && second >= 0 && line > 0);
  });
}

}  // namespace
}  // namespace torchdali::io

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace torchdali::io;  // NOLINT: a program of its own
  constexpr std::array kParsers = {run_example,  run_datum, run_tensors, run_tfrecord,
                                   run_recordio, run_lmdb,  run_lines};
  if (size == 0) return 0;
  try {
    kParsers[*data % kParsers.size()]({data + 1, size - 1});
  } catch (const torchdali::Error& e) {
    EXPECT(!e.message().empty() && e.kind() != torchdali::ErrorKind::kInternal);
  }
  return 0;
}
