// SPDX-License-Identifier: Apache-2.0
// fn.readers.parquet and fn.readers.arrow: the values of a row per sample. docs/design/tables.md.
#include <algorithm>
#include <cstring>
#include <variant>

#include "io/tables/table_chunks.h"
#include "ops/readers/reader.h"

namespace torchdali {
namespace {

struct TableBatch final : ReaderBatch {
  std::vector<io::TableChunks::Chunk> chunks;  // of each sample
  std::vector<int64_t> rows;                   // in their chunks
};

io::TableOpener& opener() {
  io::TableOpener* opener = io::table_opener();
  TORCHDALI_CHECK_KIND(kUnsupported, opener != nullptr, "this program has no access to tables");
  return *opener;
}

int num_columns(const OpSpec& spec) {
  return static_cast<int>(spec.get<std::vector<std::string>>("columns").size());
}

class TableReader : public Reader {
 public:
  void run(SampleContext& ctx) const override {
    const auto& batch = ctx.source_batch<TableBatch>();
    const auto place = static_cast<size_t>(ctx.index_in_batch());
    const std::shared_ptr<const io::ArrowChunk> chunk = batch.chunks[place].get();
    const int64_t row = batch.rows[place];
    TORCHDALI_CHECK_KIND(kData, row < chunk->num_rows(), "it has ", chunk->num_rows(),
                         " rows, expected more than ", row, to_fix("the file was changed"));
    for (int column = 0; column < chunk->num_columns(); ++column) {
      try {
        write(ctx, column, *chunk, row);
      } catch (const Error& e) {
        throw Error(e.kind(), str_cat("column \"", chunk->column_name(column), "\": ", e.message()),
                    e.fix());
      }
    }
  }

 protected:
  TableReader(const OpSpec& spec, int64_t max_bytes) : Reader(spec), max_bytes_(max_bytes) {
    TORCHDALI_CHECK(num_columns(spec) > 0, "`columns` is an empty list, expected one name or more");
  }

  virtual std::unique_ptr<io::Table> open_table() = 0;

 private:
  struct Row {
    size_t chunk;
    int64_t number;  // in the chunk
  };

  int64_t find_samples() final {
    auto table = open_table();
    facts_ = table->facts();
    begins_.reserve(facts_.chunk_rows.size());
    int64_t rows = 0;
    for (const int64_t chunk_rows : facts_.chunk_rows) {
      begins_.push_back(rows);
      rows += chunk_rows;
    }
    for (const int64_t row : facts_.rows)
      TORCHDALI_CHECK_KIND(kData, row >= 0 && row < rows, "the table has ", rows,
                           " rows, expected more than ", row);
    chunks_ = std::make_unique<io::TableChunks>(std::move(table), max_bytes_);
    if (!facts_.rows.empty()) rows = static_cast<int64_t>(facts_.rows.size());
    TORCHDALI_CHECK_KIND(kData, rows > 0, "the table has no rows");
    return rows;
  }

  Row row_at(int64_t index) const {
    if (!facts_.rows.empty()) index = facts_.rows[static_cast<size_t>(index)];
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), index);
    const auto chunk = static_cast<size_t>(after - begins_.begin()) - 1;
    return {chunk, index - begins_[chunk]};
  }

  void will_read(int64_t /*position*/, int64_t index) override {
    chunks_->want(static_cast<int64_t>(row_at(index).chunk));
  }

  std::unique_ptr<ReaderBatch> make_batch(std::span<const int64_t> indices) final {
    auto batch = std::make_unique<TableBatch>();
    auto names = std::make_shared<SampleNames>();
    for (const int64_t index : indices) {
      const Row row = row_at(index);
      batch->chunks.push_back(chunks_->want(static_cast<int64_t>(row.chunk)));
      batch->rows.push_back(row.number);
      names->add([&](std::string& text) {
        text += facts_.chunk_names[row.chunk] + ", row " +
                std::to_string(facts_.first_rows[row.chunk] + row.number);
      });
    }
    batch->names = std::move(names);
    return batch;
  }

  void write(SampleContext& ctx, int column, const io::ArrowChunk& chunk, int64_t row) const {
    const auto value = chunk.value(column, row);
    TORCHDALI_CHECK_KIND(kData, !std::holds_alternative<io::ArrowNull>(value), "it is null",
                         to_fix("leave out such rows, or give on_error=\"skip\""));
    if (const auto* path = std::get_if<io::ArrowPath>(&value)) {
      open(path->path)->read_rest(0, [&](int64_t size) {
        return ctx.output(column, DType::kUInt8, Shape{size}).data;
      });
      return;
    }
    const auto& view = std::get<io::ArrowValue>(value);
    const SampleView& out = ctx.output(column, view.dtype, view.shape);
    if (view.bit < 0) {
      if (out.size_bytes() > 0)
        std::memcpy(out.data, view.data, static_cast<size_t>(out.size_bytes()));
      return;
    }
    const auto* bits = static_cast<const uint8_t*>(view.data);
    auto* to = out.as<bool>();
    for (int64_t i = view.bit; i < view.bit + out.volume(); ++i)
      *to++ = (bits[i / 8] >> (i % 8) & 1) != 0;
  }

