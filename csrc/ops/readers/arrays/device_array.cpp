// SPDX-License-Identifier: Apache-2.0
#include "ops/readers/arrays/device_array.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "gpu/gds/support.h"
#include "io/storage/input_file.h"
#include "kernels/gpu/task.h"

namespace torchdali {
namespace {

static_assert(std::is_trivially_copyable_v<DeviceArray>);

constexpr const char* kArgument = "gds";
// Opening and registering a file takes longer than reading this from the page cache.
constexpr int64_t kLeastBytes = int64_t{64} << 10;

void output_description(SampleContext& ctx, const DeviceArray& about, const std::string& path,
                        const std::string& version) {
  const auto size = static_cast<int64_t>(sizeof(about) + path.size() + version.size());
  const SampleView& out =
      ctx.output(static_cast<int>(ctx.num_outputs()) - 1, DType::kUInt8, Shape{size});
  auto* to = out.as<std::byte>();
  std::memcpy(to, &about, sizeof(about));
  std::copy_n(path.data(), path.size(), reinterpret_cast<char*>(to) + sizeof(about));
  std::copy_n(version.data(), version.size(),
              reinterpret_cast<char*>(to) + sizeof(about) + path.size());
}

}  // namespace

ArrayInFile read_device_array(const SampleView& description) {
  ArrayInFile made;
  std::memcpy(static_cast<void*>(&made.about), description.data, sizeof(made.about));
  const char* text = description.as<const char>() + sizeof(made.about);
  made.path.assign(text, static_cast<size_t>(made.about.path_bytes));
  made.version.assign(text + made.about.path_bytes, static_cast<size_t>(made.about.version_bytes));
  return made;
}

std::unique_ptr<ArrayPacker> ArrayPacker::of(const OpSpec& spec) {
  return spec.schema->find_arg(kArgument) == nullptr ? nullptr
                                                     : std::make_unique<ArrayPacker>(spec);
}

ArrayPacker::ArrayPacker(const OpSpec& spec) : required_(is_gds_required(spec)) {}

std::string ArrayPacker::obstacle(const std::string& path) {
  if (io::is_remote(path)) return "remote file";
  return gpu::gds::known_obstacle(std::string(io::local_path(path)));
}

std::string ArrayPacker::obstacle(const DeviceArray& array) const {
  // Of a whole array in C order, all axes are one, but a region may need each of them.
  if (array.shape.ndim() > gpu::kMaxAxes)
    return str_cat("more than ", gpu::kMaxAxes, " dimensions");
  if (!required_ && array.bytes < kLeastBytes)
    return array.slab_axis < 0 ? "small array" : "scattered region";
  return "";
}

void ArrayPacker::leave_to_gpu(SampleContext& ctx, DeviceArray array, const std::string& path,
                               const std::string& version) {
  array.kind = DeviceArray::Kind::kInFile;
  array.path_bytes = std::ssize(path);
  array.version_bytes = std::ssize(version);
  Shape empty = array.shape;  // of the kind of arrays that were read
  for (int i = 0; i < empty.ndim(); ++i) empty[i] = 0;
  const SampleView& out = ctx.output(0, array.dtype, empty);
  if (empty.ndim() == 0) std::memset(out.data, 0, static_cast<size_t>(itemsize(array.dtype)));
  output_description(ctx, array, path, version);
}

void ArrayPacker::refuse(const std::string& why) const {
  if (required_) raise_not_by_gds(why);
  counts_.add("CPU: " + why);
}

void ArrayPacker::describe_read(SampleContext& ctx) {
  const SampleView& out = ctx.output_view(0);
  DeviceArray about;
  about.dtype = out.dtype;
  about.shape = out.shape;
  output_description(ctx, about, "", "");
}

SchemaBuilder& add_gds_arg(SchemaBuilder& schema) {
  return schema.arg(kArgument, "1",
                    "\"1\": the CPU reads what GPUDirect Storage cannot; \"required\": that is an "
                    "error.");
}

bool is_gds_required(const OpSpec& spec) { return spec.get<std::string>(kArgument) == "required"; }

void raise_not_by_gds(const std::string& why) {
  raise(ErrorKind::kUnsupported, "the array cannot be read by GPUDirect Storage (", why,
        "), which the environment variable TORCHDALI_GDS requires",
        to_fix("set it to 1, and the CPU reads such arrays"));
}

}  // namespace torchdali
