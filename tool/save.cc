#include "tool/save.h"

#include <filesystem>
#include <map>

namespace frazil::tool {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

void save_tensor(const std::string& stem, const Array& tensor) {
  try {
    tensor.write_npy(stem + ".npy");
  } catch (const Error& error) {
    if (error.code() != Code::unsupported && tensor.dtype() != api::Dtype::string) throw;
    api::write_pb(tensor, stem + ".pb");
  }
}

void save_value(const std::string& stem, const std::string& suffix, const Array& value) {
  if (value.is_tensor()) return save_tensor(stem + suffix, value);
  if (value.kind() != Array::Kind::sequence) return api::write_pb(value, stem + suffix + ".pb");
  const std::vector<Array> items = value.items();
  for (std::size_t i = 0; i < items.size(); ++i) save_value(fmt::format("{}[{}]", stem, i), suffix, items[i]);
}

}  // namespace

std::string file_name_of(std::string_view output) {
  std::string name(output);
  for (char& c : name) {
    if (!is_plain(c)) c = '_';
  }
  return name;
}

OutputFolder OutputFolder::make(const std::string& path, std::span<const Port> ports) {
  OutputFolder folder;
  folder.path_ = path;
  std::map<std::string, std::string_view> owners;
  for (const Port& port : ports) {
    const std::string& name = port.name;
    folder.names_.push_back(file_name_of(name));
    const auto [at, fresh] = owners.emplace(folder.names_.back(), name);
    if (!fresh) {
      fail(Code::bad_input, "outputs '{}' and '{}' would both be written to '{}.npy'", at->second, name, at->first);
    }
  }
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || !std::filesystem::is_directory(path, error)) {
    fail(Code::bad_input, "--output-dir: cannot make the folder '{}'", path);
  }
  return folder;
}

void OutputFolder::save(std::span<const Array> outputs, std::optional<std::uint64_t> request) const {
  const std::string suffix = request ? fmt::format(".{}", *request) : "";
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    save_value((std::filesystem::path(path_) / names_[i]).string(), suffix, outputs[i]);
  }
}

}  // namespace frazil::tool
