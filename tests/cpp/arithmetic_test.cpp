// SPDX-License-Identifier: Apache-2.0
// kernels of expressions: every operation on every type with the values where it goes wrong, in
// buffers of the exact size, with every instruction set; broadcasting against plain indexing.
// sources: csrc/kernels/math/arithmetic.cpp csrc/kernels/math/arithmetic_cpu.cpp csrc/core/cpu_features.cpp
// sources: csrc/kernels/math/arithmetic_broadcast.cpp
// sanitizers: address
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "core/cpu_features.h"
#include "expect.h"
#include "kernels/math/arithmetic.h"
#include "kernels/math/arithmetic_broadcast.h"

namespace torchdali::kernels {
namespace {

template <class T>
std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T(0), T(1), T(2), T(3), T(7), T(63), Limits::max(), Limits::lowest()};
  values.push_back(static_cast<T>(0 - T(1)));
  if constexpr (std::is_floating_point_v<T>) {
    values.push_back(Limits::infinity());
    values.push_back(Limits::quiet_NaN());
  }
  return values;
}

template <class T>
void operations_take_every_value() {
  const std::vector<T> values = edges<T>();
  std::vector<T> a, b;
  for (T x : values)
    for (T y : values) a.push_back(x), b.push_back(y);
  const auto count = static_cast<int64_t>(a.size());
  for (int op = 0; op <= static_cast<int>(ArithmeticOp::kAtanh); ++op) {
    const ArithmeticKernel kernel = arithmetic_kernel(static_cast<ArithmeticOp>(op), dtype_of<T>());
    std::vector<T> out(a.size());  // large enough for bool too
    if (kernel.arrays != nullptr) kernel.arrays(out.data(), a.data(), b.data(), b.data(), count);
    for (T y : values) {
      const std::vector<T> same(a.size(), y);
      std::vector<T> scalar(a.size());
      if (kernel.scalar_b != nullptr) {
        kernel.scalar_b(scalar.data(), a.data(), &y, nullptr, count);
        if (kernel.arrays != nullptr)
          kernel.arrays(out.data(), a.data(), same.data(), nullptr, count);
        else out = scalar;
        EXPECT(std::is_floating_point_v<T> || out == scalar);
      }
      if (kernel.scalar_a != nullptr) {
        kernel.scalar_a(scalar.data(), &y, a.data(), nullptr, count);
        kernel.arrays(out.data(), same.data(), a.data(), nullptr, count);
        EXPECT(std::is_floating_point_v<T> || out == scalar);
      }
    }
  }
}

void every_pair_of_types_is_converted() {
  for (int from = 0; from < kNumDTypes; ++from)
    for (int to = 0; to < kNumDTypes; ++to) {
      const auto source = static_cast<DType>(from), target = static_cast<DType>(to);
      const ArithmeticConvertFn convert = arithmetic_converter(target, source);
      if (convert == nullptr) continue;
      const std::vector<std::byte> in(static_cast<size_t>(33 * itemsize(source)), std::byte{1});
      std::vector<std::byte> out(static_cast<size_t>(33 * itemsize(target)));
      convert(out.data(), in.data(), 33);
    }
}

void broadcasting_equals_indexing() {
  const Shape to{2, 5, 4, 3};
  for (int mask = 0; mask < 16; ++mask) {
    Shape from;
    for (int i = 0; i < 4; ++i) from.push_back((mask >> i) & 1 ? 1 : to[i]);
    std::vector<uint32_t> values(static_cast<size_t>(from.volume()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint32_t>(i);
    const Broadcast broadcast(from, to);
    const int64_t total = to.volume();
    for (int64_t begin = 0; begin < total; ++begin)
      for (int64_t count : {int64_t{1}, int64_t{2}, int64_t{7}, total - begin}) {
        if (begin + count > total) continue;
        std::vector<uint32_t> out(static_cast<size_t>(count));
        broadcast.fill(out.data(), values.data(), 4, begin, count);
        for (int64_t i = 0; i < count; ++i) {
          int64_t rest = begin + i, at = 0, stride = 1;
          for (int axis = 3; axis >= 0; --axis) {
            if (from[axis] != 1) at += rest % to[axis] * stride;
            stride *= from[axis];
            rest /= to[axis];
          }
          EXPECT(out[static_cast<size_t>(i)] == values[static_cast<size_t>(at)]);
        }
      }
    EXPECT(total % broadcast.period() == 0);
  }
}

}  // namespace
}  // namespace torchdali::kernels

int main(int argc, char** argv) {
  using namespace torchdali::kernels;
  if (argc == 1 && torchdali::machine_isa() != torchdali::Isa::kBaseline) {
    for (const char* isa : {"baseline", "avx2", "avx512"})
      EXPECT(std::system(
                 ("TORCHDALI_ISA=" + std::string(isa) + " '" + argv[0] + "' run").c_str()) == 0);
    return 0;
  }
  operations_take_every_value<uint8_t>();
  operations_take_every_value<uint16_t>();
  operations_take_every_value<uint32_t>();
  operations_take_every_value<uint64_t>();
  operations_take_every_value<int8_t>();
  operations_take_every_value<int16_t>();
  operations_take_every_value<int32_t>();
  operations_take_every_value<int64_t>();
  operations_take_every_value<float>();
  operations_take_every_value<double>();
  every_pair_of_types_is_converted();
  broadcasting_equals_indexing();
}
