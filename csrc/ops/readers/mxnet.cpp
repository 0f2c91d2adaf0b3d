// SPDX-License-Identifier: Apache-2.0
// fn.readers.mxnet: images and labels of MXNet's RecordIO files.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "io/records/index_lines.h"
#include "io/records/recordio.h"
#include "ops/readers/index_texts.h"
#include "ops/readers/record_reader.h"

namespace torchdali {
namespace {

// The header of an image: python/mxnet/recordio.py, IRHeader.
struct ImageHeader {
  uint32_t num_labels;  // after the header; 0: `label`
  float label;
  uint64_t ids[2];
};
constexpr int64_t kImageHeaderBytes = sizeof(ImageHeader);
static_assert(kImageHeaderBytes == 24);

class MxnetReader final : public RecordReader {
 public:
  explicit MxnetReader(const OpSpec& spec) : RecordReader(spec), files_(spec) {
    const size_t indexes = files_.index_paths.size();
    TORCHDALI_CHECK(indexes <= 1 || indexes == files_.paths.size(), "`path` has ",
                    files_.paths.size(), " files and `index_path` has ", indexes,
                    to_fix("give one index for each file, one for all files, or none"));
    if (!spec.get<bool>("lazy_init")) prepare();
  }

  void run(SampleContext& ctx) const override {
    record_bytes(ctx).view(ctx, [&](std::span<const uint8_t> record) {
      const auto header = io::read_recordio_header(
          record, static_cast<int64_t>(record.size()) - io::RecordIoHeader::kBytes);
      if (header.part == io::RecordIoPart::kWhole)
        read_image(ctx,
                   record.subspan(io::RecordIoHeader::kBytes, static_cast<size_t>(header.size)));
      else read_image(ctx, io::join_recordio(record, ctx.scratch<uint8_t>(record.size())));
    });
  }

 private:
  static void read_image(SampleContext& ctx, std::span<const uint8_t> data) {
    const auto size = static_cast<int64_t>(data.size());
    TORCHDALI_CHECK_KIND(kData, size >= kImageHeaderBytes, "the record has ", size,
                         " bytes, expected the header of an image, ", kImageHeaderBytes, " bytes");
    ImageHeader header;
    std::memcpy(&header, data.data(), sizeof header);
    const int64_t label_bytes = int64_t{sizeof(float)} * header.num_labels;
    const int64_t image_bytes = size - kImageHeaderBytes - label_bytes;
    TORCHDALI_CHECK_KIND(kData, image_bytes >= 0, "the record has ", header.num_labels,
                         " labels, and ", size - kImageHeaderBytes,
                         " bytes for them and the image");
    const auto copy = [&ctx, &data](int output, DType dtype, int64_t count, int64_t offset) {
      const SampleView& out = ctx.output(output, dtype, Shape{count});
      ctx.copy_to_output(output, out.data, data.data() + offset, out.size_bytes());
    };
    copy(0, DType::kUInt8, image_bytes, kImageHeaderBytes + label_bytes);
    if (header.num_labels > 0) copy(1, DType::kFloat, header.num_labels, kImageHeaderBytes);
    else *ctx.output(1, DType::kFloat, Shape{1}).as<float>() = header.label;
  }

  // A record ends where the next one of the index begins.
  io::RecordIndex find_records() override {
    const std::vector<int64_t> sizes = files_.sizes();
    if (files_.index_paths.size() != 1 || files_.paths.size() == 1) {
      const auto read = [&](size_t i, const std::string& text, io::RecordIndex& shard) {
        add_records(shard, offsets(text, files_.index_name(i), sizes[i]), 0, sizes[i]);
      };
      return read_record_indexes(files_, io::recordio_index(), read);
    }
    // As in DALI: one index for the files one after another.
    const auto all = offsets(io::read_text(files_.index_paths[0]), files_.index_name(0),
                             std::accumulate(sizes.begin(), sizes.end(), int64_t{0}));
    io::RecordIndex index;
    int64_t begin = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      index.add_shard(files_.paths[i]);
      const auto first = std::lower_bound(all.begin(), all.end(), begin);
      const auto last = std::lower_bound(first, all.end(), begin + sizes[i]);
      add_records(index, {first, last}, begin, begin + sizes[i]);
      begin += sizes[i];
    }
    return index;
  }

  // Sorted, as DALI reads them.
  static std::vector<int64_t> offsets(const std::string& text, const std::string& name,
                                      int64_t end) {
    std::vector<int64_t> found;
    io::read_index_lines(text, name, [&](int64_t, int64_t offset, int64_t line) {
      TORCHDALI_CHECK_KIND(kData, offset < end, "line ", line, " of the index \"", name,
                           "\" has a record at byte ", offset, ", and the data ends at byte ", end,
                           to_fix("make the index again, or leave out `index_path`"));
      found.push_back(offset);
    });
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  // `places`: in a file that reaches from `begin` to `end`.
  static void add_records(io::RecordIndex& index, std::span<const int64_t> places, int64_t begin,
                          int64_t end) {
    for (size_t i = 0; i < places.size(); ++i) {
      const int64_t next = i + 1 < places.size() ? places[i + 1] : end;
      index.add(places[i] - begin, next - places[i]);
    }
  }

  IndexedFiles files_;
};

TORCHDALI_OPERATOR("readers.mxnet")
    .doc(
        "Reads images and labels from MXNet's RecordIO files, as `im2rec` writes them.\n\n"
        "The samples are in the order of the files.")
    .output("data", "The encoded image; uint8 [size].")
    .output("label", "The label, or all labels of the image; float32 [labels].")
    .with([](SchemaBuilder& schema) { path_args(schema, "RecordIO", "rec2idx"); })
    .with(reader_args)
    .with([](SchemaBuilder& schema) { bucket_args(schema, "\"size\": the bytes of a record."); })
    .cpu<MxnetReader>();

}  // namespace
}  // namespace torchdali
