// SPDX-License-Identifier: Apache-2.0
// fn.jitter: images whose pixels are moved at random. DALI 1.35 has it on the GPU only; this
// follows its documentation.
#include "ops/displacement.h"

namespace torchdali {
namespace {

class Jitter final : public Operator {
 public:
  explicit Jitter(const OpSpec& spec) : displacement_(spec), degree_(spec.get<int64_t>("nDegree")) {
    TORCHDALI_CHECK(degree_ >= 0 && degree_ <= kMaxDegree, "`nDegree` is ", degree_,
                    ", expected 0 to ", kMaxDegree);
  }

  void run(SampleContext& ctx) const override {
    RandomStream random = ctx.random();
    displacement_.run(ctx, [&](int64_t, int64_t) {
      return [&](kernels::WarpPoints& points, int64_t, int64_t h, int64_t w, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          points.x[i] = static_cast<float>(w + i + shift(random)) + 0.5f;
          points.y[i] = static_cast<float>(h + shift(random)) + 0.5f;
        }
      };
    });
  }

 private:
  static constexpr int64_t kMaxDegree = 1 << 30;
  // -degree / 2 to degree / 2; no number of these is more likely by more than range / 2^32.
  int64_t shift(RandomStream& random) const {
    const uint64_t range = static_cast<uint64_t>(degree_ / 2 * 2 + 1);
    return static_cast<int64_t>(random.next_u32() * range >> 32) - degree_ / 2;
  }
  Displacement displacement_;
  int64_t degree_;
};

TORCHDALI_OPERATOR("jitter")
    .doc(
        "Takes each pixel from a random neighbour: moved by a whole number of pixels, each equally "
        "likely, along x and along y.")
    .with(add_displacement_args)
    .arg("nDegree", 2, "Each pixel moves by -(nDegree // 2) to nDegree // 2 pixels.")
    .random()
    .cpu<Jitter>();

}  // namespace
}  // namespace torchdali
