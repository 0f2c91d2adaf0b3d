// SPDX-License-Identifier: Apache-2.0
// RecordReader: the common part of readers of container files, which have many samples each.
#pragma once

#include "io/records/record_index.h"
#include "ops/readers/reader.h"

namespace torchdali {

// A derived class says where the records are, and what it makes of one in run(). The name of a
// sample is "PATH, record N at byte OFFSET".
class RecordReader : public Reader {
 protected:
  // `open_file` opens a path or a URL.
  explicit RecordReader(const OpSpec& spec, io::OpenInput open_file = io::open_input)
      : Reader(spec, kOpenFiles, open_file) {}

  // Lists the records; called once. `files` are opened by the reader's open().
  virtual io::RecordIndex find_records() = 0;
  // Appends the name of a sample for messages.
  virtual void append_name(int64_t index, std::string& text) const;

  const io::RecordIndex& records() const { return records_; }
  // For run().
  SampleBytes record_bytes(const SampleContext& ctx) const {
    return sample_bytes(ctx, request(index_of(ctx)));
  }

  io::ReadRequest request(int64_t index) const override;
  // "size": of the records.
  std::vector<float> find_lengths(const std::string& by) override;

 private:
  int64_t find_samples() final;
  std::unique_ptr<ReaderBatch> make_batch(std::span<const int64_t> indices) final;

  io::RecordIndex records_;
};

}  // namespace torchdali
