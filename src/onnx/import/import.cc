#include "onnx/import/import.h"

#include <algorithm>
#include <filesystem>

#include "base/os/log.h"
#include "base/value/text.h"
#include "onnx/import/importer.h"
#include "onnx/read/external.h"
#include "onnx/read/guarded.h"

namespace frazil {
namespace {

/// Escapes line breaks from the file, because a fault is one line.
Result<Graph> one_line(Result<Graph> result) {
  if (!result) return std::unexpected(printable(std::move(result).error()));
  return result;
}

/// Runs part of an import.
template <class Work>
Result<Graph> guarded(const Work& work) {
  return onnx::guarded("importing the model", work);
}

Result<Graph> import_once(std::span<const std::byte> bytes, onnx::Source source, const ImportOptions& options,
                          bool& assumed) {
  const GraphMemory memory;
  return guarded([&]() -> Result<Graph> {
    onnx::Importer importer(std::move(source), options, bytes.size());
    Result<Graph> graph = importer.run(bytes);
    assumed = importer.assumed();
    if (graph) {
      for (const std::string& warning : importer.warnings()) logging::warn("load", warning);
    }
    return one_line(std::move(graph));
  });
}

Result<Graph> import_either_side(std::span<const std::byte> bytes, const onnx::Source& source,
                                 const ImportOptions& options) {
  bool assumed = false;
  auto graph = import_once(bytes, source, options, assumed);
  const auto tells_of_model = [](Code code) { return code == Code::bad_model || code == Code::unsupported; };
  if (graph || !assumed || !tells_of_model(graph.error().code)) return graph;
  // Branches of different ranks are typed under the assumption of one branch. This assumption did not type-check.
  ImportOptions other = options;
  other.assume_branches = !options.assume_branches;
  auto again = import_once(bytes, source, other, assumed);
  return again ? std::move(again) : std::move(graph);
}

Result<Graph> import_leniently(std::span<const std::byte> bytes, onnx::Source source, const ImportOptions& options) {
  auto graph = import_either_side(bytes, source, options);
  if (graph || !options.lenient || graph.error().code != Code::bad_model) return graph;
  source.own_extents = true;
  auto again = import_either_side(bytes, source, options);
  if (!again) return graph;
  logging::warn("load", fmt::format("the names of the inputs' extents contradict the nodes, and mean nothing: {}",
                                    graph.error().text()));
  return again;
}

}  // namespace

Result<Graph> import_onnx_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive,
                                std::string_view model_dir, const ImportOptions& options, std::string_view path) {
  return guarded([&]() -> Result<Graph> {
    const LoadScope scope(options.bounds(), "loading the model", bytes.size());
    if (options.check_file) FRAZIL_CHECK(options.check_file(FileKind::model, path, bytes));
    onnx::ExternalFiles files(std::string(model_dir), onnx::ExternalFiles::Links::inside, options.copies, options.files,
                              options.check_file);
    const onnx::Source source{.keep_alive = std::move(keep_alive),
                              .external = [&files](const ExternalRef& ref) { return files.load(ref); },
                              .max_name = options.limits.name_bytes,
                              .fixed = options.extents};
    return import_leniently(bytes, source, options);
  });
}

Result<Graph> import_onnx(std::shared_ptr<const MappedFile> file, const ImportOptions& options) {
  return guarded([&] {
    const std::filesystem::path folder = std::filesystem::path(file->path()).parent_path();
    const auto bytes = file->bytes();
    const std::string path = file->path();
    return import_onnx_bytes(bytes, std::move(file), folder.empty() ? "." : folder.native(), options, path);
  });
}

Result<Graph> import_onnx(const std::string& path, const ImportOptions& options) {
  return guarded([&]() -> Result<Graph> {
    FRAZIL_TRY(auto file, MappedFile::open(path, options.copies));
    auto graph = import_onnx(std::move(file), options);
    if (!graph) return within(path + ": ", std::move(graph).error());
    return graph;
  });
}

ProtoKind proto_kind(const Type& type) {
  switch (type.kind) {
    case Type::Kind::sequence: return ProtoKind::sequence;
    case Type::Kind::optional: return ProtoKind::optional;
    case Type::Kind::map: return ProtoKind::map;
    case Type::Kind::tensor: break;
  }
  return ProtoKind::tensor;
}

}  // namespace frazil
