// SPDX-License-Identifier: Apache-2.0
// Binds the stores of remote files: their options, and reading for torchdali.storage.
#include "io/storage/input_file.h"
#include "io/storage/remote_store.h"
#include "python/bind.h"
#include "python/storage/python_transport.h"

namespace torchdali {
namespace {

void set_storage(int retries, int concurrency, const nb::bytes& cache_dir, int64_t cache_bytes) {
  const io::RemoteOptions options{.retries = retries,
                                  .concurrency = concurrency,
                                  .cache_dir = text_of(cache_dir),
                                  .cache_bytes = cache_bytes};
  const nb::gil_scoped_release release;
  io::set_remote_store(io::make_remote_store(std::make_shared<PythonTransport>(), options),
                       concurrency);
}

// The old store is leaked: it may have been in use by threads that this process does not have.
void begin_storage_in_child(int retries, int concurrency, const nb::bytes& cache_dir,
                            int64_t cache_bytes) {
  new std::shared_ptr<io::RemoteStore>(io::remote_store());
  PythonTransport::begin_in_child();
  set_storage(retries, concurrency, cache_dir, cache_bytes);
}

// A file that is open for reading.
struct PyInputFile {
  explicit PyInputFile(const std::string& path) {
    const nb::gil_scoped_release release;
    file = io::open_input(path);
  }
  int64_t size() const {
    const nb::gil_scoped_release release;
    return file->size_bytes();
  }
  std::string version() const {
    const nb::gil_scoped_release release;
    return file->version();
  }
  nb::bytes read(int64_t offset, int64_t count) const {
    io::SharedBytes bytes;
    {
      const nb::gil_scoped_release release;
      bytes = file->read_shared(offset, count);
    }
    return nb::bytes(bytes.data.get(), static_cast<size_t>(bytes.size));
  }

  std::shared_ptr<const io::InputFile> file;
};

nb::list list(const std::string& folder) {
  std::vector<std::string> urls;
  {
    const nb::gil_scoped_release release;
    urls = io::remote_store()->list(folder);
  }
  return make_list(urls.size(), [&](size_t i) { return decode_path(urls[i]); });
}

}  // namespace

void bind_storage(nb::module_& m) {
  m.def("set_storage", &set_storage, nb::arg("retries"), nb::arg("concurrency"),
        nb::arg("cache_dir"), nb::arg("cache_bytes"));
  m.def("begin_storage_in_child", &begin_storage_in_child, nb::arg("retries"),
        nb::arg("concurrency"), nb::arg("cache_dir"), nb::arg("cache_bytes"));
  nb::class_<PyInputFile>(m, "InputFile")
      .def("__init__", [](PyInputFile* self,
                          const nb::str& path) { new (self) PyInputFile(encode_text(path)); })
      .def("size", &PyInputFile::size)
      .def("version", &PyInputFile::version)
      .def("read", &PyInputFile::read, nb::arg("offset"), nb::arg("count"));
  m.def(
      "storage_list", [](const nb::str& folder) { return list(encode_text(folder)); },
      nb::arg("folder"));
  // Called before the interpreter ends; registered first, so after pipelines are closed.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    const nb::gil_scoped_release release;
    PythonTransport::shut_down();
  }));
}

}  // namespace torchdali
