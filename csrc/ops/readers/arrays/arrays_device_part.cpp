// SPDX-License-Identifier: Apache-2.0
// readers.arrays_device_part: the GPU part of reading arrays. What GPUDirect Storage cannot read
// after all, the thread that queues the work reads.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/batch_context.h"
#include "gpu/copy_axes.h"
#include "gpu/gds/file_reads.h"
#include "gpu/launch.h"
#include "gpu/operator.h"
#include "io/storage/file.h"
#include "kernels/convert_gpu.h"
#include "ops/readers/arrays/device_array.h"

namespace torchdali {
namespace {

// Arrays are read in groups of this size, so that not all of a batch is in memory twice. A larger
// array is a group.
constexpr int64_t kGroupBytes = int64_t{256} << 20;

class DirectDescriptor {
 public:
  explicit DirectDescriptor(const std::string& path) {
    do number_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT | O_NOCTTY);
    while (number_ < 0 && errno == EINTR);
    error_ = number_ < 0 ? errno : 0;
  }
  ~DirectDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  DirectDescriptor(const DirectDescriptor&) = delete;
  DirectDescriptor& operator=(const DirectDescriptor&) = delete;
  int number() const { return number_; }
  int error() const { return error_; }

 private:
  int number_ = -1, error_ = 0;
};

// The array of one sample.
struct Work {
  int sample = 0;  // index in the batch
  void* out = nullptr;
  ArrayInFile array = {};
  std::unique_ptr<DirectDescriptor> file = nullptr;
  std::string why = {};                     // GPUDirect Storage does not read it
  std::vector<const std::byte*> data = {};  // of each slab
  Storage uploaded = {};                    // what the CPU has read

  int64_t bytes() const { return array.about.bytes * array.about.slabs(); }
};

struct Works final : BatchState {
  std::vector<Work> all;
};

// Notes what is known of the file system of an open file.
void note_file_system(int descriptor, const std::string& why) {
  struct stat status;
  if (::fstat(descriptor, &status) == 0) gpu::gds::note_file_system(status.st_dev, why);
}

void check_unchanged(const ArrayInFile& array, const std::string& version) {
  TORCHDALI_CHECK_KIND(kFile, array.version.empty() || version == array.version, "\"", array.path,
                       "\" has changed since its header was read",
                       to_fix("do not write files while they are read"));
}

// Opens the file of a sample. Raises kFile if it is not the one that the header was read of.
void open_file(Work& work) {
  const ArrayInFile& array = work.array;
  work.file = std::make_unique<DirectDescriptor>(array.path);
  if (work.file->number() < 0) {
    work.why = work.file->error() == EINVAL
                   ? "file system without O_DIRECT"
                   : str_cat("open: ", std::generic_category().message(work.file->error()));
    return;
  }
  check_unchanged(array, io::file_version(work.file->number()));
  const int64_t end = array.about.slab_offset(array.about.slabs() - 1) + array.about.bytes;
  struct stat status;
  TORCHDALI_CHECK_KIND(kFile, ::fstat(work.file->number(), &status) != 0 || status.st_size >= end,
                       "\"", array.path, "\" has ", status.st_size, " bytes, expected ", end,
                       " or more: it was truncated after its header was read");
}

void read_on_host(const gpu::Device& device, Work& work) {
  const ArrayInFile& array = work.array;
  const DeviceArray& about = array.about;
  const io::File file(array.path);
  check_unchanged(array, file.version());
  std::vector<std::byte> bytes(static_cast<size_t>(work.bytes()));
  for (int64_t slab = 0; slab < about.slabs(); ++slab)
    file.read(bytes.data() + slab * about.bytes, about.bytes, about.slab_offset(slab));
  work.uploaded = device.upload(bytes);
  work.data.clear();
  for (int64_t slab = 0; slab < about.slabs(); ++slab)
    work.data.push_back(static_cast<const std::byte*>(work.uploaded.data()) + slab * about.bytes);
}

void add_copies(const Work& work, std::vector<gpu::CopyTask>& tasks) {
  const DeviceArray& about = work.array.about;
  const int64_t size = itemsize(about.dtype), bytes = about.shape.volume() * size;
  std::vector<gpu::CopyAxis> axes;
  intptr_t first = 0;  // of the element at index 0 of every axis, which may be no part of the box
  for (int i = 0; i < about.shape.ndim(); ++i) {
    axes.push_back({.extent = about.shape[i],
                    .in_stride = about.strides[i],
                    .low = about.to[i],
                    .high = about.to[i] + about.extent[i]});
    if (i != about.slab_axis) first -= about.to[i] * about.strides[i];
  }
  gpu::make_dense(axes, size);
  const auto add = [&](const std::byte* data, void* out) {
    const auto* in = reinterpret_cast<const void*>(reinterpret_cast<intptr_t>(data) + first);
    tasks.push_back(gpu::make_copy(in, out, bytes, size, axes, about.fill));
  };
  if (about.slab_axis < 0) {
    add(work.data[0], work.out);
    return;
  }
  gpu::CopyAxis& across = axes[static_cast<size_t>(about.slab_axis)];
  const int64_t before = across.low, slabs = across.high - across.low;
  const int64_t count = std::exchange(across.extent, 1);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t slab = i - before;
    const bool in_file = slab >= 0 && slab < slabs;
    across.low = 0;
    across.high = in_file ? 1 : 0;
    add(work.data[in_file ? static_cast<size_t>(slab) : 0],
        static_cast<std::byte*>(work.out) + i * across.out_stride);
  }
}

