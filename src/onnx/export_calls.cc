#include "onnx/export_calls.h"

#include <algorithm>
#include <optional>

#include "ir/op.h"
#include "onnx/export_fields.h"
#include "onnx/export_names.h"

namespace frazil::onnx {
namespace {

constexpr std::uint32_t kResult = ~0u;  ///< the place of what reads a block's results

/// Where nodes stand in their blocks, and the last place that reads a value in the block that makes it.
class Places {
 public:
  explicit Places(const Graph& graph) : graph_(graph), at_(graph.node_count()), last_use_(graph.value_count()) {
    for (std::uint32_t b = 0; b < graph.block_count(); ++b) {
      const auto& nodes = graph.block(BlockId{b}).nodes;
      for (std::uint32_t k = 0; k < nodes.size(); ++k) {
        at_[nodes[k].id] = k;
        by_stable_.emplace_back(graph.node(nodes[k]).stable, nodes[k]);
      }
    }
    std::ranges::sort(by_stable_);
    for (std::uint32_t b = 0; b < graph.block_count(); ++b) note_uses(BlockId{b});
  }

  std::optional<WholeCall> whole(const ModelInfo::Call& call) const {
    WholeCall found{.call = &call, .first = {}, .last = {}, .outputs = {}};
    std::size_t count = 0;
    BlockId block{};
    for (auto it = std::ranges::lower_bound(by_stable_, call.first, {}, &Stable::first);
         it != by_stable_.end() && it->first < call.last; ++it) {
      const NodeId id = it->second, owner = graph_.block(graph_.node(id).parent).owner;
      if (owner && covers(call, owner)) continue;
      if (count++ == 0) {
        block = graph_.node(id).parent;
        found.first = found.last = id;
      }
      if (graph_.node(id).parent != block) return std::nullopt;
      if (at_[id.id] < at_[found.first.id]) found.first = id;
      if (at_[id.id] > at_[found.last.id]) found.last = id;
    }
    if (count == 0 || at_[found.last.id] - at_[found.first.id] + 1 != count) return std::nullopt;
    find_outputs(found);
    return found;
  }

 private:
  using Stable = std::pair<std::uint32_t, NodeId>;

  bool covers(const ModelInfo::Call& call, NodeId id) const {
    return graph_.node(id).stable >= call.first && graph_.node(id).stable < call.last;
  }

  void note_uses(BlockId block) {
    for (const NodeId id : graph_.block(block).nodes) {
      for (const Value v : graph_.node(id).in) note_use(v, block, at_[id.id]);
    }
    for (const Value v : graph_.block(block).results) note_use(v, block, kResult);
  }

  void note_use(Value v, BlockId block, std::uint32_t place) {
    const auto home = v ? graph_.block_of(v) : std::nullopt;
    if (!home) return;
    while (block != *home) {
      const NodeId owner = graph_.block(block).owner;
      place = at_[owner.id];
      block = graph_.node(owner).parent;
    }
    last_use_[v.id] = std::max(last_use_[v.id], place);
  }

  void find_outputs(WholeCall& found) const {
    const auto& nodes = graph_.block(graph_.node(found.first).parent).nodes;
    const auto& known = found.call->outputs;
    for (std::uint32_t k = at_[found.first.id]; k <= at_[found.last.id]; ++k) {
      for (const Value v : graph_.node(nodes[k]).out) {
        if (!v) continue;
        const bool read = last_use_[v.id] > at_[found.last.id];
        if (read || name_in_function(known, graph_.value_name(v)) != nullptr) found.outputs.push_back(v);
      }
    }
    sort_known_first(graph_, known, found.outputs);
  }

  const Graph& graph_;
  std::vector<std::uint32_t> at_, last_use_;
  std::vector<Stable> by_stable_;
};

bool is_operator(const ModelInfo::Function& f) { return OpRegistry::global().find(f.domain, f.name) != nullptr; }

}  // namespace

WholeCalls whole_calls(const Graph& graph) {
  WholeCalls calls;
  if (!graph.info || graph.info->calls.empty()) return calls;
  const Places places(graph);
  for (const ModelInfo::Call& call : graph.info->calls) {
    if (is_operator(graph.info->functions[call.function])) continue;
    if (auto whole = places.whole(call)) calls[whole->first.id].push_back(std::move(*whole));
  }
  return calls;
}

bool made_in(const Graph& graph, const ModelInfo::Call& call, Value v) {
  const ValueDef& def = graph.def(v);
  if (def.kind == ValueDef::Kind::constant) return false;
  const NodeId maker = def.kind == ValueDef::Kind::node ? NodeId{def.owner} : graph.block(BlockId{def.owner}).owner;
  return maker && graph.node(maker).stable >= call.first && graph.node(maker).stable < call.last;
}

void sort_known_first(const Graph& graph, const ModelInfo::Call::Names& names, std::vector<Value>& values) {
  std::ranges::stable_sort(values, {}, [&](Value v) {
    return std::ranges::find(names, graph.value_name(v), &std::pair<std::string, std::string>::first) - names.begin();
  });
}

FunctionProtos::FunctionProtos(const Graph& graph) {
  if (!graph.info) return;
  for (const ModelInfo::Function& f : graph.info->functions) taken_.emplace(f.domain, f.name, f.overload);
}

std::string FunctionProtos::add(const ModelInfo::Function& function, std::string body) {
  auto& known = bodies_[{function.domain, function.name, function.overload}];
  const auto it = std::ranges::find(known, body, &std::pair<std::string, std::string>::first);
  if (it != known.end()) return it->second;
  const std::string name = known.empty() ? function.name : free_name(function);
  std::string& proto = protos_.emplace_back(body);
  Writer writer(proto);
  add_text(writer, 1, name);
  add_text(writer, 10, function.domain);
  add_text(writer, 13, function.overload);
  known.emplace_back(std::move(body), name);
  return name;
}

std::string FunctionProtos::free_name(const ModelInfo::Function& function) {
  for (int k = 2;; ++k) {
    std::string name = fmt::format("{}_{}", function.name, k);
    if (taken_.emplace(function.domain, name, function.overload).second) return name;
  }
}

}  // namespace frazil::onnx
