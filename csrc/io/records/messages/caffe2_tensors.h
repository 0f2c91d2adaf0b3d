// SPDX-License-Identifier: Apache-2.0
// TensorProtos: the message that Caffe2 stores for a sample. Source: caffe2/proto/caffe2.proto.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace torchdali::io {

// Numbers of TensorProto.DataType; there are others.
enum class Caffe2Type : int32_t { kFloat = 1, kInt32 = 2, kByte = 3, kString = 4, kInt64 = 10 };

// One tensor, whose values are views of the message. All functions raise kData if the message is
// damaged.
class Caffe2Tensor {
 public:
  explicit Caffe2Tensor(std::span<const uint8_t> message);

  int32_t type() const { return type_; }
  bool is(Caffe2Type type) const { return type_ == static_cast<int32_t>(type); }
  // The first four, or fewer.
  std::span<const int64_t> dims() const { return {dims_.data(), num_dims_}; }
  // The number of elements of type kFloat, kInt32, kInt64 or kString; the number of bytes of kByte.
  int64_t size() const { return size_; }
  // The bytes of kByte, or the first string of kString.
  std::span<const uint8_t> bytes() const { return bytes_; }
  void copy(float* to) const;
  void copy(int32_t* to) const;
  void copy(int64_t* to) const;

 private:
  std::span<const uint8_t> message_, bytes_;
  int32_t type_ = 0;
  std::array<int64_t, 4> dims_{};
  size_t num_dims_ = 0;
  int64_t size_ = 0;
};

// Finds the first tensors of a message, as many as `tensors` has room for; returns their number.
size_t find_caffe2_tensors(std::span<const uint8_t> message,
                           std::span<std::span<const uint8_t>> tensors);

}  // namespace torchdali::io
