#include "onnx/export/names.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/limits/limits.h"
#include "base/value/hash.h"
#include "base/value/text.h"

namespace frazil::onnx {

std::string fitting(std::string name) {
  static const std::size_t most = LoadLimits{}.name_bytes;
  if (!is_utf8(name)) name = printable(name);
  if (name.size() <= most) return name;
  const std::string tail = fmt::format("_{:016x}", Hasher().add(name).value());
  std::size_t kept = 0;
  for (std::size_t at = 0; at <= most - tail.size(); (void)next_code_point(name, at)) kept = at;
  return name.substr(0, kept) + tail;
}

std::string UniqueNames::like(const std::string& as_wanted) {
  const std::string wanted = fitting(as_wanted);
  if (take(wanted)) return wanted;
  for (std::size_t& number = numbers_[wanted];;) {
    std::string name = fitting(fmt::format("{}_{}", wanted, ++number));
    if (take(name)) return name;
  }
}

WrittenNames::WrittenNames(const Graph& graph, const ModelInfo::Call& call) : graph_(graph), call_(&call) {
  for (const auto* names : {&call.inputs, &call.outputs}) {
    for (const auto& [in_graph, in_function] : *names) values_.take(in_function);
  }
}

bool WrittenNames::is_inner(const std::string& name) const {
  return call_ != nullptr && name.size() > call_->name.size() + 1 && name.starts_with(call_->name) &&
         name[call_->name.size()] == '/';
}

std::string WrittenNames::inner(const std::string& name) const {
  return is_inner(name) ? name.substr(call_->name.size() + 1) : name;
}

const std::string& WrittenNames::of(Value v) {
  if (!has(v) && call_ != nullptr) assign_known_name(v, call_->outputs);
  return assign_name(v, inner(graph_.value_name(v)));
}

const std::string& WrittenNames::assign_name(Value v, const std::string& wanted) {
  auto [it, fresh] = names_.try_emplace(v.id);
  if (!fresh) return it->second;
  const std::size_t number = call_ == nullptr ? v.id : names_.size();
  return it->second = values_.like(wanted.empty() ? fmt::format("v{}", number) : wanted);
}

bool WrittenNames::assign_known_name(Value v, const ModelInfo::Call::Names& names) {
  const std::string* known = name_in_function(names, graph_.value_name(v));
  return known != nullptr && known_.insert(*known).second && names_.try_emplace(v.id, *known).second;
}

void WrittenNames::assign_input_name(Value v) {
  if (!assign_known_name(v, call_->inputs)) assign_name(v, fmt::format("input_{}", ++inputs_));
}

std::string WrittenNames::node(const std::string& wanted) {
  return wanted.empty() ? wanted : nodes_.like(inner(wanted));
}

const std::string* name_in_function(const ModelInfo::Call::Names& names, const std::string& in_graph) {
  if (in_graph.empty()) return nullptr;
  const auto it = std::ranges::find(names, in_graph, &std::pair<std::string, std::string>::first);
  return it == names.end() ? nullptr : &it->second;
}

}  // namespace frazil::onnx
