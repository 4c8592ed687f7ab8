#include "tool/stream.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include <nlohmann/json.hpp>

#include "tool/common.h"

namespace frazil::tool {

Result<Stream> Stream::open(const ValueSource& source, const std::string& path) {
  Stream stream;
  stream.source_ = &source;
  FRAZIL_CHECK(take_standard_input(path, "--stream"));
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
    return fail(Code::bad_input, "--stream: cannot read '{}'", path);
  }
  stream.in_ = std::move(file);
  return stream;
}

Result<std::optional<Stream::Inputs>> Stream::next() {
  std::string line;
  while (std::getline(*in_, line)) {
    ++line_;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto inputs = parse(line);
    if (!inputs) return within(fmt::format("{}, line {}: ", name_, line_), std::move(inputs).error());
    ++request_;
    return std::move(*inputs);
  }
  if (in_->bad()) return fail(Code::bad_input, "{}: cannot read after line {}", name_, line_);
  return std::nullopt;
}

Result<Stream::Inputs> Stream::parse(const std::string& line) {
  std::set<std::string> names;
  std::optional<std::string> twice;
  const auto note = [&](int depth, nlohmann::json::parse_event_t event, const nlohmann::json& key) {
    const bool name = depth == 1 && event == nlohmann::json::parse_event_t::key;
    if (name && !names.insert(key.get<std::string>()).second) twice = key.get<std::string>();
    return true;
  };
  const auto json = nlohmann::json::parse(line, note, false);
  if (json.is_discarded()) return fail(Code::bad_input, "not JSON");
  if (twice) return fail(Code::bad_input, "input '{}' is given twice", *twice);
  if (!json.is_object()) return fail(Code::bad_input, "expected a JSON object of input name to value");
  Inputs inputs;
  for (const auto& [name, value] : json.items()) {
    FRAZIL_TRY(const std::size_t input, source_->find_input(name));
    if (!value.is_string()) return fail(Code::bad_input, "input '{}': expected a string, as \"1x3\" or \"=1\"", name);
    auto spec = parse_spec(value.get_ref<const std::string&>());
    if (!spec) return within(fmt::format("input '{}': ", name), std::move(spec).error());
    FRAZIL_TRY(Datum datum, source_->make(input, *spec, folder_, request_));
    inputs.emplace_back(input, std::move(datum));
  }
  return inputs;
}

}  // namespace frazil::tool
