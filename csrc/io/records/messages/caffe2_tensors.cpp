// SPDX-License-Identifier: Apache-2.0
#include "io/records/messages/caffe2_tensors.h"

#include "io/records/messages/protobuf.h"

namespace torchdali::io {
namespace {

// TensorProtos { repeated TensorProto protos = 1; } and the fields of TensorProto.
constexpr uint32_t kTensor = 1;
constexpr uint32_t kDims = 1, kType = 2, kFloats = 3, kInt32s = 4, kByteData = 5, kStrings = 6,
                   kInt64s = 10;

}  // namespace

size_t find_caffe2_tensors(std::span<const uint8_t> message,
                           std::span<std::span<const uint8_t>> tensors) {
  size_t found = 0;
  ProtoReader fields(message);
  while (found < tensors.size() && fields.next())
    if (fields.is(kTensor, WireType::kBytes)) tensors[found++] = fields.bytes();
  return found;
}

Caffe2Tensor::Caffe2Tensor(std::span<const uint8_t> message) : message_(message) {
  int64_t floats = 0, int32s = 0, int64s = 0, strings = 0;
  std::span<const uint8_t> byte_data, string;
  ProtoReader fields(message);
  while (fields.next()) {
    if (fields.is(kType, WireType::kVarint)) type_ = static_cast<int32_t>(fields.integer());
    if (fields.is(kDims, WireType::kVarint) && num_dims_ < dims_.size())
      dims_[num_dims_++] = static_cast<int64_t>(fields.integer());
    floats += fields.count_numbers(kFloats, WireType::kFixed32);
    int32s += fields.count_numbers(kInt32s, WireType::kVarint);
    int64s += fields.count_numbers(kInt64s, WireType::kVarint);
    if (fields.is(kByteData, WireType::kBytes)) byte_data = fields.bytes();
    if (fields.is(kStrings, WireType::kBytes) && strings++ == 0) string = fields.bytes();
  }
  switch (static_cast<Caffe2Type>(type_)) {
    case Caffe2Type::kFloat: size_ = floats; break;
    case Caffe2Type::kInt32: size_ = int32s; break;
    case Caffe2Type::kInt64: size_ = int64s; break;
    case Caffe2Type::kString:
      size_ = strings;
      bytes_ = string;
      break;
    case Caffe2Type::kByte:
      size_ = static_cast<int64_t>(byte_data.size());
      bytes_ = byte_data;
      break;
  }
}

void Caffe2Tensor::copy(float* to) const {
  ProtoReader fields(message_);
  while (fields.next()) to = fields.copy_floats(kFloats, to);
}
void Caffe2Tensor::copy(int32_t* to) const {
  ProtoReader fields(message_);
  while (fields.next()) to = fields.copy_varints(kInt32s, to);
}
void Caffe2Tensor::copy(int64_t* to) const {
  ProtoReader fields(message_);
  while (fields.next()) to = fields.copy_varints(kInt64s, to);
}

}  // namespace torchdali::io
