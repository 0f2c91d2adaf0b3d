// SPDX-License-Identifier: Apache-2.0
// Dividing the reading of arrays between host and GPU: docs/design/gds.md. Of the host part of a
// reader, output 0 is copied to the GPU, and the last output, a DeviceArray, stays on the host for
// readers.arrays_device_part.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/operator.h"
#include "core/reason_counts.h"

namespace torchdali {

// Plain data, copied as bytes. For kInFile, the path and the version of the file follow.
struct DeviceArray {
  enum class Kind : int8_t {
    kRead,    // output 0 is the array
    kInFile,  // output 0 is empty
  };
  Kind kind = Kind::kRead;
  DType dtype = DType::kUInt8;
  Shape shape;  // of the output
  // kInFile: the box of `extent` elements that the file has of it, at `to` of the output. Its first
  // element is at `offset` of the file, and the last one in `bytes` bytes from there on.
  Shape to, extent;
  Shape strides;  // in the file, in bytes
  int64_t offset = 0, bytes = 0;
  // Not -1: this is so for the box of index 0 along this axis. Those of the others follow in the
  // file, at a distance of its stride.
  int slab_axis = -1;
  uint64_t fill = 0;  // bytes of an element that the file does not have
  int64_t path_bytes = 0, version_bytes = 0;

  int64_t slabs() const { return slab_axis < 0 ? 1 : extent[slab_axis]; }
  int64_t slab_offset(int64_t slab) const {
    return offset + (slab_axis < 0 ? 0 : slab * strides[slab_axis]);
  }
};

// Part of the host part of a reader, whose schema has add_gds_arg() and a last output for the
// description.
class ArrayPacker {
 public:
  // Null if the operator is no host part.
  static std::unique_ptr<ArrayPacker> of(const OpSpec& spec);
  explicit ArrayPacker(const OpSpec& spec);

  // What stands against the GPU reading anything of a file; empty if nothing is known.
  static std::string obstacle(const std::string& path);
  // What stands against an array; empty if nothing does.
  std::string obstacle(const DeviceArray& array) const;
  // Makes both outputs. `version`: of the file when its header was read, or empty.
  static void leave_to_gpu(SampleContext& ctx, DeviceArray array, const std::string& path,
                           const std::string& version);
  // The host reads the array, because of `why`; an error if that is not permitted.
  void refuse(const std::string& why) const;
  // After output 0 was made.
  static void describe_read(SampleContext& ctx);
  std::map<std::string, int64_t> counts() const { return counts_.read(); }

 private:
  const bool required_;
  mutable ReasonCounts counts_;
};

struct ArrayInFile {
  DeviceArray about;
  std::string path, version;
};
ArrayInFile read_device_array(const SampleView& description);

// "required": what is not read by GPUDirect Storage is an error.
SchemaBuilder& add_gds_arg(SchemaBuilder& schema);
bool is_gds_required(const OpSpec& spec);
[[noreturn]] void raise_not_by_gds(const std::string& why);

}  // namespace torchdali
