// SPDX-License-Identifier: Apache-2.0
// Binds the trace of torchdali.profile(), and events that Python adds to it.
#include "core/counters.h"
#include "core/trace.h"
#include "python/bind.h"

namespace torchdali {

void bind_trace(py::module_& m) {
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
      py::arg("name"), py::arg("kind"), py::arg("detail"), py::arg("start_ns"),
      py::arg("owner") = 0,
      "Adds an event of this thread from `start_ns` of time.perf_counter_ns() until now.");
  py::class_<trace::Session>(m, "TraceSession")
      .def(py::init<int64_t>(), py::arg("max_events"))
      .def("stop", &trace::Session::stop)
      .def(
          "write",
          [](trace::Session& session, const std::string& path,
             const std::vector<uint32_t>& owners) {
            const py::gil_scoped_release release;
            const trace::Totals totals = session.write(path, owners);
            return std::pair(totals.events, totals.dropped);
          },
          py::arg("path"), py::arg("owners"));
}

}  // namespace torchdali
