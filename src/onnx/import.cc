#include "onnx/import.h"

#include <exception>
#include <filesystem>
#include <new>

#include "onnx/external.h"
#include "onnx/importer.h"

namespace frazil {
namespace {

/// Texts of the file may hold line breaks; a fault is one line.
Result<Graph> one_line(Result<Graph> result) {
  if (result) return result;
  for (char& c : result.error().message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return result;
}

/// Runs an import; whatever is thrown on damaged bytes or for want of memory becomes a fault.
Result<Graph> guarded(std::span<const std::byte> bytes, onnx::Source source, const ImportOptions& options,
                      bool& assumed) {
  try {
    onnx::Importer importer(std::move(source), options);
    Result<Graph> graph = importer.run(bytes);
    assumed = importer.assumed();
    return graph;
  } catch (const protozero::exception&) {
    return fail(Code::bad_model, "the model is damaged or cut short");
  } catch (const std::bad_alloc&) {
    return fail(Code::out_of_memory, "out of memory while importing the model");
  } catch (const std::exception& e) {
    return fail(Code::internal, "while importing the model: {}", e.what());
  }
}

}  // namespace

Result<Graph> import_onnx_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive,
                                std::string_view model_dir, const ImportOptions& options) {
  onnx::ExternalFiles files{std::string(model_dir)};
  onnx::Source source{.keep_alive = std::move(keep_alive),
                      .external = [&files](const ExternalRef& ref) { return files.load(ref); },
                      .max_sparse_bytes = options.max_sparse_bytes,
                      .max_name = options.max_name};
  bool assumed = false;
  auto graph = guarded(bytes, source, options, assumed);
  if (graph || !assumed) return graph;
  // Branches of different ranks are typed one side at a time, and this side did not work out.
  ImportOptions other = options;
  other.assume_branches = !options.assume_branches;
  auto again = guarded(bytes, std::move(source), other, assumed);
  return again ? std::move(again) : std::move(graph);
}

Result<Graph> import_onnx(std::shared_ptr<const MappedFile> file, const ImportOptions& options) {
  const std::filesystem::path folder = std::filesystem::path(file->path()).parent_path();
  const auto bytes = file->bytes();
  return import_onnx_bytes(bytes, std::move(file), folder.empty() ? "." : folder.native(), options);
}

Result<Graph> import_onnx(const std::string& path, const ImportOptions& options) {
  FRAZIL_TRY(auto file, MappedFile::open(path));
  return import_onnx(std::move(file), options);
}

}  // namespace frazil
