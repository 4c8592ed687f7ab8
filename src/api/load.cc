#include "api/load.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <span>

#include "base/os/io.h"
#include "exec/package/package.h"

namespace frazil::api {

namespace {

/// Reads a model from a pipe, which cannot be mapped. The model has no folder, and so no external data.
Result<Graph> load_pipe(const std::string& path, const ImportOptions& options) {
  FRAZIL_TRY(std::string bytes, read_file(path, options.limits.memory_bytes));
  const auto held = std::make_shared<const std::string>(std::move(bytes));
  auto graph = import_onnx_bytes(std::as_bytes(std::span(*held)), held, {}, options);
  if (!graph) return within(path + ": ", std::move(graph).error());
  return graph;
}

}  // namespace

Result<Graph> load_file(const std::string& path, const ImportOptions& options) {
  std::error_code none;
  if (std::filesystem::is_fifo(path, none)) return load_pipe(path, options);
  std::string first(32, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  if (!exec::is_package(first)) return import_onnx(path, options);
  const LoadScope scope(options.bounds(), "loading the package", std::filesystem::file_size(path));
  FRAZIL_TRY(exec::Package package, exec::open_package(path, options.copies, options.check_file));
  return std::move(package.graph);
}

}  // namespace frazil::api
