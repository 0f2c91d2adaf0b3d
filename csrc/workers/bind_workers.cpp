// SPDX-License-Identifier: Apache-2.0
// torchdali._shm: boards and slabs for Python. A separate extension without torch, so that a worker
// process starts in a fraction of the time and memory that importing torch takes.
#include <pybind11/pybind11.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "workers/board.h"
#include "workers/parent.h"
#include "workers/slab.h"

namespace py = pybind11;

namespace torchdali::workers {
namespace {

// The element type of a buffer's format; kNone if DALI has none.
DType parse_format(const char* format) {
  if (format == nullptr) return DType::kUInt8;
  if (*format == '=' || *format == '@' || *format == '<' || *format == '|') ++format;
  if (format[0] == '\0' || format[1] != '\0') return DType::kNone;
  switch (*format) {
    case '?': return DType::kBool;
    case 'b': return DType::kInt8;
    case 'B': return DType::kUInt8;
    case 'h': return DType::kInt16;
    case 'H': return DType::kUInt16;
    case 'i': return DType::kInt32;
    case 'I': return DType::kUInt32;
    case 'l':
    case 'q': return DType::kInt64;
    case 'L':
    case 'Q': return DType::kUInt64;
    case 'e': return DType::kFloat16;
    case 'f': return DType::kFloat;
    case 'd': return DType::kFloat64;
    default: return DType::kNone;
  }
}

// A C-contiguous buffer of an object.
class Buffer {
 public:
  explicit Buffer(const py::handle& object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0)
      throw py::error_already_set();
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { PyBuffer_Release(&view_); }
  const Py_buffer& view() const { return view_; }
  DType dtype() const {
    const DType t = parse_format(view_.format);
    TORCHDALI_CHECK_KIND(kType, t != DType::kNone && itemsize(t) == view_.itemsize,
                         "DALI has no element type for an array of format \"",
                         view_.format == nullptr ? "" : view_.format, "\"");
    return t;
  }
  std::vector<int64_t> shape() const { return {view_.shape, view_.shape + view_.ndim}; }

 private:
  Py_buffer view_{};
};

void check_ndim(int ndim) {
  TORCHDALI_CHECK(ndim <= kMaxDims, "a sample has at most ", kMaxDims, " dimensions, got ", ndim);
}

void store(Slab& slab, int output, int sample, const py::object& array) {
  const Buffer buffer(array);
  check_ndim(buffer.view().ndim);
  const DType dtype = buffer.dtype();
  const std::vector<int64_t> shape = buffer.shape();
  const py::gil_scoped_release release;
  copy_to_shared(slab.allocate(output, sample, dtype, shape), buffer.view().buf,
                 static_cast<size_t>(buffer.view().len));
}

// Stores the samples of an array whose first axis is the batch.
void store_batch(Slab& slab, int output, const py::object& array) {
  const Buffer buffer(array);
  const std::vector<int64_t> shape = buffer.shape();
  TORCHDALI_CHECK(!shape.empty(), "a batch needs an axis for its samples, got a scalar");
  check_ndim(static_cast<int>(shape.size()) - 1);
  const DType dtype = buffer.dtype();
  const std::span<const int64_t> inner = std::span(shape).subspan(1);
  const size_t bytes = shape[0] == 0 ? 0 : static_cast<size_t>(buffer.view().len / shape[0]);
  const py::gil_scoped_release release;
  for (int64_t i = 0; i < shape[0]; ++i)
    copy_to_shared(slab.allocate(output, static_cast<int>(i), dtype, inner),
                   static_cast<const std::byte*>(buffer.view().buf) + i * bytes, bytes);
}

// Stores a buffer at an offset that the caller records.
uint64_t put(Slab& slab, const py::object& data) {
  const Buffer buffer(data);
  const py::gil_scoped_release release;
  const uint64_t offset = slab.allocate(static_cast<uint64_t>(buffer.view().len));
  copy_to_shared(slab.data() + offset, buffer.view().buf, static_cast<size_t>(buffer.view().len));
  return offset;
}

py::bytes to_python(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> from_python(const py::bytes& bytes) {
  return std::as_bytes(std::span(std::string_view(bytes)));
}

template <Slab::Note kNote>
py::bytes read_note(const Slab& slab) {
  return to_python(slab.read(kNote));
}

template <Slab::Note kNote>
void write_note(Slab& slab, const py::bytes& note) {
  slab.write(kNote, from_python(note));
}

// What fail() was called with, by the sample.
py::dict failures(const Slab& slab) {
  py::dict found;
  for (int i = 0; i < slab.num_samples(); ++i)
    if (slab.has_failed(i)) found[py::int_(i)] = to_python(slab.failure(i));
  return found;
}

// The unused slabs of the parent. If a batch was much larger than those after it, the memory is
// freed.
class Slabs {
 public:
  std::shared_ptr<Slab> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return nullptr;
    auto slab = std::move(free_.back());
    free_.pop_back();
    if (noted_ >= kWindow) slab->trim(std::max(recent_, before_));
    return slab;
  }
  void give_back(std::shared_ptr<Slab> slab) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(slab));
  }
  // Called for each batch with the bytes that it used of its slab.
  void note_used(size_t bytes) {
    const std::lock_guard lock(mutex_);
    recent_ = std::max(recent_, bytes);
    if (++noted_ % kWindow != 0) return;
    for (const auto& slab : free_) slab->trim(std::max(recent_, before_));
    before_ = std::exchange(recent_, 0);
  }
  // Leases that exist.
  std::atomic<int> num_leased{0};

