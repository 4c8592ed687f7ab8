#include "server/model/canary.h"

#include <algorithm>
#include <filesystem>

namespace frazil::server {
namespace {

namespace fs = std::filesystem;
using api::Array;
using api::Port;

/// Reads a value. The file of an optional value may also have the type of its element.
Array read_stored_value(const fs::path& file, const Port& port) {
  if (!port.type.starts_with("opt<")) return Array::read_pb(file, port.kind);
  try {
    return Array::read_pb(file, Array::Kind::none);
  } catch (const api::Error&) {
    return Array::read_pb(file, port.kind);
  }
}

/// Reads STEM_0.pb, STEM_1.pb, ...; a missing file gives an empty value.
std::vector<Array> read_values(const fs::path& folder, const std::string& stem, const std::vector<Port>& ports) {
  const auto file_of = [&](std::size_t i) { return folder / (stem + "_" + std::to_string(i) + ".pb"); };
  std::vector<Array> values(ports.size());
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (fs::exists(file_of(i))) values[i] = read_stored_value(file_of(i), ports[i]);
  }
  if (fs::exists(file_of(ports.size()))) {
    throw CanaryFault(file_of(ports.size()).string() + ": the model has " + std::to_string(ports.size()) + " " + stem +
                      "s");
  }
  return values;
}

Canary read_canary(const fs::path& folder, const api::Model& model) try {
  Canary canary{.name = folder.filename(),
                .inputs = read_values(folder, "input", model.inputs()),
                .wanted = read_values(folder, "output", model.outputs())};
  if (std::ranges::all_of(canary.wanted, &Array::empty)) {
    throw CanaryFault(folder.string() + ": there is no output_0.pb that results could be compared with");
  }
  return canary;
} catch (const fs::filesystem_error& error) {
  throw CanaryFault(error.what());
} catch (const CanaryFault&) {
  throw;
} catch (const api::Error& error) {
  throw CanaryFault(error.what());
}

}  // namespace

std::vector<Canary> read_canaries(const std::string& folder, const api::Model& model) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code none;
    if (at->is_directory(none)) folders.push_back(at->path());
  }
  if (error) throw CanaryFault(folder + ": " + error.message());
  std::ranges::sort(folders);
  if (folders.empty()) folders.emplace_back(folder);
  std::vector<Canary> canaries;
  for (const fs::path& one : folders) canaries.push_back(read_canary(one, model));
  return canaries;
}

void check_canary(const Canary& canary, const api::Model& model, std::span<const Array> results,
                  const Tolerance& tolerance, std::string_view how) {
  for (std::size_t i = 0; i < canary.wanted.size(); ++i) {
    if (canary.wanted[i].empty()) continue;
    const auto what = api::difference(results[i], canary.wanted[i], tolerance.relative, tolerance.absolute);
    if (!what) continue;
    throw CanaryFault("canary '" + canary.name + "'" + std::string(how) + ": output '" + model.outputs()[i].name +
                      "': " + *what);
  }
}

}  // namespace frazil::server
