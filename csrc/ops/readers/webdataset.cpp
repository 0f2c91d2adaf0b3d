// SPDX-License-Identifier: Apache-2.0
// fn.readers.webdataset: samples of tar archives, each of several files with the same key.
#include <algorithm>
#include <span>

#include "io/records/index_kinds.h"
#include "io/records/tar.h"
#include "io/records/webdataset_index.h"
#include "ops/readers/index_texts.h"
#include "ops/readers/record_reader.h"

namespace torchdali {
namespace {

using Strings = std::vector<std::string>;

enum class MissingComponent : int8_t { kEmpty, kSkip, kError };

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// The extensions that each output takes.
class ExtensionGroups {
 public:
  ExtensionGroups(const Strings& groups, bool case_sensitive) : case_sensitive_(case_sensitive) {
    for (const std::string& group : groups) {
      Strings& extensions = groups_.emplace_back();
      for (size_t begin = 0; begin <= group.size();) {
        const size_t end = std::min(group.find(';', begin), group.size());
        if (end > begin) extensions.push_back(adapt(group.substr(begin, end - begin)));
        begin = end + 1;
      }
      TORCHDALI_CHECK(!extensions.empty(), "`ext` has \"", group, "\", which has no extension",
                      to_fix("give one extension or more, as \"jpg;png\""));
    }
  }

  size_t size() const { return groups_.size(); }
  const Strings& operator[](size_t output) const { return groups_[output]; }
  // For matches().
  std::string adapt(std::string_view extension) const {
    return case_sensitive_ ? std::string(extension) : lower_case(extension);
  }
  bool matches(size_t output, const std::string& adapted) const {
    const Strings& group = groups_[output];
    return std::find(group.begin(), group.end(), adapted) != group.end();
  }

 private:
  bool case_sensitive_;
  std::vector<Strings> groups_;
};

// A component of a sample as an output: a part of the sample's record. A missing one has no size.
struct Component {
  int64_t offset = 0;
  int64_t size = -1;
};

// What is in the records of one archive.
struct ArchiveSamples {
  std::vector<Component> components;  // of each record as many as there are outputs
  std::string names;                  // of the first component of each record
  std::vector<size_t> name_ends;

  void shrink_to_fit() {
    components.shrink_to_fit();
    names.shrink_to_fit();
    name_ends.shrink_to_fit();
  }
};

class WebdatasetReader final : public RecordReader {
 public:
  explicit WebdatasetReader(const OpSpec& spec)
      : RecordReader(spec),
        files_(spec, "paths", "index_paths"),
        extensions_(spec.get<Strings>("ext"), spec.get<bool>("case_sensitive_extensions")),
        types_(extensions_.size(), DType::kUInt8),
        missing_(missing_component(spec.get<std::string>("missing_component_behavior"))) {
    TORCHDALI_CHECK(extensions_.size() > 0, "`ext` is an empty list, expected one output or more");
    TORCHDALI_CHECK(files_.index_paths.empty() || files_.index_paths.size() == files_.paths.size(),
                    "`index_paths` has ", files_.index_paths.size(),
                    " files, expected one for each of ", files_.paths.size(), " archives");
    if (spec.has("dtypes")) types_ = spec.get<std::vector<DType>>("dtypes");
    TORCHDALI_CHECK(types_.size() == extensions_.size(), "`dtypes` has ", types_.size(),
                    " types, expected one for each of ", extensions_.size(), " outputs of `ext`");
    TORCHDALI_CHECK(std::find(types_.begin(), types_.end(), DType::kBool) == types_.end(),
                    "`dtypes` has bool, which the bytes of a file are not",
                    to_fix("read uint8 and convert it with fn.cast"));
    if (!spec.get<bool>("lazy_init")) prepare();
  }

