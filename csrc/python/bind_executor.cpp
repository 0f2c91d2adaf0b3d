// SPDX-License-Identifier: Apache-2.0
// Binds the executor: graphs in, batches of torch tensors out.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "python/bind.h"
#include "python/deferred_destroyer.h"
#include "python/one_thread.h"
#include "python/py_executor.h"

namespace torchdali {
namespace {

void bind_device(py::module_& m) {
  py::class_<gpu::Device, std::shared_ptr<gpu::Device>>(m, "Device")
      .def(py::init([](int index, int64_t kernel_stream, int64_t copy_stream, uintptr_t handle,
                       const std::string& library, bool emulated) {
             return std::make_shared<gpu::Device>(gpu::DeviceOptions{
                 .index = index,
                 .kernel_stream = kernel_stream,
                 .copy_stream = copy_stream,
                 .stream_handle =
                     reinterpret_cast<void*>(handle),  // NOLINT(performance-no-int-to-ptr)
                 .library = library,
                 .emulated = emulated});
           }),
           py::kw_only(), py::arg("index") = 0, py::arg("kernel_stream") = 0,
           py::arg("copy_stream") = 0, py::arg("handle") = 0, py::arg("library") = "",
           py::arg("emulated") = false);
}

// Assigning to `inside` enters or leaves. Unlike after a call, Python does not raise
// KeyboardInterrupt right after an assignment, so that what is entered is always left.
void bind_one_thread(py::module_& m) {
  py::class_<OneThread>(m, "OneThread")
      .def(py::init())
      .def_property("inside", nullptr,
                    [](OneThread& self, bool inside) {
                      if (inside) self.enter();
                      else self.leave();
                    })
      .def("protect", [](OneThread& self, const PyExecutor& e) { self.protect(e.engine()); })
      .def("__enter__", &OneThread::enter)
      .def("__exit__", [](OneThread& self, const py::args&) { self.leave(); });
}

void set_epoch_plan(PyExecutor& executor, int64_t epoch, int64_t size, int64_t first, int64_t shard,
                    int64_t num_shards, int64_t count, int batch_size, bool shuffle, bool repeat,
                    uint64_t seed) {
  executor.set_epoch_plan({.epoch = epoch,
                           .size = size,
                           .first = first,
                           .shard = shard,
                           .num_shards = num_shards,
                           .count = count,
                           .batch_size = batch_size,
                           .shuffle = shuffle,
                           .repeat = repeat,
                           .seed = seed});
}

}  // namespace

void bind_executor(py::module_& m) {
  py::class_<SampleNames, std::shared_ptr<SampleNames>>(m, "SampleNames")
      .def("__len__", &SampleNames::size)
      .def("__getitem__", [](const SampleNames& names, int i) {
        if (i < 0 || i >= names.size()) throw py::index_error();
        return decode_path(names.info(i));
      });
  py::module_::import("atexit").attr("register")(
      py::cpp_function([] { DeferredDestroyer::instance().join(); }));
  bind_device(m);
  bind_one_thread(m);
  py::class_<PyExecutor>(m, "Executor")
      .def(py::init<const py::list&, const py::list&, int, int, bool, bool, bool, const PyExecutor*,
                    std::shared_ptr<gpu::Device>, int, bool, const std::string&>(),
           py::arg("nodes"), py::arg("outputs"), py::kw_only(), py::arg("batch_size"),
           py::arg("num_threads"), py::arg("set_affinity") = false, py::arg("memory_stats") = false,
           py::arg("fuse") = true, py::arg("workers") = nullptr, py::arg("device") = nullptr,
           py::arg("gpu_depth") = 0, py::arg("guess_layouts") = true, py::arg("on_error") = "raise")
      .def("schedule", &PyExecutor::schedule, py::arg("fed") = std::vector<PyExecutor::Fed>(),
           py::arg("sample_ids") = std::vector<uint64_t>())
      .def("skip", &PyExecutor::skip)
      .def("wait", &PyExecutor::wait)
      .def_property("holds", &PyExecutor::holds, &PyExecutor::set_holds)
      .def_property_readonly("begun", &PyExecutor::begun)
      .def_property_readonly("oldest", &PyExecutor::oldest)
      .def("take_bad_samples", &PyExecutor::take_bad_samples)
      .def("reader_meta", &PyExecutor::reader_meta, py::arg("name"))
      .def("reader_shuffles", &PyExecutor::reader_shuffles, py::arg("name"))
      .def("state", &PyExecutor::state)
      .def("restore", &PyExecutor::restore, py::kw_only(), py::arg("iterations"),
           py::arg("samples"), py::arg("sources"))
      .def_property_readonly("kept", &PyExecutor::kept)
      .def_property_readonly("merged_into", &PyExecutor::merged_into)
      .def("memory_statistics", &PyExecutor::memory_statistics)
      .def("measures", &PyExecutor::measures)
      .def("reset_maxima", &PyExecutor::reset_maxima)
      .def_property_readonly("trace_owner", &PyExecutor::trace_owner)
      .def("plan", &PyExecutor::plan)
      .def("reset", &PyExecutor::reset)
      .def("set_epoch_plan", &set_epoch_plan, py::kw_only(), py::arg("epoch"), py::arg("size"),
           py::arg("first"), py::arg("shard"), py::arg("num_shards"), py::arg("count"),
           py::arg("batch_size"), py::arg("shuffle"), py::arg("repeat"), py::arg("seed"))
      .def("release_unused_memory", &PyExecutor::release_unused_memory)
      .def("cancel", &PyExecutor::cancel)
      .def("close", &PyExecutor::close)
      .def_property_readonly("iterations_taken", &PyExecutor::iterations_taken)
      .def_property_readonly("pending", &PyExecutor::pending);
}

}  // namespace torchdali
