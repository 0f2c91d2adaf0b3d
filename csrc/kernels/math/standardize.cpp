// SPDX-License-Identifier: Apache-2.0
// The loop of standardize() over an array, in pieces that fit the first-level cache.
#include "kernels/math/standardize.h"

#include <algorithm>

#include "kernels/convert.h"

namespace torchdali::kernels {
namespace {

constexpr int64_t kPiece = 2048;   // elements
constexpr int64_t kShortRun = 64;  // elements with one mean; longer runs are worth a call

// Writes pieces of the output, through a buffer of floats if it has another type.
class Writer {
 public:
  explicit Writer(const Standardize& work)
      : fns_(standardize_functions(work.in_dtype)),
        convert_(work.out_dtype == DType::kFloat ? nullptr
                                                 : converter(work.out_dtype, DType::kFloat)),
        in_(static_cast<const char*>(work.in)),
        out_(static_cast<char*>(work.out)),
        in_size_(itemsize(work.in_dtype)),
        out_size_(itemsize(work.out_dtype)),
        shift_(work.shift) {}

  void line(int64_t count, float mean, float scale) {
    pieces(count, [&](float* out, const void* in, int64_t n, int64_t) {
      fns_.line(out, in, n, mean, scale, shift_);
    });
  }
  void pattern(int64_t count, const float* mean, const float* scale) {
    pieces(count, [&](float* out, const void* in, int64_t n, int64_t at) {
      fns_.pattern(out, in, n, mean + at, scale + at, shift_);
    });
  }

 private:
  template <class Fn>
  void pieces(int64_t count, Fn&& fn) {
    for (int64_t at = 0; at < count;) {
      int64_t n = count - at;
      if (convert_ != nullptr) {
        n = std::min(n, kPiece);
        fn(buffer_, in_, n, at);
        convert_(out_, buffer_, n);
      } else {
        fn(reinterpret_cast<float*>(out_), in_, n, at);
      }
      in_ += n * in_size_;
      out_ += n * out_size_;
      at += n;
    }
  }

  StandardizeFns fns_;
  ConvertFn convert_;
  const char* in_;
  char* out_;
  int64_t in_size_, out_size_;
  float shift_;
  float buffer_[kPiece];
};

// `repeats` times the same `count` means and scales, one per element.
void repeat(Writer& writer, int64_t repeats, int64_t count, const float* mean, const float* scale) {
  if (count > kPiece / 2) {
    for (int64_t i = 0; i < repeats; ++i) writer.pattern(count, mean, scale);
    return;
  }
  float means[kPiece], scales[kPiece];
  const int64_t most = std::min(repeats, kPiece / count);
  for (int64_t i = 0; i < most; ++i) {
    std::copy_n(mean, count, means + i * count);
    std::copy_n(scale, count, scales + i * count);
  }
  for (int64_t done = 0; done < repeats; done += most)
    writer.pattern(std::min(most, repeats - done) * count, means, scales);
}

// `count` runs of `run` elements, each with one mean and scale.
void runs(Writer& writer, int64_t count, int64_t run, const float* mean, const float* scale) {
  if (run >= kShortRun) {
    for (int64_t i = 0; i < count; ++i) writer.line(run, mean[i], scale[i]);
    return;
  }
  float means[kPiece], scales[kPiece];
  const int64_t most = kPiece / run;
  for (int64_t done = 0; done < count; done += most) {
    const int64_t n = std::min(most, count - done);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < run; ++j) {
        means[i * run + j] = mean[done + i];
        scales[i * run + j] = scale[done + i];
      }
    }
    writer.pattern(n * run, means, scales);
  }
}

}  // namespace

void standardize(const Standardize& work) {
  if (work.shape.volume() == 0) return;
  const AxisGroups groups(work.shape, work.axes);
  Writer writer(work);
  const int64_t last = groups.last(), before = groups.before_last();
  groups.for_each_outer([&](int64_t, int64_t at) {
    if (groups.last_reduced()) runs(writer, before, last, work.mean + at, work.scale + at);
    else repeat(writer, before, last, work.mean + at, work.scale + at);
  });
}

}  // namespace torchdali::kernels