  void run(SampleContext& ctx) const override {
    const Component* const own = components(records().at(index_of(ctx)));
    const SampleBytes bytes = record_bytes(ctx);
    bytes.parts(ctx, bytes.in_memory(), [&](const SampleParts& parts) {
      for (size_t i = 0; i < types_.size(); ++i) {
        const Component& component = own[i];
        if (component.size >= 0) check(component, i, parts);
        const int64_t size = std::max<int64_t>(component.size, 0);
        const SampleView& out =
            ctx.output(static_cast<int>(i), types_[i], Shape{size / itemsize(types_[i])});
        parts.copy(out.data, size, component.offset);
      }
    });
  }

 private:
  static MissingComponent missing_component(const std::string& behavior) {
    const std::string name = lower_case(behavior);
    if (name.empty() || name == "empty") return MissingComponent::kEmpty;
    if (name == "skip") return MissingComponent::kSkip;
    TORCHDALI_CHECK(name == "error", "`missing_component_behavior` is \"", behavior,
                    "\", expected \"empty\", \"skip\" or \"error\"");
    return MissingComponent::kError;
  }

  void check(const Component& component, size_t output, const SampleParts& parts) const {
    const DType type = types_[output];
    TORCHDALI_CHECK_KIND(kData, component.size % itemsize(type) == 0, "the component for \"",
                         extensions_[output].front(), "\" has ", component.size,
                         " bytes, which are not a multiple of ", itemsize(type), ", the size of ",
                         dtype_name(type), to_fix("give another type in `dtypes`"));
    if (files_.index_paths.empty()) return;  // the index was made from the headers
    io::TarHeader header;
    parts.copy(header.data(), io::kTarBlock, component.offset - io::kTarBlock);
    const std::string problem = io::tar_header_problem(header, component.size);
    TORCHDALI_CHECK_KIND(
        kData, problem.empty(), "the index does not fit the archive: it has ", component.size,
        " bytes for \"", extensions_[output].front(), "\", but before them ", problem,
        to_fix("leave out `index_paths`, or make the index again with `python -m torchdali.index "
               "webdataset`; those of wds2idx are wrong for names of more than 100 bytes"));
  }

  io::RecordIndex find_records() override {
    const std::vector<int64_t> sizes = files_.sizes();
    archives_.resize(sizes.size());
    const auto read = [&](size_t i, const std::string& text, io::RecordIndex& shard) {
      io::parse_webdataset_index(text, files_.index_name(i), sizes[i],
                                 [&](std::span<const io::WebdatasetComponent> components) {
                                   add_sample(files_.paths[i], components, archives_[i], shard);
                                 });
      archives_[i].shrink_to_fit();
    };
    return read_record_indexes(files_, io::find_index_kind("webdataset"), read);
  }

  void add_sample(const std::string& path, std::span<const io::WebdatasetComponent> files,
                  ArchiveSamples& samples, io::RecordIndex& shard) const {
    const size_t outputs = types_.size();
    std::vector<const io::WebdatasetComponent*> found(outputs);
    for (const io::WebdatasetComponent& file : files) {
      const std::string extension = extensions_.adapt(file.extension);
      for (size_t i = 0; i < outputs; ++i)
        if (found[i] == nullptr && extensions_.matches(i, extension)) found[i] = &file;
    }
    const io::WebdatasetComponent* first = nullptr;
    // The record begins with a header.
    int64_t from = files.front().offset - io::kTarBlock, end = from;
    for (size_t i = 0; i < outputs; ++i) {
      if (found[i] == nullptr) {
        if (missing_ == MissingComponent::kSkip) return;
        TORCHDALI_CHECK_KIND(kData, missing_ == MissingComponent::kEmpty, "\"", path,
                             "\": the sample of \"", files.front().name, "\" at byte ",
                             files.front().offset, " has no component for \"",
                             extensions_[i].front(), '"',
                             to_fix("`missing_component_behavior` can be \"empty\" or \"skip\""));
        continue;
      }
      const int64_t header = found[i]->offset - io::kTarBlock;
      from = first == nullptr ? header : std::min(from, header);
      end = std::max(end, found[i]->offset + found[i]->size);
      if (first == nullptr) first = found[i];
    }
    for (const io::WebdatasetComponent* file : found) {
      Component& component = samples.components.emplace_back();
      if (file != nullptr) component = {file->offset - from, file->size};
    }
    shard.add(from, first == nullptr ? 0 : end - from);
    samples.names += first == nullptr ? files.front().name : first->name;
    samples.name_ends.push_back(samples.names.size());
  }

