// SPDX-License-Identifier: Apache-2.0
// fn.decoders.inflate: decompresses LZ4 blocks.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>
#include <vector>

#include "core/argument.h"
#include "gpu/operator.h"
#include "io/arrays/lz4.h"
#include "kernels/lz4/lz4_gpu.h"

namespace torchdali {
namespace {

using Chunk = gpu::Lz4Chunk;

struct InflatePlan {
  std::vector<Chunk> chunks;
  size_t size = 0;  // of each when it is decompressed, in bytes
};

class InflateArgs {
 public:
  explicit InflateArgs(const OpSpec& spec)
      : shape_(spec, "shape"),
        offsets_(spec, "chunk_offsets"),
        sizes_(spec, "chunk_sizes"),
        dtype_(spec.get<DType>("dtype")),
        layout_(spec.get<Layout>("layout")) {
    auto algorithm = spec.get<std::string>("algorithm");
    std::transform(algorithm.begin(), algorithm.end(), algorithm.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    TORCHDALI_CHECK(algorithm == "LZ4", "`algorithm` is \"", spec.get<std::string>("algorithm"),
                    "\", expected \"LZ4\"");
    const auto axis = spec.get<Layout>("sequence_axis_name");
    TORCHDALI_CHECK(axis.size() == 1, "`sequence_axis_name` is ", axis, ", expected one letter");
    if (in_chunks() && !layout_.empty())
      layout_ = Layout(std::string(axis.str()) + std::string(layout_.str()));
  }

  DType dtype() const { return dtype_; }

  // Checks the input and makes the output.
  InflatePlan operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8 && in.shape.ndim() == 1,
                         "takes compressed bytes, 1-D tensors of uint8, got ", dtype_name(in.dtype),
                         " of shape ", in.shape);
    InflatePlan plan{.chunks = {{0, in.volume()}}};
    Shape shape;
    if (in_chunks()) {
      plan.chunks = chunks_of(ctx, in.volume());
      shape.push_back(std::ssize(plan.chunks));
    }
    static thread_local std::vector<int64_t> buffer;
    SampleView chunk;
    chunk.dtype = dtype_;
    for (const int64_t extent : shape_(ctx, buffer)) {
      TORCHDALI_CHECK(extent >= 0, "`shape` has the extent ", extent, ", expected 0 or more");
      shape.push_back(extent);
      chunk.shape.push_back(extent);
    }
    plan.size = checked_size_bytes(chunk);
    ctx.output(0, dtype_, shape, layout_);
    return plan;
  }

 private:
  bool in_chunks() const { return offsets_.given() || sizes_.given(); }

  // The chunks of a sample of `total` bytes.
  std::vector<Chunk> chunks_of(const SampleContext& ctx, int64_t total) const {
    static thread_local std::vector<int64_t> offsets_buffer, sizes_buffer;
    std::span<const int64_t> offsets, sizes;
    if (offsets_.given()) offsets = offsets_(ctx, offsets_buffer);
    if (sizes_.given()) sizes = sizes_(ctx, sizes_buffer);
    TORCHDALI_CHECK(!offsets_.given() || !sizes_.given() || offsets.size() == sizes.size(),
                    "`chunk_offsets` has ", offsets.size(), " values and `chunk_sizes` ",
                    sizes.size(), ", expected equally many");
    std::vector<Chunk> chunks(std::max(offsets.size(), sizes.size()));
    int64_t end = 0;
    for (size_t i = 0; i < chunks.size(); ++i) {
      const int64_t begin = offsets_.given() ? offsets[i] : end;
      TORCHDALI_CHECK(begin >= 0 && begin <= total, "chunk ", i, " begins at byte ", begin,
                      ", but the sample has ", total, " bytes");
      TORCHDALI_CHECK(!sizes_.given() || (sizes[i] >= 0 && sizes[i] <= total - begin), "chunk ", i,
                      " has ", sizes_.given() ? sizes[i] : 0, " bytes at byte ", begin,
                      ", but the sample has ", total, " bytes");
      end = sizes_.given() ? begin + sizes[i] : i + 1 < offsets.size() ? offsets[i + 1] : total;
      TORCHDALI_CHECK(end >= begin && end <= total, "chunk ", i, " begins at byte ", begin,
                      " and ends at ", end, ", but the sample has ", total, " bytes");
      chunks[i] = {begin, end - begin};
    }
    return chunks;
  }

