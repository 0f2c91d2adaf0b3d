// SPDX-License-Identifier: Apache-2.0
// Tables of torchdali/_sources/tables/ for the readers.
#include <utility>

#include "io/tables/table.h"
#include "python/bind.h"

namespace torchdali {
namespace {

// The error that a Python exception becomes. The caller holds the GIL.
Error to_error(nb::python_error& e) {
  const nb::object value = nb::borrow(e.value());
  const nb::object facts =
      nb::module_::import_("torchdali._sources.tables").attr("facts_of_error")(value);
  const auto [is_file, message, fix] = nb::cast<std::tuple<bool, std::string, std::string>>(facts);
  Error error(is_file ? ErrorKind::kFile : ErrorKind::kData, message, fix);
  error.set_cause(keep_alive(value));
  return error;
}

template <class Call>
auto with_gil(Call&& call) {
  const nb::gil_scoped_acquire gil;
  try {
    return call();
  } catch (nb::python_error& e) {
    throw to_error(e);
  }
}

template <class Struct>
Struct* from_capsule(nb::handle capsule, const char* name) {
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), name);
  if (pointer == nullptr) throw nb::python_error();
  return static_cast<Struct*>(pointer);
}

class PyTable final : public io::Table {
 public:
  // The caller holds the GIL.
  explicit PyTable(const nb::object& table) : table_(keep_alive(table)) {}

  io::TableFacts facts() override {
    return with_gil([&] {
      io::TableFacts facts;
      facts.chunk_rows = nb::cast<std::vector<int64_t>>(table().attr("chunk_rows"));
      for (const auto name : nb::object(table().attr("chunk_names")))
        facts.chunk_names.push_back(encode_text(name));
      facts.first_rows = nb::cast<std::vector<int64_t>>(table().attr("first_rows"));
      facts.rows = nb::cast<std::vector<int64_t>>(table().attr("rows"));
      return facts;
    });
  }

  std::shared_ptr<const io::ArrowChunk> load(int64_t chunk) override {
    return with_gil([&] {
      const auto loaded = nb::cast<nb::tuple>(table().attr("load")(chunk));
      const auto capsules = nb::cast<nb::tuple>(nb::object(loaded[0]));
      auto* schema = from_capsule<io::ArrowSchema>(capsules[0], "arrow_schema");
      auto* array = from_capsule<io::ArrowArray>(capsules[1], "arrow_array");
      return std::make_shared<const io::ArrowChunk>(*schema, *array,
                                                    nb::cast<int64_t>(nb::object(loaded[1])));
    });
  }

 private:
  nb::object table() const { return nb::borrow(static_cast<PyObject*>(table_.get())); }

  const std::shared_ptr<void> table_;
};

class PyTableOpener final : public io::TableOpener {
 public:
  std::unique_ptr<io::Table> open_parquet(const ParquetOptions& options) override {
    return with_gil([&] {
      const auto to_paths = [](const std::vector<std::string>& texts) {
        return make_list(texts.size(), [&](size_t i) { return decode_path(texts[i]); });
      };
      return std::make_unique<PyTable>(
          open("parquet_table")(to_paths(options.paths), to_paths(options.columns),
                                decode_path(options.row_cache), options.most_bytes));
    });
  }

  std::unique_ptr<io::Table> open_object(const std::shared_ptr<void>& table,
                                         const std::vector<std::string>& columns) override {
    return with_gil([&] {
      const nb::object object = nb::borrow(static_cast<PyObject*>(table.get()));
      const nb::list names =
          make_list(columns.size(), [&](size_t i) { return decode_path(columns[i]); });
      return std::make_unique<PyTable>(open("object_table")(object, names));
    });
  }

 private:
  static nb::object open(const char* function) {
    return nb::module_::import_("torchdali._sources.tables").attr(function);
  }
};

}  // namespace

void bind_tables(nb::module_& /*m*/) { io::set_table_opener(std::make_unique<PyTableOpener>()); }

}  // namespace torchdali