  const int64_t max_bytes_;
  io::TableFacts facts_;
  std::vector<int64_t> begins_;  // the first row of each chunk
  std::unique_ptr<io::TableChunks> chunks_;
};

class ParquetReader final : public TableReader {
 public:
  explicit ParquetReader(const OpSpec& spec)
      : TableReader(spec, spec.get<int64_t>("memory_bytes")),
        options_(
            {.paths = spec.get<std::vector<std::string>>("paths"),
             .columns = spec.get<std::vector<std::string>>("columns"),
             .row_cache = spec.has("row_cache") ? spec.get<std::string>("row_cache") : "",
             .most_bytes = spec.get<bool>("random_shuffle") || spec.get<bool>("shuffle_after_epoch")
                               ? spec.get<int64_t>("memory_bytes")
                               : -1}) {
    TORCHDALI_CHECK(!options_.paths.empty(), "`paths` is an empty list, expected one or more");
    TORCHDALI_CHECK(spec.get<int64_t>("memory_bytes") >= 0, "`memory_bytes` is ",
                    spec.get<int64_t>("memory_bytes"), ", expected 0 or more");
    if (!spec.get<bool>("lazy_init")) prepare();
  }

 private:
  std::unique_ptr<io::Table> open_table() override { return opener().open_parquet(options_); }

  const io::TableOpener::ParquetOptions options_;
};

class ArrowReader final : public TableReader {
 public:
  explicit ArrowReader(const OpSpec& spec)
      // The memory belongs to the user's table.
      : TableReader(spec, 0),
        table_(spec.get<Function>("table")),
        columns_(spec.get<std::vector<std::string>>("columns")) {
    if (!spec.get<bool>("lazy_init")) prepare();
  }

 private:
  std::unique_ptr<io::Table> open_table() override {
    return opener().open_object(table_, columns_);
  }

  const std::shared_ptr<void> table_;
  const std::vector<std::string> columns_;
};

SchemaBuilder& column_args(SchemaBuilder& schema) {
  return schema
      .output("values",
              "One output for each column. Bytes, strings, and images of Hugging Face datasets "
              "(structs of bytes and path): uint8 [size]. Numbers and booleans: []. Lists of them: "
              "[n]; nested lists, if they are rectangular, [n, m, ...].")
      .required_arg("columns", ArgType::kStringVec,
                    "Names of the columns. \"a.b\" is the field b of the structs in column a.")
      .num_outputs(num_columns)
      .with(reader_args);
}

TORCHDALI_OPERATOR("readers.parquet")
    .doc(
        "Reads rows of Parquet files. Needs the package pyarrow.\n\n"
        "A row index over all files makes shuffling a full permutation of the rows. Row groups are "
        "loaded by threads of their own, and kept in memory up to `memory_bytes`. If a shuffled "
        "table is larger than that, row groups would be decoded again and again; `row_cache` "
        "prevents this.\n\n"
        "Errors name the file, the row group, and the row in it.")
    .required_arg("paths", ArgType::kStringVec,
                  "Files, folders with *.parquet files in them or in their folders, or URLs.")
    .arg("memory_bytes", int64_t{2} << 30,
         "Memory for decoded row groups that are not in use; those in use are kept in any case.")
    .optional_arg("row_cache", ArgType::kString,
                  "Folder in which row groups are kept decoded, as memory-mapped Arrow files, for "
                  "this and other processes. It needs room for the decoded columns, and may be "
                  "deleted when no pipeline uses it.")
    .with(column_args)
    .cpu<ParquetReader>();

TORCHDALI_OPERATOR("readers.arrow")
    .doc(
        "Reads rows of a table in memory, or of a Hugging Face dataset, without Python for each "
        "sample. Needs the package pyarrow.\n\n"
        "Encoded images go from the table's buffers to the decoders. A dataset that was shuffled, "
        "filtered or selected from gives the rows that it has, in its order; `random_shuffle` "
        "permutes them.")
    .required_arg("table", ArgType::kObject,
                  "A pyarrow.Table, a datasets.Dataset, or an object with __arrow_c_stream__(), as "
                  "those of Polars and pandas. A pipeline with it cannot be serialized.")
    .with(column_args)
    .cpu<ArrowReader>();

}  // namespace
}  // namespace torchdali
