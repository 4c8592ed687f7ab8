#include "onnx/export_names.h"

#include <algorithm>

#include <fmt/format.h>

namespace frazil::onnx {

WrittenNames::WrittenNames(const Graph& graph, const ModelInfo::Call& call) : graph_(graph), call_(&call) {
  for (const auto* names : {&call.inputs, &call.outputs}) {
    for (const auto& [in_graph, in_function] : *names) taken_.insert(in_function);
  }
}

std::string WrittenNames::inner(const std::string& name) const {
  const bool ours = call_ != nullptr && name.size() > call_->name.size() + 1 && name.starts_with(call_->name) &&
                    name[call_->name.size()] == '/';
  return ours ? name.substr(call_->name.size() + 1) : name;
}

const std::string& WrittenNames::of(Value v) {
  if (!has(v) && call_ != nullptr) give_known(v, call_->outputs);
  return give(v, inner(graph_.value_name(v)));
}

const std::string& WrittenNames::give(Value v, const std::string& wanted) {
  auto [it, fresh] = names_.try_emplace(v.id);
  if (!fresh) return it->second;
  const std::size_t number = call_ == nullptr ? v.id : names_.size();
  std::string name = wanted.empty() ? fmt::format("v{}", number) : wanted;
  for (int k = 1; !take(name); ++k) name = fmt::format("{}_{}", wanted.empty() ? "v" : wanted, k);
  return it->second = std::move(name);
}

bool WrittenNames::give_known(Value v, const ModelInfo::Call::Names& names) {
  const std::string* known = name_in_function(names, graph_.value_name(v));
  return known != nullptr && known_.insert(*known).second && names_.try_emplace(v.id, *known).second;
}

void WrittenNames::give_input(Value v) {
  if (!give_known(v, call_->inputs)) give(v, fmt::format("input_{}", ++inputs_));
}

std::string WrittenNames::node(const std::string& wanted) {
  if (wanted.empty()) return wanted;
  const std::string own = inner(wanted);
  std::string name = own;
  for (int k = 1; !taken_nodes_.insert(name).second; ++k) name = fmt::format("{}_{}", own, k);
  return name;
}

const std::string* name_in_function(const ModelInfo::Call::Names& names, const std::string& in_graph) {
  if (in_graph.empty()) return nullptr;
  const auto it = std::ranges::find(names, in_graph, &std::pair<std::string, std::string>::first);
  return it == names.end() ? nullptr : &it->second;
}

}  // namespace frazil::onnx
