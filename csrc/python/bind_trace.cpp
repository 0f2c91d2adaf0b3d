// SPDX-License-Identifier: Apache-2.0
// Binds the trace of torchdali.profile(), and events that Python adds to it.
#include "core/counters.h"
#include "core/trace.h"
#include "python/bind.h"

namespace torchdali {

void bind_trace(nb::module_& m) {
  m.def("tracing", &trace::enabled, "Whether a profile is being taken.");
  m.def(
      "trace_span",
      [](const std::string& name, const std::string& kind, const std::string& detail,
         int64_t start_ns, uint32_t owner) {
        if (!trace::enabled()) return;
        trace::add({.start_ns = start_ns,
                    .ns = now_ns() - start_ns,
                    .label = trace::label(name, kind, detail),
                    .owner = owner});
      },
      nb::arg("name"), nb::arg("kind"), nb::arg("detail"), nb::arg("start_ns"),
      nb::arg("owner") = 0,
      "Adds an event of this thread from `start_ns` of time.perf_counter_ns() until now.");
  nb::class_<trace::Session>(m, "TraceSession")
      .def(nb::init<int64_t>(), nb::arg("max_events"))
      .def("stop", &trace::Session::stop)
      .def(
          "write",
          [](trace::Session& session, const nb::bytes& path, const std::vector<uint32_t>& owners) {
            const std::string text = text_of(path);
            const nb::gil_scoped_release release;
            const trace::Totals totals = session.write(text, owners);
            return std::pair(totals.events, totals.dropped);
          },
          nb::arg("path"), nb::arg("owners"));
}

}  // namespace torchdali