  // As many as there are outputs.
  const Component* components(const io::RecordIndex::Record& record) const {
    const auto& all = archives_[static_cast<size_t>(record.shard)].components;
    return all.data() + static_cast<size_t>(record.number) * types_.size();
  }

  // As DALI's source_info: "PATH:OFFSET:NAME", of its first component.
  void append_name(int64_t index, std::string& text) const override {
    const auto record = records().at(index);
    const ArchiveSamples& archive = archives_[static_cast<size_t>(record.shard)];
    const auto i = static_cast<size_t>(record.number);
    const std::span own(components(record), types_.size());
    const auto first = std::find_if(own.begin(), own.end(), [](auto& c) { return c.size >= 0; });
    const int64_t offset = first == own.end() ? io::kTarBlock : first->offset;
    const size_t begin = i == 0 ? 0 : archive.name_ends[i - 1];
    text += str_cat(records().path(record.shard), ':', record.offset + offset, ':',
                    std::string_view(archive.names).substr(begin, archive.name_ends[i] - begin));
  }

  const IndexedFiles files_;
  const ExtensionGroups extensions_;
  std::vector<DType> types_;  // of the outputs
  const MissingComponent missing_;
  std::vector<ArchiveSamples> archives_;
};

TORCHDALI_OPERATOR("readers.webdataset")
    .doc(
        "Reads samples of tar archives in the format of webdataset.\n\n"
        "A sample is a group of files that follow one another in an archive and have the same "
        "key: the name up to the first dot after the last slash. The rest of the name is the "
        "extension, by which `ext` selects the component for each output. Directories, links and "
        "hidden files are left out. If several files have an extension of the same output, the "
        "first is taken.\n\n"
        "Archives may be in ustar, pax or GNU format, but not compressed. The reader never ends: "
        "an epoch is followed by the next one.")
    .output("data", "Contents of the components, one output for each entry of `ext`.")
    .num_outputs([](const OpSpec& spec) {
      return static_cast<int>(spec.get<std::vector<std::string>>("ext").size());
    })
    .required_arg("paths", ArgType::kStringVec, "Paths or URLs of the archives.")
    .required_arg("ext", ArgType::kStringVec,
                  "Extensions, one entry for each output. An entry may have alternatives: "
                  "\"jpg;jpeg;png\".")
    .arg("case_sensitive_extensions", true, "Upper and lower case differ in extensions.")
    .optional_arg("index_paths", ArgType::kStringVec,
                  "Paths or URLs of the archives' indexes, one for each, made with `python -m "
                  "torchdali.index webdataset` or DALI's wds2idx (versions 1.1 and 1.2). By "
                  "default an index is made and kept in the user's cache.")
    .optional_arg("dtypes", ArgType::kDTypeVec,
                  "Element types of the outputs, one for each, uint8 by default. The bytes are "
                  "taken as they are, so their number must be a multiple of the type's size.")
    .arg("missing_component_behavior", "",
         "What happens to a sample without a component for each output: \"empty\" (the default) "
         "returns an empty tensor for it, \"skip\" leaves out the sample, \"error\" raises an "
         "error.")
    .with(reader_args)
    .with([](SchemaBuilder& schema) {
      bucket_args(schema, "\"size\": the bytes of a sample in the archive.");
    })
    .cpu<WebdatasetReader>();

}  // namespace
}  // namespace torchdali