  ListArg<int64_t> shape_, offsets_, sizes_;
  DType dtype_;
  Layout layout_;
};

class Inflate final : public Operator {
 public:
  explicit Inflate(const OpSpec& spec)
      : args_(spec), checks_size_(spec.get<bool>("check_output_size")) {}

  void run(SampleContext& ctx) const override {
    const InflatePlan plan = args_(ctx);
    const auto* bytes = ctx.input(0).as<const uint8_t>();
    auto* to = ctx.output_view(0).as<uint8_t>();
    for (const Chunk& chunk : plan.chunks) {
      inflate({bytes + chunk.begin, static_cast<size_t>(chunk.size)}, {to, plan.size});
      to += plan.size;
    }
  }

 private:
  void inflate(std::span<const uint8_t> block, std::span<uint8_t> out) const {
    const auto made = static_cast<size_t>(io::decompress_lz4(block, out));
    TORCHDALI_CHECK_KIND(kData, made == out.size() || !checks_size_, "the LZ4 block of ",
                         block.size(), " bytes has ", made, " bytes, expected ", out.size(),
                         to_fix("`shape` and `dtype` must be those of the data"));
    if (made < out.size()) std::memset(out.data() + made, 0, out.size() - made);
    if (args_.dtype() == DType::kBool)
      std::transform(out.begin(), out.end(), out.begin(), [](uint8_t x) { return x != 0; });
  }

  InflateArgs args_;
  bool checks_size_;
};

class InflateGpu final : public gpu::KernelOperator<gpu::Lz4Kernel> {
 public:
  explicit InflateGpu(const OpSpec& spec) : args_(spec) {
    TORCHDALI_CHECK_KIND(kUnsupported, !spec.get<bool>("check_output_size"),
                         "`check_output_size` is not supported on the GPU, where sizes are not "
                         "known before the kernel runs",
                         to_fix("use device=\"cpu\" and take .gpu() of the output"));
  }

  void run(SampleContext& ctx) const override {
    const InflatePlan plan = args_(ctx);
    Task task;
    task.in = ctx.input(0).data;
    task.out = ctx.output_view(0).data;
    task.chunks = blob(ctx).keep(std::span(plan.chunks));
    task.bytes = static_cast<int64_t>(plan.size);
    task.to_bool = args_.dtype() == DType::kBool;
    task.size = plan.size == 0 ? 0 : std::ssize(plan.chunks);
    tasks(ctx).add(ctx, task);
  }

 private:
  InflateArgs args_;
};

TORCHDALI_OPERATOR("decoders.inflate")
    .doc(
        "Decompresses LZ4 blocks (not frames): a sample is one block or, with `chunk_offsets` or "
        "`chunk_sizes`, several that decompress to the same shape and are stacked.\n\n"
        "On the GPU a thread decompresses a block, so samples should have many blocks. Damaged "
        "blocks are no error there: what follows the damage is 0.")
    .input("data", "Compressed bytes, uint8, 1-D.")
    .output("inflated", "`shape`, or with chunks [number of chunks, *`shape`], of `dtype`.")
    .required_arg("shape", ArgType::kIntVec, "Shape of a decompressed block.", Arity::kPerSample)
    .arg("dtype", DType::kUInt8, "Element type of the decompressed data.")
    .optional_arg("chunk_offsets", ArgType::kIntVec,
                  "Where each block begins, in bytes. Without `chunk_sizes`, a block ends where "
                  "the next one begins, and the last one at the end of the sample.",
                  Arity::kPerSample)
    .optional_arg("chunk_sizes", ArgType::kIntVec,
                  "Size of each block, in bytes. Without `chunk_offsets`, the blocks follow one "
                  "another from the beginning of the sample.",
                  Arity::kPerSample)
    .arg("algorithm", "LZ4", "The only one.")
    .arg("layout", Layout(), "Layout of a decompressed block.")
    .arg("sequence_axis_name", Layout("F"),
         "Letter of the axis of blocks, which precedes `layout` if there are chunks.")
    .arg("check_output_size", false,
         "A block with less data than `shape` is an error. Otherwise the rest is 0. More data is "
         "always an error. Not supported on the GPU.")
    .cpu<Inflate>()
    .gpu<InflateGpu>();

}  // namespace
}  // namespace torchdali
