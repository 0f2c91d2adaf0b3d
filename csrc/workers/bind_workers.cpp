// SPDX-License-Identifier: Apache-2.0
// torchdali._shm: boards and slabs for Python. A separate extension without torch, so that a worker
// process starts in a fraction of the time and memory that importing torch takes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workers/board.h"
#include "workers/parent.h"
#include "workers/slab.h"

namespace nb = nanobind;

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
  explicit Buffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0)
      throw nb::python_error();
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

void store(Slab& slab, int output, int sample, nb::handle array) {
  const Buffer buffer(array);
  check_ndim(buffer.view().ndim);
  const DType dtype = buffer.dtype();
  const std::vector<int64_t> shape = buffer.shape();
  const nb::gil_scoped_release release;
  slab.store(output, sample, dtype, shape, buffer.view().buf);
}

// Stores the samples of an array whose first axis is the batch.
void store_batch(Slab& slab, int output, nb::handle array) {
  const Buffer buffer(array);
  const std::vector<int64_t> shape = buffer.shape();
  TORCHDALI_CHECK(!shape.empty(), "a batch needs an axis for its samples, got a scalar");
  check_ndim(static_cast<int>(shape.size()) - 1);
  const DType dtype = buffer.dtype();
  const std::span<const int64_t> inner = std::span(shape).subspan(1);
  const size_t bytes = shape[0] == 0 ? 0 : static_cast<size_t>(buffer.view().len / shape[0]);
  const nb::gil_scoped_release release;
  for (int64_t i = 0; i < shape[0]; ++i)
    slab.store(output, static_cast<int>(i), dtype, inner,
               static_cast<const std::byte*>(buffer.view().buf) + i * bytes);
}

// Stores a buffer at an offset that the caller records.
uint64_t put(Slab& slab, nb::handle data) {
  const Buffer buffer(data);
  const nb::gil_scoped_release release;
  return slab.store(
      {static_cast<const std::byte*>(buffer.view().buf), static_cast<size_t>(buffer.view().len)});
}

nb::bytes to_python(std::span<const std::byte> bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

nb::str to_python(const std::string& text) { return nb::str(text.data(), text.size()); }

std::span<const std::byte> from_python(const nb::bytes& bytes) {
  return std::as_bytes(std::span(bytes.c_str(), bytes.size()));
}

template <Slab::Note kNote>
nb::bytes read_note(const Slab& slab) {
  return to_python(slab.read(kNote));
}

template <Slab::Note kNote>
void write_note(Slab& slab, const nb::bytes& note) {
  slab.write(kNote, from_python(note));
}

// What fail() was called with, by the sample.
nb::dict failures(const Slab& slab) {
  nb::dict found;
  for (int i = 0; i < slab.num_samples(); ++i)
    if (slab.has_failed(i)) found[nb::int_(i)] = to_python(slab.failure(i));
  return found;
}

// The unused slabs of the parent. The one that was used last is taken first. If a batch was much
// larger than those after it, the memory is freed, and so is that of slabs that were needed only
// while the user kept many batches.
class Slabs {
 public:
  std::shared_ptr<Slab> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return nullptr;
    auto slab = std::move(free_.back().slab);
    free_.pop_back();
    if (noted_ >= kWindow) slab->trim(std::max(recent_, before_));
    return slab;
  }
  void give_back(std::shared_ptr<Slab> slab) {
    const std::lock_guard lock(mutex_);
    free_.push_back({std::move(slab), noted_});
  }
  void release_unused() {
    const std::lock_guard lock(mutex_);
    for (const Free& one : free_) one.slab->trim(0);
  }
  // Called for each batch with the bytes that it used of its slab.
  void note_used(size_t bytes) {
    const std::lock_guard lock(mutex_);
    recent_ = std::max(recent_, bytes);
    if (++noted_ % kWindow != 0) return;
    for (const Free& one : free_)
      one.slab->trim(noted_ - one.since > kIdle ? 0 : std::max(recent_, before_));
    before_ = std::exchange(recent_, 0);
  }
  // Leases that exist, of all Slabs of the process.
  static inline std::atomic<int> num_leases{0};

 private:
  static constexpr uint64_t kWindow = 16;  // batches; memory that none of them used is freed
  static constexpr uint64_t kIdle = 128;   // batches; more than loops that collect batches keep
  struct Free {
    std::shared_ptr<Slab> slab;
    uint64_t since;  // noted_
  };
  std::mutex mutex_;  // tensors are destroyed on any thread
  std::vector<Free> free_;
  size_t recent_ = 0, before_ = 0;  // the largest use in this window, and in the one before
  uint64_t noted_ = 0;
};

