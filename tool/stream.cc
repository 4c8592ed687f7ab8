#include "tool/stream.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include <nlohmann/json.hpp>

#include "tool/common.h"

namespace frazil::tool {

Stream Stream::open(const ValueSource& source, const std::string& path) {
  Stream stream;
  stream.source_ = &source;
  take_standard_input(path, "--stream");
  if (path == "-") {
    stream.name_ = "stdin";
    stream.in_ = std::shared_ptr<std::istream>(&std::cin, [](std::istream*) {});
    return stream;
  }
  stream.name_ = path;
  stream.folder_ = std::filesystem::path(path).parent_path();
  auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
  std::error_code ignored;
  if (!*file || std::filesystem::is_directory(path, ignored)) {
    fail(Code::bad_input, "--stream: cannot read '{}'", path);
  }
  stream.in_ = std::move(file);
  return stream;
}

std::optional<Stream::Inputs> Stream::next() {
  std::string line;
  while (std::getline(*in_, line)) {
    ++line_;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto inputs = within(fmt::format("{}, line {}: ", name_, line_), [&] { return parse(line); });
    ++request_;
    return inputs;
  }
  if (in_->bad()) fail(Code::bad_input, "{}: cannot read after line {}", name_, line_);
  return std::nullopt;
}

Stream::Inputs Stream::parse(const std::string& line) {
  std::set<std::string> names;
  std::optional<std::string> twice;
  const auto note = [&](int depth, nlohmann::json::parse_event_t event, const nlohmann::json& key) {
    const bool name = depth == 1 && event == nlohmann::json::parse_event_t::key;
    if (name && !names.insert(key.get<std::string>()).second) twice = key.get<std::string>();
    return true;
  };
  const auto json = nlohmann::json::parse(line, note, false);
  if (json.is_discarded()) fail(Code::bad_input, "not JSON");
  if (twice) fail(Code::bad_input, "input '{}' is given twice", *twice);
  if (!json.is_object()) fail(Code::bad_input, "expected a JSON object of input name to value");
  Inputs inputs;
  for (const auto& [name, value] : json.items()) {
    const std::size_t input = source_->find_input(name);
    if (!value.is_string()) fail(Code::bad_input, "input '{}': expected a string, as \"1x3\" or \"=1\"", name);
    const Spec spec =
        within(fmt::format("input '{}': ", name), [&] { return parse_spec(value.get_ref<const std::string&>()); });
    inputs.emplace_back(input, source_->make(input, spec, folder_, request_));
  }
  return inputs;
}

}  // namespace frazil::tool
