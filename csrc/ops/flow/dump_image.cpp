// SPDX-License-Identifier: Apache-2.0
// fn.dump_image: writes the images of each batch to files, for a look at what a pipeline does.
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>

#include "core/operator.h"

namespace torchdali {
namespace {

// Plain PPM or PGM (netpbm's formats P3 and P2), byte for byte as DALI writes them.
std::string as_text(const SampleView& image) {
  const int64_t height = image.shape[0], row = image.shape[1] * image.shape[2];
  std::string text = image.shape[2] == 3 ? "P3\n" : "P2\n";
  text += std::to_string(image.shape[1]) + " " + std::to_string(height) + "\n255\n";
  const uint8_t* value = image.as<const uint8_t>();
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t i = 0; i < row; ++i) text += std::to_string(*value++) += ' ';
    text += '\n';
  }
  return text;
}

class DumpImage final : public Operator {
 public:
  explicit DumpImage(const OpSpec& spec) : suffix_(spec.get<std::string>("suffix")) {
    const auto layout = spec.get<Layout>("input_layout");
    TORCHDALI_CHECK_KIND(kLayout, layout == Layout("HWC"), "`input_layout` is ", layout,
                         ", expected \"HWC\"", to_fix("use fn.transpose before"));
    TORCHDALI_CHECK(suffix_.find('/') == std::string::npos && suffix_.find('\0') == suffix_.npos,
                    "`suffix` is part of the name of a file, and may not hold a slash or NUL");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8, "input `data` is ", dtype_name(in.dtype),
                         ", expected uint8", to_fix("use fn.cast"));
    TORCHDALI_CHECK(in.shape.ndim() == 3 && (in.shape[2] == 1 || in.shape[2] == 3),
                    "input `data` is of shape ", in.shape,
                    ", expected [height, width, channels] with 1 or 3 channels");
    write(std::to_string(ctx.index_in_batch()) + "-" + suffix_ + "-0.ppm", as_text(in));
    ctx.share_input(0, 0, in);
  }

 private:
  static void write(const std::string& name, const std::string& text) {
    struct Close {
      void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Close> file(std::fopen(name.c_str(), "wb"));
    const bool good = file != nullptr &&
                      std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                      std::fclose(file.release()) == 0;
    TORCHDALI_CHECK_KIND(kFile, good, "cannot write the file \"", name,
                         "\" in the working folder: ", std::generic_category().message(errno));
  }

  std::string suffix_;
};

TORCHDALI_OPERATOR("dump_image")
    .doc(
        "Writes each image to a file in the working folder and passes the data on. Files are "
        "named \"{index in the batch}-{suffix}-0.ppm\", contain plain text (PPM, or PGM for one "
        "channel), and are overwritten by the next batch. With device=\"gpu\" the data is copied "
        "to the host and back.")
    .input("data", "Images [height, width, channels] of uint8, with one or three channels.")
    .output("data", "The input, unchanged.")
    .arg("suffix", std::string(), "Part of the names of the files.")
    .arg("input_layout", Layout("HWC"), "Layout of the images; only \"HWC\" is possible.")
    .side_effects()
    .gpu_by_copy()
    .cpu<DumpImage>();

}  // namespace
}  // namespace torchdali