// The memory of a finished slab, as a buffer. The slab can be reused when the lease and everything
// that was made of it is destroyed.
class Lease {
 public:
  Lease(std::shared_ptr<Slab> slab, std::shared_ptr<Slabs> home)
      : slab_(std::move(slab)), home_(std::move(home)) {
    ++Slabs::num_leases;
    home_->note_used(slab_->used());
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    --Slabs::num_leases;
    home_->give_back(std::move(slab_));
  }
  const std::shared_ptr<Slab>& slab() const { return slab_; }

 private:
  std::shared_ptr<Slab> slab_;
  std::shared_ptr<Slabs> home_;
};

// (dtype, shape, offset) of a sample, or of a batch: `outer` and the shape of its first sample.
nb::tuple describe_array(const SampleRecord& r, std::initializer_list<int> outer = {}) {
  const auto shape = nb::steal<nb::tuple>(PyTuple_New(std::ssize(outer) + r.ndim));
  if (!shape.is_valid()) throw nb::python_error();
  Py_ssize_t d = 0;
  const auto add = [&](int64_t n) {
    PyTuple_SetItem(shape.ptr(), d++, nb::cast(n).release().ptr());
  };
  for (const int n : outer) add(n);
  for (const int64_t n : std::span(r.shape, r.ndim)) add(n);
  return nb::make_tuple(static_cast<int>(r.dtype), shape, r.offset);
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
nb::object describe(const Slab& slab, int output) {
  const int count = slab.num_samples();
  if (count == 0) return nb::list();
  if (is_dense(slab, output, count)) return describe_array(slab.record(output, 0), {count});
  nb::list samples;
  for (int i = 0; i < count; ++i)
    samples.append(slab.has_failed(i) ? nb::object(nb::none())
                                      : describe_array(slab.record(output, i)));
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
  try {
    nb::dict details;
    if (!error.fix().empty()) details["fix"] = to_python(error.fix());
    const nb::object make = nb::module_::import_("torchdali.errors").attr("_from_engine");
    const nb::object exception = make(kName(error.kind()), to_python(error.message()), details);
    PyErr_SetObject(exception.type().ptr(), exception.ptr());
  } catch (const nb::python_error&) {  // there is no such module any more: Python shuts down
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

nb::object next_task(Board& board, int worker, int timeout_ms) {
  Task task;
  Board::Next result;
  {
    const nb::gil_scoped_release release;
    result = board.next(worker, timeout_ms, &task);
  }
  if (result == Board::Next::kTimeout) return nb::none();
  if (result == Board::Next::kClosed) return nb::bool_(false);
  return nb::cast(task);
}

const Slab* slab_of(const Slab* slab) { return slab; }
const Slab* slab_of(const Lease* lease) { return lease->slab().get(); }

// The buffer protocol: the memory of a slab as bytes that can be written.
template <typename T>
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const T* owner = nullptr;
  if (!nb::try_cast(nb::handle(self), owner)) {
    PyErr_SetString(PyExc_BufferError, "__init__() has not been called");
    return -1;
  }
  const Slab* slab = slab_of(owner);
  return PyBuffer_FillInfo(view, self, slab->data(), static_cast<Py_ssize_t>(slab->size()),
                           /*readonly=*/0, flags);
}

template <typename T>
const PyType_Slot kBufferSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer<T>)},
                                    {0, nullptr}};

}  // namespace
}  // namespace torchdali::workers

