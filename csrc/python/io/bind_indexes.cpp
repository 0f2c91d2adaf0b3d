// SPDX-License-Identifier: Apache-2.0
// Binds the making of indexes of containers, and lets Ctrl-C end work on many files.
#include "io/records/index_kinds.h"
#include "io/records/parallel_files.h"
#include "python/bind.h"

namespace torchdali {
namespace {

std::vector<nb::bytes> make_indexes(const std::string& kind, const std::vector<nb::bytes>& paths) {
  std::vector<std::string> names, texts(paths.size());
  names.reserve(paths.size());
  for (const nb::bytes& path : paths) names.push_back(text_of(path));
  {
    const nb::gil_scoped_release release;
    io::make_indexes(io::find_index_kind(kind), names,
                     [&](size_t i, std::string text) { texts[i] = std::move(text); });
  }
  std::vector<nb::bytes> indexes;
  indexes.reserve(texts.size());
  for (const std::string& text : texts) indexes.emplace_back(text.data(), text.size());
  return indexes;
}

}  // namespace

void bind_indexes(nb::module_& m) {
  io::set_interrupt_check(check_signals);
  m.def("index_kinds", &io::index_kind_names, "The kinds of containers that have an index.");
  m.def("make_indexes", &make_indexes, nb::arg("kind"), nb::arg("paths"));
}

}  // namespace torchdali
