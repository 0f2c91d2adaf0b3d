// SPDX-License-Identifier: Apache-2.0
// OperatorError: an error together with the operator that it belongs to.
#pragma once

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "core/batch_context.h"
#include "executor/graph/graph.h"

namespace torchdali {

class OperatorError : public Error {
 public:
  // The operator is `node`, or the producer of it that `cause` names. A part of another operator
  // has a producer in any case.
  OperatorError(const Error& cause, const Node& node) : Error(cause) {
    const int producer = node.part_of.empty() ? cause.producer() : std::max(cause.producer(), 0);
    const auto& producers = producers_of(node);
    const Node& failed = producer >= 0 && producer < static_cast<int>(producers.size())
                             ? *producers[static_cast<size_t>(producer)]
                             : node;
    op = failed.schema->name;
    hidden = failed.schema->hidden;
    location = failed.location;
    sample = cause.sample();
    const bool tolerable =
        kind() != ErrorKind::kInternal && dynamic_cast<const BatchError*>(&cause) == nullptr;
    on_error = tolerable ? failed.on_error.value_or(OnError::kRaise) : OnError::kRaise;
  }
  std::string op, location;
  bool hidden = false;  // the operator has no name that the user knows
  std::string source;   // path or key of the sample; may be empty
  int sample = -1;      // index in the batch; -1: the error is not about one sample
  int batch_size = 0;
  OnError on_error = OnError::kRaise;  // of the operator
};

// Calls `run()`. Any exception that it throws is converted to an Error and passed to `convert`,
// whose result is thrown instead.
template <class Run, class Convert>
decltype(auto) with_errors_as(Convert&& convert, Run&& run) {
  try {
    return std::forward<Run>(run)();
  } catch (const Error& e) {
    throw convert(e);
  } catch (const std::bad_alloc&) {
    throw convert(Error(ErrorKind::kRuntime, "out of memory",
                        "use smaller batches or a smaller prefetch_queue_depth"));
  } catch (const std::exception& e) {
    throw convert(Error(ErrorKind::kInternal, e.what()));
  }
}

// Calls `run()`; exceptions become an OperatorError of `node`.
template <class Run>
decltype(auto) with_operator_errors(const Node& node, Run&& run) {
  return with_errors_as([&](const Error& e) { return OperatorError(e, node); },
                        std::forward<Run>(run));
}

}  // namespace torchdali
