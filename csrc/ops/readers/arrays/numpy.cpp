// SPDX-License-Identifier: Apache-2.0
// fn.readers.numpy: an array, or a region of one, from a .npy file per sample. io/arrays/npy.h
// parses headers, io/arrays/read_box.h reads regions.
#include <algorithm>
#include <array>
#include <cstring>

#include "io/arrays/npy.h"
#include "io/arrays/read_box.h"
#include "io/storage/direct_file.h"
#include "kernels/convert.h"
#include "kernels/window/fill.h"
#include "kernels/window/transpose.h"
#include "kernels/window/window.h"
#include "ops/readers/arrays/array_reader.h"
#include "ops/readers/arrays/device_array.h"
#include "ops/readers/arrays/npy_headers.h"
#include "ops/window/out_of_bounds.h"
#include "ops/window/slice_window.h"

namespace torchdali {
namespace {

Shape reversed(const Shape& shape) {
  Shape result = shape;
  std::reverse(&result[0], &result[0] + result.ndim());
  return result;
}

// Whether elements of this shape are in the same place in C and in Fortran order.
bool has_one_order(const Shape& shape) {
  return std::count_if(shape.begin(), shape.end(), [](int64_t extent) { return extent > 1; }) <= 1;
}

// The part of a file from the first to the last byte of a box of its array.
struct FilePart {
  int64_t offset = 0, bytes = 0;
  bool scattered = false;  // most of it is not of the box
};

FilePart part_with(const io::NpyHeader& header, const kernels::Overlap& overlap) {
  constexpr int64_t kMostWaste = 4;
  const Shape in_file = header.file_shape();
  const Shape from = header.fortran_order ? reversed(overlap.from) : overlap.from;
  const Shape extent = header.fortran_order ? reversed(overlap.shape) : overlap.shape;
  int64_t first = 0, last = 0;
  for (int i = 0; i < in_file.ndim(); ++i) {
    first = first * in_file[i] + from[i];
    last = last * in_file[i] + from[i] + extent[i] - 1;
  }
  const int64_t size = itemsize(header.dtype);
  return {.offset = header.data_offset + first * size,
          .bytes = (last - first + 1) * size,
          .scattered = last - first >= kMostWaste * overlap.shape.volume()};
}

// The slowest axis in the file along which a box has more than one element; or -1.
int slab_axis_of(const io::NpyHeader& header, const Shape& box) {
  for (int i = 0; i < box.ndim(); ++i) {
    const int axis = header.fortran_order ? box.ndim() - 1 - i : i;
    if (box[axis] > 1) return axis;
  }
  return -1;
}

// The distance of neighbors in the file along each axis of the array, in bytes.
Shape file_strides(const io::NpyHeader& header) {
  Shape strides = header.shape;
  const int ndim = strides.ndim();
  int64_t stride = itemsize(header.dtype);
  for (int i = 0; i < ndim; ++i) {
    const int axis = header.fortran_order ? i : ndim - 1 - i;
    strides[axis] = stride;
    stride *= header.shape[axis];
  }
  return strides;
}

uint64_t element_of(DType dtype, float value) {
  uint64_t element = 0;
  kernels::converter(dtype, DType::kFloat)(&element, &value, 1);
  return element;
}

class NumpyReader : public ArrayReader, public CountsReasons {
 public:
  explicit NumpyReader(const OpSpec& spec)
      : ArrayReader(spec, files_to_keep(spec),
                    spec.get<bool>("use_o_direct") ? io::open_direct : io::open_input),
        coordinates_(region_spec(spec), "roi_"),
        axes_(spec.get<std::vector<int64_t>>("roi_axes")),
        policy_(spec),
        fill_value_(spec.get<float>("fill_value")),
        caches_headers_(spec.get<bool>("cache_header_information")),
        direct_(spec.get<bool>("use_o_direct")),
        packer_(ArrayPacker::of(spec)) {
    if (!spec.get<bool>("lazy_init")) prepare();
  }

