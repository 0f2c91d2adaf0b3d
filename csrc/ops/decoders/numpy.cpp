// SPDX-License-Identifier: Apache-2.0
// fn.decoders.numpy: the array in an encoded .npy file.
#include <array>
#include <cstring>

#include "core/operator.h"
#include "io/arrays/npy.h"
#include "kernels/convert.h"
#include "kernels/window/transpose.h"

namespace torchdali {
namespace {

class DecodeNumpy final : public Operator {
 public:
  explicit DecodeNumpy(const OpSpec& spec) {
    if (spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8 && in.shape.ndim() == 1,
                         "takes encoded arrays, 1-D tensors of uint8, got ", dtype_name(in.dtype),
                         " of shape ", in.shape);
    const auto* bytes = in.as<const uint8_t>();
    const io::NpyHeader header =
        io::read_npy_header(in.volume(), [bytes](void* to, int64_t count, int64_t offset) {
          std::memcpy(to, bytes + offset, static_cast<size_t>(count));
        });
    const DType dtype = dtype_ == DType::kNone ? header.dtype : dtype_;
    const SampleView& out = ctx.output(0, dtype, header.shape);
    const int64_t count = out.volume(), size = header.data_bytes();
    if (count == 0) return;
    // Up to three steps, the last of which writes to the output: elements of the file, in their
    // type, in their order.
    const bool converts = dtype != header.dtype;
    const bool reorders = header.fortran_order && header.shape.ndim() > 1;
    const auto memory = [&](bool last, int64_t n) -> void* {
      return last ? out.data : ctx.scratch<uint8_t>(static_cast<size_t>(n)).data();
    };
    void* elements = memory(!converts && !reorders, size);
    std::memcpy(elements, bytes + header.data_offset, static_cast<size_t>(size));
    io::decode_npy_elements(header, elements, count);
    if (converts) {
      void* converted = memory(!reorders, count * itemsize(dtype));
      kernels::converter(dtype, header.dtype)(converted, elements, count);
      elements = converted;
    }
    if (!reorders) return;
    const int ndim = header.shape.ndim();
    std::array<int, kMaxDims> perm;
    for (int i = 0; i < ndim; ++i) perm[static_cast<size_t>(i)] = ndim - 1 - i;
    kernels::transpose_axes(out.data, elements, header.file_shape(),
                            std::span(perm).first(static_cast<size_t>(ndim)), itemsize(dtype));
  }

 private:
  DType dtype_ = DType::kNone;
};

TORCHDALI_OPERATOR("decoders.numpy")
    .doc("Decodes arrays in the format of .npy files, as numpy.save writes them.")
    .input("data", "The bytes of a .npy file, uint8, 1-D.")
    .output("array", "The array, in C order, without a layout.")
    .optional_arg("dtype", ArgType::kDType,
                  "Element type of the output, converted as fn.cast does; by default that of the "
                  "array.")
    .cpu<DecodeNumpy>();

}  // namespace
}  // namespace torchdali