 private:
  static constexpr uint64_t kWindow = 16;  // batches; memory that none of them used is freed
  std::mutex mutex_;                       // tensors are destroyed on any thread
  std::vector<std::shared_ptr<Slab>> free_;
  size_t recent_ = 0, before_ = 0;  // the largest use in this window, and in the one before
  uint64_t noted_ = 0;
};

// The memory of a finished slab, as a buffer. The slab can be reused when the lease and everything
// that was made of it is destroyed.
class Lease {
 public:
  Lease(std::shared_ptr<Slab> slab, std::shared_ptr<Slabs> home)
      : slab_(std::move(slab)), home_(std::move(home)) {
    ++home_->num_leased;
    home_->note_used(slab_->used());
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    --home_->num_leased;
    home_->give_back(std::move(slab_));
  }
  const std::shared_ptr<Slab>& slab() const { return slab_; }
  // The number of leases from the same Slabs.
  int num_leased() const { return home_->num_leased; }

 private:
  std::shared_ptr<Slab> slab_;
  std::shared_ptr<Slabs> home_;
};

py::tuple describe_sample(const SampleRecord& r) {
  py::tuple shape(r.ndim);
  for (int d = 0; d < r.ndim; ++d) shape[d] = r.shape[d];
  return py::make_tuple(static_cast<int>(r.dtype), shape, r.offset);
}

// Whether the samples of an output are next to each other, like one array.
bool is_dense(const Slab& slab, int output, int count) {
  for (int i = 0; i < count; ++i)
    if (slab.has_failed(i)) return false;
  const SampleRecord& first = slab.record(output, 0);
  uint64_t bytes = itemsize(first.dtype);
  for (int d = 0; d < first.ndim; ++d) bytes *= first.shape[d];
  for (int i = 1; i < count; ++i) {
    const SampleRecord& r = slab.record(output, i);
    if (r.dtype != first.dtype || r.ndim != first.ndim ||
        !std::equal(first.shape, first.shape + first.ndim, r.shape) ||
        r.offset != first.offset + bytes * i)
      return false;
  }
  return true;
}

// (dtype, shape, offset) of one output: of the whole batch if its samples are one array, otherwise
// a list with one tuple per sample, None for those that failed.
py::object describe(const Slab& slab, int output) {
  const int count = slab.num_samples();
  if (count == 0) return py::list();
  if (is_dense(slab, output, count)) {
    const SampleRecord& first = slab.record(output, 0);
    py::tuple shape(first.ndim + 1);
    shape[0] = count;
    for (int d = 0; d < first.ndim; ++d) shape[d + 1] = first.shape[d];
    return py::make_tuple(static_cast<int>(first.dtype), shape, first.offset);
  }
  py::list samples;
  for (int i = 0; i < count; ++i)
    samples.append(slab.has_failed(i) ? py::object(py::none())
                                      : describe_sample(slab.record(output, i)));
  return samples;
}

// Errors become the exceptions of torchdali/errors.py, as those of the engine do.
void raise_in_python(const Error& error) {
  constexpr auto kName = [](ErrorKind kind) {
    switch (kind) {
      case ErrorKind::kRuntime: return "runtime";
      case ErrorKind::kValue: return "value";
      case ErrorKind::kType: return "type";
      default: return "internal";
    }
  };
  py::dict details;
  if (!error.fix().empty()) details["fix"] = error.fix();
  const py::object make = py::module_::import("torchdali.errors").attr("_from_engine");
  const py::object exception = make(kName(error.kind()), error.message(), details);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
}

py::object next_task(Board& board, int worker, int timeout_ms) {
  Task task;
  Board::Next result;
  {
    const py::gil_scoped_release release;
    result = board.next(worker, timeout_ms, &task);
  }
  if (result == Board::Next::kTimeout) return py::none();
  if (result == Board::Next::kClosed) return py::bool_(false);
  return py::cast(task);
}

}  // namespace
}  // namespace torchdali::workers

