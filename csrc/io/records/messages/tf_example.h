// SPDX-License-Identifier: Apache-2.0
// The features of a tf.train.Example, the message that a record of a TFRecord file usually has.
// Source: tensorflow/core/example/{example,feature}.proto.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "io/records/messages/protobuf.h"

namespace torchdali::io {

enum class FeatureKind : uint8_t { kNone, kBytes, kFloat, kInt64 };
const char* feature_kind_name(FeatureKind kind);

// One feature of an Example: its values, which are views of the message. All functions raise kData
// if the message is damaged.
class ExampleFeature {
 public:
  // `entry` is the feature's entry in the map of an Example. Empty: the feature is missing.
  explicit ExampleFeature(std::span<const uint8_t> entry);

  // Missing features, and those without a list of values, are kNone.
  FeatureKind kind() const { return kind_; }
  int64_t size() const { return size_; }
  // Of the kind that the function is for.
  void copy_int64(int64_t* to) const;
  void copy_float(float* to) const;
  std::span<const uint8_t> first_bytes() const;

 private:
  template <class Fn>
  void for_each_list(Fn&& fn) const;
  template <class Fn>
  void for_each_field(Fn&& fn) const;

  std::span<const uint8_t> entry_;
  FeatureKind kind_ = FeatureKind::kNone;
  int64_t skipped_ = 0;  // lists of another kind, before the ones that count
  int64_t size_ = 0;
};

// Finds the features with these names in an Example. `entries` gets, for each name, what
// ExampleFeature takes.
void find_features(std::span<const uint8_t> example, std::span<const std::string> names,
                   std::span<std::span<const uint8_t>> entries);

}  // namespace torchdali::io
