// SPDX-License-Identifier: Apache-2.0
// fn.experimental.readers.fits: images from FITS files. io/arrays/fits.h parses them.
#include <cstring>
#include <vector>

#include "io/arrays/fits.h"
#include "ops/readers/arrays/array_reader.h"

namespace torchdali {
namespace {

class FitsReader final : public ArrayReader {
 public:
  explicit FitsReader(const OpSpec& spec)
      : ArrayReader(spec), units_(spec.get<std::vector<int64_t>>("hdu_indices")) {
    for (const int64_t unit : units_)
      TORCHDALI_CHECK(unit >= 1, "`hdu_indices` has ", unit, ", expected 1 (the primary HDU) or ",
                      "more");
    if (spec.has("dtypes")) {
      dtypes_ = spec.get<std::vector<DType>>("dtypes");
      TORCHDALI_CHECK(dtypes_.size() == units_.size(), "`dtypes` has ", dtypes_.size(),
                      " values and `hdu_indices` ", units_.size(), ", expected equally many");
    }
    if (!spec.get<bool>("lazy_init")) prepare();
  }

  void run(SampleContext& ctx) const override {
    const std::string path = path_of(ctx);
    const SampleBytes bytes = sample_bytes(ctx, {.path = path});
    const bool at_once = io::is_remote(path);  // one request instead of several
    bytes.parts(ctx, at_once, [&](const SampleParts& parts) {
      for (size_t i = 0; i < units_.size(); ++i)
        read_image(ctx, static_cast<int>(i), io::find_fits_unit(parts.size, parts.copy, units_[i]),
                   parts.copy);
    });
  }

 private:
  void read_image(SampleContext& ctx, int output, const io::FitsUnit& unit,
                  const io::ReadAt& read) const {
    const auto place = static_cast<size_t>(output);
    const int64_t number = units_[place];
    TORCHDALI_CHECK_KIND(kData, unit.is_image(), "HDU ", number, " has the type ", unit.kind,
                         ", expected an image", to_fix("choose another with `hdu_indices`"));
    TORCHDALI_CHECK_KIND(kData, unit.shape.ndim() > 0, "HDU ", number, " has no data",
                         to_fix("choose another with `hdu_indices`"));
    const DType dtype = unit.dtype();
    TORCHDALI_CHECK_KIND(kType, dtypes_.empty() || dtypes_[place] == dtype, "HDU ", number,
                         " has elements of ", dtype_name(dtype), ", `dtypes` has ",
                         dtypes_.empty() ? "" : dtype_name(dtypes_[place]),
                         to_fix("leave out `dtypes`, and use fn.cast"));
    if (unit.tiles) {
      void *values = nullptr, *elements = nullptr;
      io::read_fits_tiles(*unit.tiles, read, [&] {
        values = ctx.output(output, dtype, unit.shape).data;
        return elements = unit.is_scaled() ? scratch_for(ctx, unit) : values;
      });
      io::scale_fits_elements(unit, values, elements, unit.shape.volume());
      return;
    }
    const SampleView& out = ctx.output(output, dtype, unit.shape);
    const int64_t count = out.volume();
    if (count == 0) return;
    void* elements = unit.is_scaled() ? scratch_for(ctx, unit) : out.data;
    read(elements, count * itemsize(unit.stored), unit.data_offset);
    io::decode_fits_elements(unit, out.data, elements, count);
  }
  // Memory for the elements of an image before they are scaled.
  static void* scratch_for(SampleContext& ctx, const io::FitsUnit& unit) {
    const int64_t bytes = unit.shape.volume() * itemsize(unit.stored);
    return ctx.scratch<uint8_t>(static_cast<size_t>(bytes)).data();
  }

  std::vector<int64_t> units_;
  std::vector<DType> dtypes_;  // empty: those of the files
};

TORCHDALI_OPERATOR("experimental.readers.fits")
    .doc(
        "Reads images from FITS files: the image HDUs `hdu_indices` of each file, one output for "
        "each. Values are scaled by BSCALE and BZERO; their type is the smallest that holds the "
        "scaled values of all elements, by the rules of CFITSIO. BLANK has no effect. Tables "
        "with an image that is compressed by RICE_1, GZIP_1, GZIP_2, PLIO_1, HCOMPRESS_1 or "
        "NOCOMPRESS count as images; what ZBLANK marks is NaN.\n\n"
        "The files come from `file_root`, a folder; from `file_list`, a text file of paths; or "
        "from `files`, paths given here. With device=\"gpu\" they are read on the host and copied, "
        "not read by GPUDirect Storage.")
    .output("data", "An image, in C order (NAXIS1 is the last axis), without a layout.")
    .num_outputs([](const OpSpec& spec) {
      return static_cast<int>(spec.get<std::vector<int64_t>>("hdu_indices").size());
    })
    .arg("hdu_indices", std::vector<int64_t>{2},
         "Which HDUs to read; 1 is the primary one. One output for each.")
    .optional_arg("dtypes", ArgType::kDTypeVec,
                  "Element types of the outputs, one for each; other types are an error. By "
                  "default those of the files.")
    .with([](SchemaBuilder& schema) { array_reader_args(schema, "*.fits"); })
    .gpu_by_copy()
    .cpu<FitsReader>();

}  // namespace
}  // namespace torchdali