// Booleans other than 0 and 1 become 1.
gpu::TypedTask normalization_of(const Work& work) {
  gpu::TypedTask task;
  task.in = task.out = work.out;
  task.size = work.array.about.shape.volume();
  task.in_dtype = DType::kUInt8;
  task.out_dtype = DType::kBool;
  return task;
}

void queue_work(const gpu::Device& device, std::span<const Work> works) {
  std::vector<gpu::CopyTask> copies;
  std::vector<gpu::TypedTask> normalizations;
  gpu::KernelLaunch copying{.kernel = gpu::kernel_id<gpu::CopyKernel>(), .tasks = {}};
  gpu::KernelLaunch normalizing{.kernel = gpu::kernel_id<gpu::ConvertKernel>(), .tasks = {}};
  for (const Work& work : works) {
    add_copies(work, copies);
    if (work.array.about.dtype != DType::kBool) continue;
    normalizations.push_back(normalization_of(work));
    normalizing.max_size = std::max(normalizing.max_size, normalizations.back().size);
  }
  for (const gpu::CopyTask& copy : copies) copying.max_size = std::max(copying.max_size, copy.size);
  copying.tasks = std::as_bytes(std::span<const gpu::CopyTask>(copies));
  normalizing.tasks = std::as_bytes(std::span<const gpu::TypedTask>(normalizations));
  queue_kernels(device, std::array{copying, normalizing}, {});
}

class ArraysDevicePart final : public gpu::GpuOperator, public CountsReasons {
 public:
  explicit ArraysDevicePart(const OpSpec& spec) : required_(is_gds_required(spec)) {
    std::string why;
    api_ = gpu::gds::find_library(&why);
    TORCHDALI_CHECK_KIND(kRuntime, api_ != nullptr, "GPUDirect Storage was not found: ", why);
    reads_ = std::make_unique<gpu::gds::FileReads>(
        *api_, gpu::gds::FileReadOptions{.threads = spec.num_threads,
                                         .chunk_bytes = gpu::gds::chunk_bytes(),
                                         .registers = spec.get<bool>("register_buffers")});
  }

