// SPDX-License-Identifier: Apache-2.0
#include "io/records/messages/tf_example.h"

#include <algorithm>
#include <string_view>

namespace torchdali::io {
namespace {

// Example { Features features = 1; }   Features { map<string, Feature> feature = 1; }
// Feature { oneof { BytesList = 1; FloatList = 2; Int64List = 3; } }, lists { repeated value = 1; }
constexpr uint32_t kFeatures = 1, kEntry = 1, kKey = 1, kValue = 2, kListValue = 1;
constexpr uint32_t kLastKind = 3;

}  // namespace

const char* feature_kind_name(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kNone: return "no values";
    case FeatureKind::kBytes: return "string";
    case FeatureKind::kFloat: return "float32";
    case FeatureKind::kInt64: return "int64";
  }
  return "?";
}

void find_features(std::span<const uint8_t> example, std::span<const std::string> names,
                   std::span<std::span<const uint8_t>> entries) {
  std::fill(entries.begin(), entries.end(), std::span<const uint8_t>());
  ProtoReader message(example);
  while (message.next()) {
    if (!message.is(kFeatures, WireType::kBytes)) continue;
    ProtoReader features(message.bytes());
    while (features.next()) {
      if (!features.is(kEntry, WireType::kBytes)) continue;
      std::span<const uint8_t> key;
      ProtoReader entry(features.bytes());
      while (entry.next())
        if (entry.is(kKey, WireType::kBytes)) key = entry.bytes();
      const std::string_view name(reinterpret_cast<const char*>(key.data()), key.size());
      for (size_t i = 0; i < names.size(); ++i)
        if (names[i] == name) entries[i] = features.bytes();  // the last one of a key counts
    }
  }
}

ExampleFeature::ExampleFeature(std::span<const uint8_t> entry) : entry_(entry) {
  // Lists of one kind are merged. One of another kind replaces those before it.
  int64_t lists = 0;
  for_each_list([&](FeatureKind kind, std::span<const uint8_t>) {
    if (kind != kind_) skipped_ = lists;
    kind_ = kind;
    ++lists;
  });
  for_each_field([this](const ProtoReader& field) {
    switch (kind_) {
      case FeatureKind::kBytes: size_ += field.is(kListValue, WireType::kBytes); break;
      case FeatureKind::kInt64: size_ += field.count_numbers(kListValue, WireType::kVarint); break;
      case FeatureKind::kFloat: size_ += field.count_numbers(kListValue, WireType::kFixed32); break;
      case FeatureKind::kNone: break;
    }
  });
}

// Calls fn(kind, list) for each list of values.
template <class Fn>
void ExampleFeature::for_each_list(Fn&& fn) const {
  ProtoReader entry(entry_);
  while (entry.next()) {
    if (!entry.is(kValue, WireType::kBytes)) continue;
    ProtoReader feature(entry.bytes());
    while (feature.next())
      for (uint32_t kind = 1; kind <= kLastKind; ++kind)
        if (feature.is(kind, WireType::kBytes)) fn(static_cast<FeatureKind>(kind), feature.bytes());
  }
}

// Calls fn(field) for each field of the lists that count.
template <class Fn>
void ExampleFeature::for_each_field(Fn&& fn) const {
  int64_t list_index = 0;
  for_each_list([&](FeatureKind, std::span<const uint8_t> list) {
    if (list_index++ < skipped_) return;
    ProtoReader fields(list);
    while (fields.next()) fn(fields);
  });
}

void ExampleFeature::copy_int64(int64_t* to) const {
  for_each_field([&to](const ProtoReader& field) { to = field.copy_varints(kListValue, to); });
}

void ExampleFeature::copy_float(float* to) const {
  for_each_field([&to](const ProtoReader& field) { to = field.copy_floats(kListValue, to); });
}

std::span<const uint8_t> ExampleFeature::first_bytes() const {
  std::span<const uint8_t> first;
  for_each_field([&first, found = false](const ProtoReader& field) mutable {
    if (!found && field.is(kListValue, WireType::kBytes)) {
      first = field.bytes();
      found = true;
    }
  });
  return first;
}

}  // namespace torchdali::io
