// SPDX-License-Identifier: Apache-2.0
// fn.io.file.read: the bytes of the files whose paths are in a tensor.
#include <algorithm>
#include <string>

#include "core/operator.h"
#include "io/storage/direct_file.h"

namespace torchdali {
namespace {

class ReadNamedFile final : public Operator {
 public:
  explicit ReadNamedFile(const OpSpec& spec)
      : open_file_(spec.get<bool>("use_o_direct") ? io::open_direct : io::open_input) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8 && in.shape.ndim() == 1,
                         "takes paths, 1-D tensors of uint8, got ", dtype_name(in.dtype),
                         " of shape ", in.shape,
                         to_fix("make them by np.frombuffer(path.encode(), np.uint8)"));
    const char* begin = in.as<const char>();
    // Paths of different lengths may be padded with zeros.
    const std::string path(begin, std::find(begin, begin + in.volume(), '\0'));
    TORCHDALI_CHECK(!path.empty(), "the path is empty");
    open_file_(path, nullptr)->read_rest(0, [&ctx](int64_t size) {
      return ctx.output(0, DType::kUInt8, Shape{size}).data;
    });
  }

 private:
  io::OpenInput open_file_;
};

TORCHDALI_OPERATOR("io.file.read")
    .doc(
        "Reads the files whose paths, or URLs, are in a tensor. fn.readers.file reads ahead and "
        "knows the order of its files; this operator reads whatever it is given.")
    .input("filepaths", "The path in UTF-8, uint8, 1-D; zeros at the end are ignored.")
    .output("data", "Contents of the file; uint8 [size].")
    .arg("dont_use_mmap", false, "No effect: files are always read, never mapped.")
    .arg("use_o_direct", false,
         "Read past the system's page cache (O_DIRECT). An error where the file system does not "
         "support it.")
    .cpu<ReadNamedFile>();

}  // namespace
}  // namespace torchdali