PYBIND11_MODULE(_shm, m) {
  namespace tw = torchdali::workers;
  m.doc() =
      "Shared memory between a pipeline and its worker processes; see docs/design/workers.md.";
  // NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11's signature
  py::register_local_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const torchdali::Error& e) {
      tw::raise_in_python(e);
    }
  });
  m.attr("MAX_DIMS") = torchdali::kMaxDims;  // of a sample
  m.def("end_with_parent", &tw::end_with_parent, py::arg("parent"));
  py::class_<tw::Task>(m, "Task")
      .def_readonly("job", &tw::Task::job)
      .def_readonly("index", &tw::Task::index)
      .def_property_readonly("source", [](const tw::Task& t) { return t.info.source; })
      .def_property_readonly("slab", [](const tw::Task& t) { return t.info.slab; })
      .def_property_readonly("num_tasks", [](const tw::Task& t) { return t.info.num_tasks; })
      .def_property_readonly("batch_size", [](const tw::Task& t) { return t.info.batch_size; })
      .def_property_readonly("iteration", [](const tw::Task& t) { return t.info.iteration; })
      .def_property_readonly("epoch", [](const tw::Task& t) { return t.info.epoch; });
  py::class_<tw::Board>(m, "Board")
      .def(py::init<>())
      .def(py::init<int>(), py::arg("fd"))
      .def_property_readonly("fd", &tw::Board::fd)
      .def_property_readonly("full", &tw::Board::full)
      .def(
          "post",
          [](tw::Board& b, int source, int worker, int slab, int num_tasks, int batch_size,
             int64_t iteration, int64_t epoch) {
            return b.post({source, worker, slab, num_tasks, batch_size, iteration, epoch});
          },
          py::kw_only(), py::arg("source"), py::arg("worker"), py::arg("slab"),
          py::arg("num_tasks"), py::arg("batch_size"), py::arg("iteration"), py::arg("epoch"))
      .def("complete", &tw::Board::complete, py::arg("job"))
      .def("failed", &tw::Board::failed, py::arg("job"))
      .def("cancel", &tw::Board::cancel, py::arg("job"))
      .def("retire", &tw::Board::retire, py::arg("job"))
      .def("want_message", &tw::Board::want_message)
      .def("close", &tw::Board::close)
      .def("next", &tw::next_task, py::arg("worker"), py::arg("timeout_ms"))
      .def("finish", &tw::Board::finish, py::arg("task"), py::arg("failed") = false);
  const auto memory = [](const tw::Slab& slab) {
    return py::buffer_info(slab.data(), 1, "B", 1, {static_cast<py::ssize_t>(slab.size())}, {1});
  };
  py::class_<tw::Slab, std::shared_ptr<tw::Slab>>(m, "Slab", py::buffer_protocol())
      .def(py::init<int, int, size_t>(), py::arg("num_outputs"), py::arg("max_samples"),
           py::arg("bytes"))
      .def_static(
          "attach",
          [](int fd, int num_outputs, int max_samples) {
            return std::make_shared<tw::Slab>(tw::Slab::Descriptor{fd}, num_outputs, max_samples);
          },
          py::arg("fd"), py::arg("num_outputs"), py::arg("max_samples"))
      .def_property_readonly("fd", &tw::Slab::fd)
      .def_property_readonly("size", &tw::Slab::size)
      .def_property("num_samples", &tw::Slab::num_samples, &tw::Slab::set_num_samples)
      .def("clear", &tw::Slab::clear)
      .def("mark_written", &tw::Slab::mark_written)
      .def("store", &tw::store, py::arg("output"), py::arg("sample"), py::arg("array"))
      .def("store_batch", &tw::store_batch, py::arg("output"), py::arg("array"))
      .def("describe", &tw::describe, py::arg("output"))
      .def(
          "fail",
          [](tw::Slab& s, int sample, const py::bytes& why) {
            s.fail(sample, tw::from_python(why));
          },
          py::arg("sample"), py::arg("why"))
      .def("failures", &tw::failures)
      .def("put", &tw::put, py::arg("data"))
      .def(
          "allocate", [](tw::Slab& s, uint64_t bytes) { return s.allocate(bytes); },
          py::arg("bytes"))
      .def_buffer(memory)
      .def_property("request", &tw::read_note<tw::Slab::kRequest>,
                    &tw::write_note<tw::Slab::kRequest>)
      .def_property("reply", &tw::read_note<tw::Slab::kReply>, &tw::write_note<tw::Slab::kReply>);
  py::class_<tw::Slabs, std::shared_ptr<tw::Slabs>>(m, "Slabs")
      .def(py::init<>())
      .def("take", &tw::Slabs::take)
      .def("give_back", &tw::Slabs::give_back, py::arg("slab"));
  py::class_<tw::Lease>(m, "Lease", py::buffer_protocol())
      .def(py::init<std::shared_ptr<tw::Slab>, std::shared_ptr<tw::Slabs>>(), py::arg("slab"),
           py::arg("home"))
      .def_property_readonly("slab", &tw::Lease::slab)
      .def_property_readonly("num_leased", &tw::Lease::num_leased)
      .def_buffer([memory](const tw::Lease& lease) { return memory(*lease.slab()); });
}
