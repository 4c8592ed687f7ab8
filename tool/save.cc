#include "tool/save.h"

#include <filesystem>
#include <map>

#include "base/os/io.h"
#include "tensor/npy.h"
#include "tensor/onnx_proto.h"

namespace frazil::tool {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

Status save_tensor(const std::string& stem, const Tensor& tensor) {
  if (auto npy = npy_to_bytes(tensor)) return write_file(stem + ".npy", *npy);
  FRAZIL_TRY(const std::string bytes, tensor_to_proto(tensor));
  return write_file(stem + ".pb", bytes);
}

Status save_value(const std::string& stem, const std::string& suffix, const Datum& value) {
  if (value.is_tensor()) return save_tensor(stem + suffix, value.tensor());
  if (value.is_sequence()) {
    const auto& items = value.sequence().items;
    for (std::size_t i = 0; i < items.size(); ++i) {
      FRAZIL_CHECK(save_value(fmt::format("{}[{}]", stem, i), suffix, items[i]));
    }
    return {};
  }
  FRAZIL_TRY(const std::string bytes, datum_to_proto(value.is_map() ? ProtoKind::map : ProtoKind::optional, value));
  return write_file(stem + suffix + ".pb", bytes);
}

}  // namespace

std::string file_name_of(std::string_view output) {
  std::string name(output);
  for (char& c : name) {
    if (!is_plain(c)) c = '_';
  }
  return name;
}

Result<OutputFolder> OutputFolder::make(const std::string& path, std::span<const std::string> names) {
  OutputFolder folder;
  folder.path_ = path;
  std::map<std::string, std::string_view> owners;
  for (const std::string& name : names) {
    folder.names_.push_back(file_name_of(name));
    const auto [at, fresh] = owners.emplace(folder.names_.back(), name);
    if (!fresh) {
      return fail(Code::bad_input, "outputs '{}' and '{}' would both be written to '{}.npy'", at->second, name,
                  at->first);
    }
  }
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || !std::filesystem::is_directory(path, error)) {
    return fail(Code::bad_input, "--output-dir: cannot make the folder '{}'", path);
  }
  return folder;
}

Status OutputFolder::save(std::span<const Datum> outputs, std::optional<std::uint64_t> request) const {
  const std::string suffix = request ? fmt::format(".{}", *request) : "";
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    FRAZIL_CHECK(save_value((std::filesystem::path(path_) / names_[i]).string(), suffix, outputs[i]));
  }
  return {};
}

}  // namespace frazil::tool