  void run(SampleContext& ctx) const override {
    ArrayInFile array = read_device_array(ctx.input(1));
    const DeviceArray& about = array.about;
    if (about.kind == DeviceArray::Kind::kRead) {
      ctx.share_input(
          0, 0,
          {.data = ctx.input(0).data, .dtype = about.dtype, .shape = about.shape, .layout = {}});
      return;
    }
    const SampleView& out = ctx.output(0, about.dtype, about.shape);
    ctx.batch_state<Works>().all.push_back(
        {.sample = ctx.index_in_batch(), .out = out.data, .array = std::move(array)});
  }
  std::unique_ptr<BatchState> make_tasks(BatchContext& /*ctx*/) const override {
    return std::make_unique<Works>();
  }
  void launch(BatchContext& ctx, BatchState& state) const override;
  std::map<std::string, int64_t> counts() const override { return counts_.read(); }

 private:
  void read(const gpu::Device& device, std::span<Work> works) const;

  const bool required_;
  const gpu::cufile::Api* api_ = nullptr;
  std::unique_ptr<gpu::gds::FileReads> reads_;  // stages are ordered: one thread at a time
  mutable ReasonCounts counts_;
};

// Calls fn() for a sample; an error is of that sample.
template <class Fn>
void for_sample(const Work& work, Fn&& fn) {
  try {
    fn();
  } catch (Error& e) {
    e.set_sample(work.sample);
    throw;
  }
}

// Reads a group of arrays and queues their copies to the outputs.
void ArraysDevicePart::read(const gpu::Device& device, std::span<Work> works) const {
  std::vector<gpu::gds::FileRange> ranges;
  std::vector<Work*> of_ranges;
  for (Work& work : works) {
    if (!work.why.empty()) continue;
    for_sample(work, [&work] { open_file(work); });
    if (!work.why.empty()) continue;
    const DeviceArray& about = work.array.about;
    for (int64_t slab = 0; slab < about.slabs(); ++slab) {
      ranges.push_back({.descriptor = work.file->number(),
                        .offset = about.slab_offset(slab),
                        .bytes = about.bytes});
      of_ranges.push_back(&work);
    }
  }
  const auto found = reads_->read(ranges, device);
  for (size_t i = 0; i < found.size(); ++i) {
    of_ranges[i]->data.push_back(found[i].data);
    of_ranges[i]->why = found[i].why;
    if (found[i].of_file_system) note_file_system(ranges[i].descriptor, found[i].why);
  }
  for (Work& work : works) {
    counts_.add(work.why.empty() ? "GDS" : "CPU: " + work.why);
    if (!work.why.empty())
      for_sample(work, [&] {
        if (required_) raise_not_by_gds(work.why);
        read_on_host(device, work);
      });
    work.file = nullptr;
  }
  queue_work(device, works);
  reads_->release_later(device);
  for (Work& work : works) work.uploaded = {};
}

void ArraysDevicePart::launch(BatchContext& ctx, BatchState& state) const {
  std::span<Work> works = static_cast<Works&>(state).all;
  if (works.empty()) return;
  const std::string driver = gpu::gds::open_driver(*api_);
  for (Work& work : works) {
    work.out = ctx.address(0, work.sample, work.out);
    work.why = driver;
  }
  while (!works.empty()) {
    int64_t bytes = 0;
    size_t count = 0;
    for (; count < works.size(); ++count) {
      bytes += works[count].bytes();
      if (count > 0 && bytes > kGroupBytes) break;
    }
    read(ctx.device(), works.first(count));
    works = works.subspan(count);
  }
}

TORCHDALI_OPERATOR("readers.arrays_device_part")
    .doc("The GPU part of reading arrays; see docs/design/gds.md.")
    .input("data", "Arrays from the host part, if it has read them.")
    .input("description", "What to do.")
    .output("array", "The array or its region.")
    .arg("register_buffers", true, "Register the memory that files are read into.")
    .with(add_gds_arg)
    .hidden()
    .gpu<ArraysDevicePart>()
    .host_input(1);

}  // namespace
}  // namespace torchdali