  void run(SampleContext& ctx) const override {
    const bool left = read(ctx);
    if (packer_ != nullptr && !left) ArrayPacker::describe_read(ctx);
  }

  std::map<std::string, int64_t> counts() const override {
    return packer_ == nullptr ? std::map<std::string, int64_t>() : packer_->counts();
  }

 private:
  // Returns whether the GPU is to read the array.
  bool read(SampleContext& ctx) const {
    const int64_t file = index_of(ctx);
    const io::NpyHeader* stored = caches_headers_ ? headers_.find(file) : nullptr;
    if (packer_ != nullptr && stored != nullptr && leave_to_gpu(ctx, path_of(ctx), *stored, ""))
      return true;
    io::ReadRequest part = part_of(file, stored);
    if (part.path.empty()) part.path = path_of(ctx);
    const bool region = coordinates_.given();
    const SampleBytes bytes = sample_bytes(ctx, part);
    // Of a remote file, one request instead of one for the size, the header and the array.
    const bool at_once = region ? bytes.in_memory() : io::is_remote(part.path);
    bool left = false;
    bytes.parts(ctx, at_once, [&](const SampleParts& parts) {
      io::NpyHeader header;
      if (stored != nullptr) {
        header = *stored;
      } else {
        header = io::read_npy_header(parts.size, parts.copy);
        if (caches_headers_) headers_.store(file, header);
        left = packer_ != nullptr && leave_to_gpu(ctx, part.path, header, bytes.version());
        if (left) return;
      }
      const int64_t data_offset = header.data_offset - part.offset;
      read_region(ctx, header, [&](const io::ArrayBox& box) {
        if (at_once) io::copy_box(parts.memory, data_offset, box);
        else io::read_box(parts.copy, reading(ctx, part.path), data_offset, box);
      });
    });
    return left;
  }

  // A file stays open if only parts of it are read.
  static size_t files_to_keep(const OpSpec& spec) {
    return SliceCoordinates(region_spec(spec), "roi_").given() ? kOpenFiles : 0;
  }
  static OpSpec region_spec(const OpSpec& spec) {
    return without_empty_lists(spec, {"roi_start", "roi_end", "roi_shape", "rel_roi_start",
                                      "rel_roi_end", "rel_roi_shape"});
  }

  int64_t find_samples() override {
    const int64_t files = ArrayReader::find_samples();
    if (caches_headers_) headers_.resize(files);
    return files;
  }

  io::ReadRequest request(int64_t file) const override {
    // The GPU reads it, unless it is small.
    if (packer_ != nullptr && ArrayPacker::obstacle(path(file)).empty()) return {};
    try {
      return part_of(file, caches_headers_ ? headers_.find(file) : nullptr);
    } catch (const Error&) {  // run() raises it
      return {};
    }
  }
  // What is read for a sample: the file; or of a region, if the header is known and the region is
  // the same for all samples, the part from its first to its last byte. Without a path: unknown, or
  // a region that is scattered over the file.
  io::ReadRequest part_of(int64_t file, const io::NpyHeader* header) const {
    if (!coordinates_.given()) return {.path = path(file)};
    if (header == nullptr || coordinates_.per_sample()) return {};
    const Window window = region(SampleContext(), header->shape);
    const kernels::Overlap overlap(header->shape, window.anchor, window.shape);
    if (overlap.empty) return {};
    const FilePart found = part_with(*header, overlap);
    if (found.scattered) return {};
    return {.path = path(file), .offset = found.offset, .size = found.bytes};
  }

