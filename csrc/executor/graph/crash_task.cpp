// SPDX-License-Identifier: Apache-2.0
#include "executor/graph/crash_task.h"

#include <vector>

namespace torchdali {
namespace {

std::string origin(const Node& node) {
  std::string text;
  if (const std::string library = crash::library_of(node.schema->name); !library.empty())
    text += "  " + node.schema->name + " is not part of torchdali: it is in " + library + "\n";
  if (!node.location.empty()) text += "  " + node.location + "\n";
  return text;
}

}  // namespace

crash::Task crash_task(const Node& node) {
  std::vector<const Node*> all;
  all.reserve(node.producers.size() + 1);
  for (const auto& producer : node.producers) all.push_back(producer.get());
  all.push_back(&node);
  crash::Task task{.name = all.size() == 1 ? "operator " : "operators ", .details = ""};
  for (const Node* one : all) {
    if (one != all.front()) task.name += " + ";
    task.name += one->schema->name;
    const std::string from = origin(*one);
    // The steps of an expression are of one line.
    if (task.details.find(from) == std::string::npos) task.details += from;
  }
  return task;
}

}  // namespace torchdali
