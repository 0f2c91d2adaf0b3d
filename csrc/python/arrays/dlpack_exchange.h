// SPDX-License-Identifier: Apache-2.0
// Exchange of arrays by DLPack: conversion of its descriptions, capsules, torch's table.
#pragma once

#include <memory>

#include "core/view.h"
#include "python/arrays/dlpack.h"
#include "python/arrays/torch_tensors.h"
#include "python/bind.h"

namespace torchdali::dlpack {

// Raises kType for other element types than DALI's, kValue for negative extents. Whether their
// product is possible is to be checked.
ArrayView view_of(const Tensor& tensor);

// Host memory that `owner` keeps, as a structure that Managed::deleter frees.
template <class Managed>
Managed* export_view(const SampleView& view, std::shared_ptr<const void> owner);

// A capsule of the name "dltensor", which frees its tensor if nothing takes it over.
nb::object to_capsule(ManagedTensor* tensor);

// Torch's functions for its tensors; before torch 2.10, which has no table, the same by
// torch.utils.dlpack.
const ExchangeTable& torch_table();

}  // namespace torchdali::dlpack