  // Returns false if the host has to read the array.
  bool leave_to_gpu(SampleContext& ctx, const std::string& path, const io::NpyHeader& header,
                    const std::string& version) const {
    std::string why = ArrayPacker::obstacle(path);
    if (why.empty() && header.big_endian) why = "big-endian numbers";
    const Window window = region(ctx, header.shape);
    const kernels::Overlap overlap(header.shape, window.anchor, window.shape);
    if (why.empty() && (overlap.empty || window.shape.volume() == 0)) return false;  // no bytes
    if (why.empty()) {
      constexpr int64_t kMostSlabs = 1024;  // each is a task of the kernel
      FilePart part = part_with(header, overlap);
      int slab_axis = -1;
      if (part.scattered) {
        slab_axis = slab_axis_of(header, overlap.shape);
        kernels::Overlap slab = overlap;
        slab.shape[slab_axis] = 1;
        part = part_with(header, slab);
        part.scattered = part.scattered || overlap.shape[slab_axis] > kMostSlabs;
      }
      const DeviceArray array{.dtype = header.dtype,
                              .shape = window.shape,
                              .to = overlap.to,
                              .extent = overlap.shape,
                              .strides = file_strides(header),
                              .offset = part.offset,
                              .bytes = part.bytes,
                              .slab_axis = slab_axis,
                              .fill = element_of(header.dtype, fill_value_)};
      why = part.scattered ? "scattered region" : packer_->obstacle(array);
      if (why.empty()) {
        ArrayPacker::leave_to_gpu(ctx, array, std::string(io::local_path(path)), version);
        return true;
      }
    }
    packer_->refuse(why);
    return false;
  }

  Window region(const SampleContext& ctx, const Shape& shape) const {
    Window window = Window::whole(shape);
    if (!coordinates_.given()) return window;
    AxisList axes;
    for (const int64_t axis : axes_) axes.add(checked_axis(axis, shape.ndim(), "roi_axes"));
    if (axes_.empty())
      for (int i = 0; i < shape.ndim(); ++i) axes.add(i);
    coordinates_.place(ctx, shape, axes, window);
    policy_.apply(window, shape);
    return window;
  }

  // Memory is copied at 10 GB/s or more. A read from the page cache takes about 0.5 us, one from a
  // disk 100 us, and one from a store more than 10 ms.
  io::BoxReading reading(SampleContext& ctx, const std::string& path) const {
    if (!coordinates_.given()) return {};
    const bool remote = io::is_remote(path);
    const int64_t request = remote ? 1 << 22 : direct_ ? 1 << 18 : 1 << 13;
    const size_t block = remote ? 1 << 24 : direct_ ? 1 << 20 : 1 << 18;
    return {.request_bytes = request, .block = ctx.scratch<uint8_t>(block)};
  }

  // `read(box)` reads a box of the file.
  template <class Read>
  void read_region(SampleContext& ctx, const io::NpyHeader& header, const Read& read) const {
    const Window window = region(ctx, header.shape);
    const SampleView& out = ctx.output(0, header.dtype, window.shape);
    const int64_t count = out.volume(), size = itemsize(out.dtype);
    if (count == 0) return;
    const kernels::Overlap overlap(header.shape, window.anchor, window.shape);
    const bool inside = window.inside(header.shape);
    // In the order of the file, which is C order of reversed axes for Fortran.
    const bool reverse = header.fortran_order && !has_one_order(window.shape);
    const auto ordered = [&](const Shape& s) { return header.fortran_order ? reversed(s) : s; };
    const Shape shape = ordered(window.shape);
    void* to = out.data;
    if (reverse) to = ctx.scratch<uint8_t>(static_cast<size_t>(count * size)).data();
    if (!overlap.empty) {
      read({.itemsize = size,
            .in = header.file_shape(),
            .from = ordered(overlap.from),
            .memory = to,
            .out = shape,
            .to = ordered(overlap.to),
            .extent = ordered(overlap.shape)});
      io::decode_npy_elements(header, to, count);
    }
    if (!inside) {
      const uint64_t element = element_of(out.dtype, fill_value_);
      if (overlap.empty) kernels::fill(to, size, count, element);
      else
        kernels::fill_outside(to, size, shape, ordered(overlap.to), ordered(overlap.shape),
                              element);
    }
    if (!reverse) return;
    std::array<int, kMaxDims> perm;
    for (int i = 0; i < shape.ndim(); ++i) perm[static_cast<size_t>(i)] = shape.ndim() - 1 - i;
    kernels::transpose_axes(out.data, to, shape,
                            std::span(perm).first(static_cast<size_t>(shape.ndim())), size);
  }

