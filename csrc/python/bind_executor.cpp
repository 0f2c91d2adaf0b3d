// SPDX-License-Identifier: Apache-2.0
// Binds the executor: graphs in, batches of torch tensors out.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "python/bind.h"
#include "python/deferred_destroyer.h"
#include "python/external_batch.h"
#include "python/one_thread.h"
#include "python/py_executor.h"

namespace torchdali {
namespace {

void bind_device(nb::module_& m) {
  nb::class_<PyDevice>(m, "Device")
      .def(
          "__init__",
          [](PyDevice* self, int index, uintptr_t kernel_stream, uintptr_t copy_stream,
             const std::string& library, bool emulated) {
            new (self) PyDevice{std::make_shared<gpu::Device>(
                gpu::DeviceOptions{.index = index,
                                   // NOLINTBEGIN(performance-no-int-to-ptr)
                                   .kernel_stream = reinterpret_cast<void*>(kernel_stream),
                                   .copy_stream = reinterpret_cast<void*>(copy_stream),
                                   // NOLINTEND(performance-no-int-to-ptr)
                                   .library = library,
                                   .emulated = emulated})};
          },
          nb::kw_only(), nb::arg("index") = 0, nb::arg("kernel_stream") = 0,
          nb::arg("copy_stream") = 0, nb::arg("library") = "", nb::arg("emulated") = false);
}

// Assigning to `inside` enters or leaves. Unlike after a call, Python does not raise
// KeyboardInterrupt right after an assignment, so that what is entered is always left.
void bind_one_thread(nb::module_& m) {
  nb::class_<OneThread>(m, "OneThread")
      .def(nb::init<>())
      .def_prop_rw("inside", nullptr,
                   [](OneThread& self, bool inside) {
                     if (inside) self.enter();
                     else self.leave();
                   })
      .def("protect", [](OneThread& self, const PyExecutor& e) { self.protect(e.engine()); })
      .def("__enter__", &OneThread::enter)
      .def("__exit__", [](OneThread& self, const nb::args&) { self.leave(); });
}

void set_epoch_plan(PyExecutor& executor, int64_t epoch, int64_t size, int64_t first, int64_t shard,
                    int64_t num_shards, int64_t count, int batch_size, bool shuffle, bool repeat,
                    uint64_t seed, std::string bucket_by, int64_t bucket_window,
                    int64_t bucket_batch) {
  executor.set_epoch_plan({.epoch = epoch,
                           .size = size,
                           .first = first,
                           .shard = shard,
                           .num_shards = num_shards,
                           .count = count,
                           .batch_size = batch_size,
                           .shuffle = shuffle,
                           .repeat = repeat,
                           .seed = seed,
                           .bucket_by = std::move(bucket_by),
                           .bucket_window = bucket_window,
                           .bucket_batch = bucket_batch});
}

}  // namespace

void bind_executor(nb::module_& m) {
  nb::class_<PySampleNames>(m, "SampleNames")
      .def("__len__", [](const PySampleNames& self) { return self.names->size(); })
      .def("__getitem__", [](const PySampleNames& self, int i) {
        if (i < 0 || i >= self.names->size()) throw nb::index_error();
        return decode_path(self.names->info(i));
      });
  nb::class_<PyFedPart>(m, "FedPart");
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function([] { DeferredDestroyer::instance().join(); }));
  bind_device(m);
  bind_one_thread(m);
  nb::class_<PyExecutor>(m, "Executor")
      .def(nb::init<const nb::list&, const nb::list&, int, int, bool, bool, bool, const PyExecutor*,
                    const PyDevice*, int, bool, const std::string&, bool, int, bool>(),
           nb::arg("nodes"), nb::arg("outputs"), nb::kw_only(), nb::arg("batch_size"),
           nb::arg("num_threads"), nb::arg("set_affinity") = false, nb::arg("memory_stats") = false,
           nb::arg("fuse") = true, nb::arg("workers").none() = nb::none(),
           nb::arg("device").none() = nb::none(), nb::arg("gpu_depth") = 0,
           nb::arg("guess_layouts") = true, nb::arg("on_error") = "raise",
           nb::arg("inline_only") = false,
           nb::arg("kept_storages") = ExecutorOptions().kept_storages,
           nb::arg("keeps_more") = ExecutorOptions().keeps_more)
      .def("schedule", &PyExecutor::schedule, nb::arg("fed") = std::vector<PyExecutor::Fed>(),
           nb::arg("sample_ids") = std::vector<uint64_t>())
      .def("divide", &PyExecutor::divide, nb::arg("name"), nb::arg("data"))
      .def("run", &PyExecutor::run, nb::arg("inputs"), nb::arg("batch_size"), nb::arg("seeds"),
           nb::arg("single"))
      .def("run_plain", &PyExecutor::run_plain, nb::arg("input"), nb::arg("sample"),
           nb::arg("layout"))
      .def("skip", &PyExecutor::skip)
      .def("wait", &PyExecutor::wait)
      .def_prop_rw("holds", &PyExecutor::holds, &PyExecutor::set_holds)
      .def_prop_ro("begun", &PyExecutor::begun)
      .def_prop_ro("oldest", &PyExecutor::oldest)
      .def("take_bad_samples", &PyExecutor::take_bad_samples)
      .def("reader_meta", &PyExecutor::reader_meta, nb::arg("name"))
      .def("reader_shuffles", &PyExecutor::reader_shuffles, nb::arg("name"))
      .def("state", &PyExecutor::state)
      .def("restore", &PyExecutor::restore, nb::kw_only(), nb::arg("iterations"),
           nb::arg("samples"), nb::arg("sources"))
      .def_prop_ro("kept", &PyExecutor::kept)
      .def_prop_ro("merged_into", &PyExecutor::merged_into)
      .def_prop_rw("active_threads", &PyExecutor::active_threads, &PyExecutor::set_active_threads)
      .def("set_batches_ahead", &PyExecutor::set_batches_ahead, nb::arg("count"))
      .def("memory_statistics", &PyExecutor::memory_statistics)
      .def("measures", &PyExecutor::measures)
      .def("reset_maxima", &PyExecutor::reset_maxima)
      .def_prop_ro("trace_owner", &PyExecutor::trace_owner)
      .def("plan", &PyExecutor::plan)
      .def("reset", &PyExecutor::reset)
      .def("set_epoch_plan", &set_epoch_plan, nb::kw_only(), nb::arg("epoch"), nb::arg("size"),
           nb::arg("first"), nb::arg("shard"), nb::arg("num_shards"), nb::arg("count"),
           nb::arg("batch_size"), nb::arg("shuffle"), nb::arg("repeat"), nb::arg("seed"),
           nb::arg("bucket_by") = "", nb::arg("bucket_window") = 0, nb::arg("bucket_batch") = 1)
      .def("release_unused_memory", &PyExecutor::release_unused_memory)
      .def("cancel", &PyExecutor::cancel)
      .def("close", &PyExecutor::close)
      .def_prop_ro("iterations_taken", &PyExecutor::iterations_taken)
      .def_prop_ro("pending", &PyExecutor::pending);
}

}  // namespace torchdali
