#include "api/load.h"

#include <filesystem>
#include <fstream>

#include "exec/package/package.h"

namespace frazil::api {

Result<Graph> load_file(const std::string& path, const ImportOptions& options) {
  std::string first(32, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  if (!exec::is_package(first)) return import_onnx(path, options);
  const LoadScope scope(options.bounds(), "loading the package", std::filesystem::file_size(path));
  FRAZIL_TRY(exec::Package package, exec::open_package(path, options.copies));
  return std::move(package.graph);
}

}  // namespace frazil::api
