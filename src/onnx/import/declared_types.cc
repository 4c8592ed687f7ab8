#include "onnx/import/declared_types.h"

#include <algorithm>

#include "base/limits/load_scope.h"
#include "onnx/import/warn.h"

namespace frazil::onnx {
namespace {

/// Returns whether no value can have both types.
bool contradict(const Type& a, const Type& b) {
  if (a.kind != b.kind) return true;
  if (!a.is_tensor()) return a.item && b.item && contradict(*a.item, *b.item);
  if (a.elem != b.elem) return true;
  if (!a.ranked || !b.ranked) return false;
  return !std::ranges::equal(a.shape, b.shape, [](Dim x, Dim y) { return !x.is_const() || !y.is_const() || x == y; });
}

}  // namespace

Status read_declared(const std::vector<Bytes>& value_infos, std::map<std::string_view, Bytes>& types) {
  for (const Bytes bytes : value_infos) {
    FRAZIL_TRY(const ValueInfo info, read_value_info(bytes));
    if (info.type && !info.name.empty()) types.emplace(info.name, *info.type);
  }
  return {};
}

void DeclaredTypes::add(Value value, std::string name, Bytes type) {
  declared_.push_back({value, std::move(name), type});
  count_graph_bytes(sizeof(Declared) + declared_.back().name.size());
}

DeclaredTypes::Contradictions DeclaredTypes::contradictions(const Graph& graph, const Source& source) const {
  constexpr std::size_t kTold = 3;
  Contradictions found;
  for (const Declared& declared : declared_) {
    Graph scratch;
    Builder builder(scratch);
    const auto type = read_type(declared.type, builder, "said", source);
    if (!type || !contradict(*type, graph.type(declared.value))) continue;
    if (++found.count > kTold) continue;
    found.first.push_back(fmt::format("value '{}': declared as {}, inferred as {}", proto::shown(declared.name),
                                      str(*type, scratch.scope()), str(graph.type(declared.value), graph.scope())));
  }
  return found;
}

void DeclaredTypes::compare(const Graph& graph, const Source& source, std::vector<std::string>& warnings) const {
  if (!graph.assumptions().empty()) return;
  const auto [first, count] = contradictions(graph, source);
  for (const std::string& text : first) warn(warnings, "{}", text);
  if (count > first.size()) {
    warn(warnings, "and {} more values whose declared types differ from the inferred ones", count - first.size());
  }
}

Fault DeclaredTypes::explain(Fault fault, const Graph& graph, const Source& source) const {
  if (fault.code != Code::bad_model || !graph.assumptions().empty()) return fault;
  const Contradictions found = contradictions(graph, source);
  if (found.count > 0) fault.message += "; " + found.first[0];
  return fault;
}

}  // namespace frazil::onnx
