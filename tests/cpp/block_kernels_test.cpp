// SPDX-License-Identifier: Apache-2.0
// kernels/gpu/block.h: the emulation of kernels whose threads cooperate shows races and memory that
// was not written. kernels/audio/spectrogram_gpu.h: transforms of all sizes, in shared memory of
// the exact size.
// sanitizers: address
#include "gpu/emulation.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "expect.h"
#include "kernels/audio/spectrogram_gpu.h"

namespace torchdali::gpu {
namespace {

struct ReverseTask : TaskBase {
  bool races = false;
};
// Reverses each block of values.
struct ReverseBlocks : Kernel<ReverseTask> {
  static constexpr int kThreads = 32;
  struct Shared {
    float values[kThreads];
    float unused;
  };
  int phases() const { return task.races ? 1 : 2; }
  void operator()(int64_t block, int phase, int thread, Shared& shared) const {
    EXPECT(block > 0 || phase > 0 || std::isnan(shared.unused));
    const auto* in = static_cast<const float*>(task.in) + block * kThreads;
    auto* out = static_cast<float*>(task.out) + block * kThreads;
    if (phase == 0) shared.values[thread] = in[thread];
    if (phase + 1 == phases()) out[thread] = shared.values[kThreads - 1 - thread];
  }
};

bool reverses(bool races) {
  constexpr int kBlocks = 2;
  std::vector<float> in(kBlocks * ReverseBlocks::kThreads), out(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  ReverseTask task;
  task.in = in.data();
  task.out = out.data();
  task.size = kBlocks;
  task.races = races;
  const LaunchSize size{.tasks = 1, .shared_bytes = shared_bytes<ReverseBlocks>(task)};
  EXPECT(launch<ReverseBlocks>(&task, size, nullptr, nullptr) == 0);
  for (int b = 0; b < kBlocks; ++b) {
    const auto begin = in.begin() + b * ReverseBlocks::kThreads;
    std::reverse(begin, begin + ReverseBlocks::kThreads);
  }
  return in == out;
}

void races_show() {
  EXPECT(reverses(false));
  EXPECT(!reverses(true));
}

void too_little_shared_memory_is_an_error() {
  const ReverseTask task;
  EXPECT_THROW(std::logic_error,
               launch<ReverseBlocks>(&task, {.tasks = 1, .shared_bytes = 4}, nullptr, nullptr), {});
}

// Lists in a blob.
class Lists {
 public:
  template <class T>
  BlobOffset keep(const std::vector<T>& values) {
    const size_t at = (bytes_.size() + 15) / 16 * 16;
    bytes_.resize(at + values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(bytes_.data() + at, values.data(), values.size() * sizeof(T));
    return static_cast<BlobOffset>(at);
  }
  const void* data() const { return bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;
};

// Compares powers of noise with the definition, at some frequencies of all frames.
void transform_equals_the_definition(int nfft) {
  std::mt19937 generator(static_cast<unsigned>(nfft));
  std::uniform_real_distribution<float> uniform(-1, 1);
  SpectrogramTask task;
  task.nfft = task.window_length = nfft;
  task.plan = make_fft_plan(task.is_packed() ? nfft / 2 : nfft);
  EXPECT(task.plan.passes > 0);
  task.frames_per_block =
      std::clamp(SpectrogramKernel::kPoints / task.plan.size, 1, SpectrogramKernel::kMaxFrames);
  task.frames = task.frames_per_block + 1;
  task.step = 3;
  task.samples = nfft + 3 * (task.frames - 1);
  task.rows = task.bins();
  task.size = 2;
  std::vector<float> in(static_cast<size_t>(task.samples));
  for (float& x : in) x = uniform(generator);
  std::vector<float> out(static_cast<size_t>(task.rows * task.frames));
  task.in = in.data();
  task.out = out.data();
  Lists lists;
  std::vector<Complex> roots;
  for (int k = 0; k < task.rows; ++k) roots.push_back(root_of_unity(k, nfft));
  task.window = lists.keep(std::vector<float>(static_cast<size_t>(nfft), 1.0f));
  task.twiddles = lists.keep(fft_twiddles(task.plan));
  task.roots = lists.keep(roots);
  const int64_t bytes = shared_bytes<SpectrogramKernel>(task);
  EXPECT(bytes <= kMaxSharedBytes);
  launch<SpectrogramKernel>(&task, {.tasks = 1, .max_size = 2, .shared_bytes = bytes}, lists.data(),
                            nullptr);
  const double largest = *std::max_element(out.begin(), out.end());
  for (int k = 0; k < task.rows; k += std::max(1, task.rows / 20))
    for (int64_t frame = 0; frame < task.frames; ++frame) {
      std::complex<double> sum = 0;
      for (int n = 0; n < nfft; ++n)
        sum += std::polar<double>(in[static_cast<size_t>(3 * frame + n)],
                                  -2 * M_PI * static_cast<double>(int64_t{k} * n % nfft) / nfft);
      const double made = out[static_cast<size_t>(k * task.frames + frame)];
      EXPECT(std::abs(made - std::norm(sum)) <= 2e-6 * largest);
    }
}

void plans_have_factors_2_3_and_5() {
  EXPECT(make_fft_plan(512).passes == 3);
  EXPECT(make_fft_plan(256).radix[0] == 16 && make_fft_plan(256).passes == 2);
  for (const int other : {0, 7, 14, 251, 2 * 3 * 5 * 11}) EXPECT(make_fft_plan(other).passes == 0);
}

}  // namespace
}  // namespace torchdali::gpu

int main() {
  using namespace torchdali::gpu;
  races_show();
  too_little_shared_memory_is_an_error();
  plans_have_factors_2_3_and_5();
  for (const int nfft :
       {1,  2,  3,  4,   5,   6,   8,   9,   10,  12,  15,  16,  20,   25,   27,   30,   32,  45,
        64, 75, 96, 128, 160, 225, 240, 256, 400, 480, 512, 640, 1000, 1024, 1536, 2048, 4096})
    transform_equals_the_definition(nfft);
  for (const int nfft : {5625, 8192, 10000}) transform_equals_the_definition(nfft);
  return 0;
}