  SliceCoordinates coordinates_;
  std::vector<int64_t> axes_;
  OutOfBoundsPolicy policy_;
  float fill_value_;
  bool caches_headers_, direct_;
  const std::unique_ptr<const ArrayPacker> packer_;  // of a host part
  mutable NpyHeaders headers_;
};

constexpr auto kRegionArity = Arity::kPerSample;

SchemaBuilder& add_numpy_args(SchemaBuilder& schema) {
  return schema.output("data", "The array or its region, in C order, without a layout.")
      .optional_arg("roi_start", ArgType::kIntVec,
                    "First element of the region, one value per axis.", kRegionArity)
      .optional_arg("rel_roi_start", ArgType::kFloatVec, "`roi_start` as a fraction of the extent.",
                    kRegionArity)
      .optional_arg(
          "roi_end", ArgType::kIntVec,
          "Element after the last of the region, one value per axis. Without `roi_end` and "
          "`roi_shape`, the region extends to the end of the array.",
          kRegionArity)
      .optional_arg("rel_roi_end", ArgType::kFloatVec, "`roi_end` as a fraction of the extent.",
                    kRegionArity)
      .optional_arg("roi_shape", ArgType::kIntVec, "Extent of the region, one value per axis.",
                    kRegionArity)
      .optional_arg("rel_roi_shape", ArgType::kFloatVec, "`roi_shape` as a fraction of the extent.",
                    kRegionArity)
      .arg("roi_axes", std::vector<int64_t>{},
           "Axes that the coordinates are for; negative ones count from the end. Other axes are "
           "kept whole. Empty: all axes.")
      .arg("out_of_bounds_policy", "error",
           "What to do if the region extends outside the array: \"error\", \"pad\" (fill with "
           "`fill_value`) or \"trim_to_shape\" (make the region smaller).")
      .arg("fill_value", 0.0f,
           "Value of elements outside the array, with the policy \"pad\"; converted as fn.cast "
           "does.")
      .arg("cache_header_information", false,
           "Remember the header of each file, for files that do not change. Regions that are the "
           "same for all samples can then be read ahead.")
      .arg("use_o_direct", false,
           "Read past the system's page cache (O_DIRECT), for data sets that are larger than the "
           "memory. An error where the file system does not support it.")
      .arg("register_buffers", true,
           "With GPUDirect Storage: register the memory that files are read into, which saves a "
           "copy of the bytes by the library.")
      .with([](SchemaBuilder& schema) { array_reader_args(schema, "*.npy"); });
}

TORCHDALI_OPERATOR("readers.numpy")
    .doc(
        "Reads arrays from .npy files, as numpy.save writes them, or a region of each array.\n\n"
        "The files come from `file_root`, a folder; from `file_list`, a text file of paths; or "
        "from `files`, paths given here. A region is given by `roi_start` with `roi_end` or "
        "`roi_shape` or their `rel_` forms, along `roi_axes`. Only its bytes are read, and those "
        "between parts of it that are close to each other. Fractional coordinates are rounded to "
        "the nearest integer, halves away from zero.\n\n"
        "With device=\"gpu\", arrays are read by GPUDirect Storage if the environment variable "
        "TORCHDALI_GDS asks for it, and otherwise on the host, into pinned memory, and copied.")
    .with(add_numpy_args)
    .gpu_by_copy()
    .parts("host_part.readers.numpy", "readers.arrays_device_part")
    .cpu<NumpyReader>();

TORCHDALI_OPERATOR("host_part.readers.numpy")
    .doc("The host part of readers.numpy with device=\"gpu\".")
    .with(add_numpy_args)
    .output("description", "What the GPU part is to do, for the host.")
    .with(add_gds_arg)
    .hidden()
    .cpu<NumpyReader>();

}  // namespace
}  // namespace torchdali
