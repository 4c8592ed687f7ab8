#include "tool/pipeline_facts.h"

#include <algorithm>
#include <filesystem>

#include "server/config/yaml.h"
#include "tool/error.h"

namespace frazil::tool {
namespace {

namespace fs = std::filesystem;
using govern::BillPipeline, server::YamlNode;

void add_once(auto& list, auto item, const auto& is_same) {
  if (std::ranges::none_of(list, is_same)) list.push_back(std::move(item));
}

void add_model(BillPipeline& to, const std::string& text) {
  const std::size_t slash = text.find('/');
  BillPipeline::Model model{.name = text.substr(0, slash),
                            .version = slash == std::string::npos ? "" : text.substr(slash + 1)};
  add_once(to.models, model,
           [&](const auto& other) { return other.name == model.name && other.version == model.version; });
}

void add_endpoint(BillPipeline& to, const char* kind, const YamlNode& step, const char* key) {
  const auto url = step.is_map() ? step.find(key) : std::nullopt;
  if (!url || !url->is_scalar()) return;
  const BillPipeline::Endpoint endpoint{.kind = kind, .url = url->text()};
  add_once(to.endpoints, endpoint,
           [&](const auto& other) { return other.kind == endpoint.kind && other.url == endpoint.url; });
}

/// Adds the file of a function in Python.
void add_code(BillPipeline& to, const YamlNode& step) {
  const auto python = step.is_map() ? step.find("python") : std::nullopt;
  if (!python || !python->is_scalar()) return;
  const std::string file = fs::path(python->text()).lexically_normal().generic_string();
  add_once(to.code, file, [&](const std::string& other) { return other == file; });
}

/// Adds what a part of a pipeline calls. Steps nest at any place of the document.
void collect(const YamlNode& node, BillPipeline& to) {
  if (node.is_list()) {
    for (const YamlNode& item : node.items()) collect(item, to);
  }
  if (!node.is_map()) return;
  for (const auto& [key, value] : node.entries()) {
    if (key == "model" && value.is_scalar()) add_model(to, value.text());
    if (key == "http") add_endpoint(to, "http", value, "url");
    if (key == "features") add_endpoint(to, "redis", value, "redis");
    if (key == "code") add_code(to, value);
    collect(value, to);
  }
}

}  // namespace

std::vector<BillPipeline> pipelines_of(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->is_regular_file() && at->path().extension() == ".yaml") files.push_back(at->path().filename().string());
  }
  if (error) fail(Code::bad_input, "folder '{}': {}", folder, error.message());
  std::ranges::sort(files);
  std::vector<BillPipeline> pipelines;
  for (const std::string& file : files) {
    BillPipeline pipeline{.name = fs::path(file).stem().string(), .file = file};
    collect(server::read_yaml((fs::path(folder) / file).string()).at("steps"), pipeline);
    pipelines.push_back(std::move(pipeline));
  }
  return pipelines;
}

}  // namespace frazil::tool