NB_MODULE(_shm, m) {
  namespace tw = torchdali::workers;
  m.doc() =
      "Shared memory between a pipeline and its worker processes; see docs/design/workers.md.";
  // A daemon thread that holds a batch when Python ends is not an error.
  nb::set_leak_warnings(false);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const torchdali::Error& e) {
      tw::raise_in_python(e);
    }
  });
  m.attr("MAX_DIMS") = torchdali::kMaxDims;  // of a sample
  m.def("end_with_parent", &tw::end_with_parent, nb::arg("parent"));
  nb::class_<tw::Task>(m, "Task")
      .def_ro("job", &tw::Task::job)
      .def_ro("index", &tw::Task::index)
      .def_prop_ro("source", [](const tw::Task& t) { return t.info.source; })
      .def_prop_ro("slab", [](const tw::Task& t) { return t.info.slab; })
      .def_prop_ro("num_tasks", [](const tw::Task& t) { return t.info.num_tasks; })
      .def_prop_ro("batch_size", [](const tw::Task& t) { return t.info.batch_size; })
      .def_prop_ro("iteration", [](const tw::Task& t) { return t.info.iteration; })
      .def_prop_ro("epoch", [](const tw::Task& t) { return t.info.epoch; });
  nb::class_<tw::Board>(m, "Board")
      .def(nb::init<>())
      .def(nb::init<int>(), nb::arg("fd"))
      .def_prop_ro("fd", &tw::Board::fd)
      .def_prop_ro("full", &tw::Board::full)
      .def(
          "post",
          [](tw::Board& b, int source, int worker, int slab, int num_tasks, int batch_size,
             int64_t iteration, int64_t epoch) {
            return b.post({source, worker, slab, num_tasks, batch_size, iteration, epoch});
          },
          nb::kw_only(), nb::arg("source"), nb::arg("worker"), nb::arg("slab"),
          nb::arg("num_tasks"), nb::arg("batch_size"), nb::arg("iteration"), nb::arg("epoch"))
      .def("complete", &tw::Board::complete, nb::arg("job"))
      .def("failed", &tw::Board::failed, nb::arg("job"))
      .def("cancel", &tw::Board::cancel, nb::arg("job"))
      .def("retire", &tw::Board::retire, nb::arg("job"))
      .def("want_message", &tw::Board::want_message)
      .def("close", &tw::Board::close)
      .def("next", &tw::next_task, nb::arg("worker"), nb::arg("timeout_ms"))
      .def("finish", &tw::Board::finish, nb::arg("task"), nb::arg("failed") = false);
  nb::class_<tw::Slab>(m, "Slab", nb::type_slots(tw::kBufferSlots<tw::Slab>))
      .def(nb::init<int, int, size_t>(), nb::arg("num_outputs"), nb::arg("max_samples"),
           nb::arg("bytes"))
      .def_static(
          "attach",
          [](int fd, int num_outputs, int max_samples) {
            return std::make_shared<tw::Slab>(tw::Slab::Descriptor{fd}, num_outputs, max_samples);
          },
          nb::arg("fd"), nb::arg("num_outputs"), nb::arg("max_samples"))
      .def_prop_ro("fd", &tw::Slab::fd)
      .def_prop_ro("size", &tw::Slab::size)
      .def_prop_rw("num_samples", &tw::Slab::num_samples, &tw::Slab::set_num_samples)
      .def("clear", &tw::Slab::clear)
      .def("mark_written", &tw::Slab::mark_written)
      .def("store", &tw::store, nb::arg("output"), nb::arg("sample"), nb::arg("array").none())
      .def("store_batch", &tw::store_batch, nb::arg("output"), nb::arg("array").none())
      .def("describe", &tw::describe, nb::arg("output"))
      .def(
          "fail",
          [](tw::Slab& s, int sample, const nb::bytes& why) {
            s.fail(sample, tw::from_python(why));
          },
          nb::arg("sample"), nb::arg("why"))
      .def("failures", &tw::failures)
      .def("put", &tw::put, nb::arg("data").none())
      .def(
          "allocate", [](tw::Slab& s, uint64_t bytes) { return s.allocate(bytes); },
          nb::arg("bytes"))
      .def_prop_rw("request", &tw::read_note<tw::Slab::kRequest>,
                   &tw::write_note<tw::Slab::kRequest>)
      .def_prop_rw("reply", &tw::read_note<tw::Slab::kReply>, &tw::write_note<tw::Slab::kReply>);
  nb::class_<tw::Slabs>(m, "Slabs")
      .def(nb::init<>())
      .def("take", &tw::Slabs::take)
      .def("give_back", &tw::Slabs::give_back, nb::arg("slab"))
      .def("release_unused", &tw::Slabs::release_unused);
  nb::class_<tw::Lease>(m, "Lease", nb::type_slots(tw::kBufferSlots<tw::Lease>))
      .def(nb::init<std::shared_ptr<tw::Slab>, std::shared_ptr<tw::Slabs>>(), nb::arg("slab"),
           nb::arg("home"))
      .def_prop_ro("slab", &tw::Lease::slab);
  m.def("num_leases", [] { return tw::Slabs::num_leases.load(); });
}
