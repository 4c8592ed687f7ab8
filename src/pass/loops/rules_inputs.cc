#include <algorithm>
#include <map>

#include "ir/edit/copy_nodes.h"
#include "ops/view/view.h"
#include "pass/loops/join_inputs.h"

namespace frazil::pass {
namespace {

class InputJoiner {
 public:
  explicit InputJoiner(const Graph& graph) : graph_(graph), uses_(graph.value_count()) {
    for (const NodeId n : graph.nodes()) {
      for (const Value v : graph.node(n).in) count(v);
    }
    for (std::uint32_t b = 0; b < graph.block_count(); ++b) {
      for (const Value v : graph.block(BlockId{b}).results) count(v);
    }
    for (const NodeId node : graph.main().nodes) {
      if (joins(graph.node(node))) joins_.push_back(node);
    }
  }

  std::optional<JoinedInputs> run() {
    if (joins_.empty() || !add_inputs() || !copy()) return std::nullopt;
    return std::move(made_);
  }

 private:
  void count(Value v) {
    if (v) ++uses_[v.id];
  }
  std::optional<std::uint32_t> param(Value v) const {
    const auto& params = graph_.main().params;
    const auto at = std::ranges::find(params, v);
    if (at == params.end()) return std::nullopt;
    return static_cast<std::uint32_t>(at - params.begin());
  }
  static std::int64_t axis_of(const Node& node) { return node.attributes<ops::ConcatAttrs>().axis; }
  static bool is_first(std::int64_t axis, const Type& type) {
    const auto rank = static_cast<std::int64_t>(type.rank());
    return rank > 0 && (axis == 0 || axis == -rank);
  }
  bool joins(const Node& node) const {
    if (node.op != &ops::Concat) return false;
    return std::ranges::all_of(node.in, [&](Value v) {
      return v && param(v) && uses_[v.id] == 1 && graph_.type(v).ranked && is_first(axis_of(node), graph_.type(v));
    });
  }

  bool add_inputs() {
    made_.graph.name = graph_.name;
    std::vector<bool> joined(graph_.main().params.size());
    for (const NodeId id : joins_) {
      for (const Value v : graph_.node(id).in) joined[*param(v)] = true;
    }
    for (std::uint32_t i = 0; i < joined.size(); ++i) {
      if (joined[i]) continue;
      const Value v = graph_.main().params[i];
      const auto type = copier_.type_of(v, main_);
      if (!type) return false;
      add(v, *type, {i});
    }
    for (const NodeId id : joins_) {
      const Node& node = graph_.node(id);
      std::vector<std::uint32_t> from;
      for (const Value v : node.in) from.push_back(*param(v));
      auto type = copier_.type_of(node.out[0], main_);
      if (!type) return false;
      type->shape[0] = main_.dim(fmt::format("joined{}", made_.from.size()), {.min = 0});
      add(node.out[0], std::move(*type), std::move(from));
    }
    return true;
  }
  void add(Value v, Type type, std::vector<std::uint32_t> from) {
    copier_.bind(v, main_.input(fmt::format("x{}", made_.from.size()), std::move(type)).value);
    made_.from.push_back(std::move(from));
  }

  bool copy() {
    for (const NodeId node : graph_.main().nodes) {
      if (std::ranges::find(joins_, node) == joins_.end() && !copier_.copy(node, main_)) return false;
    }
    for (std::size_t k = 0; k < graph_.main().results.size(); ++k) {
      main_.output(graph_.output_names()[k], {&main_, copier_.now(graph_.main().results[k])});
    }
    return main_.status().has_value();
  }

  const Graph& graph_;
  std::vector<std::uint32_t> uses_;  // by value
  std::vector<NodeId> joins_;
  JoinedInputs made_;
  Builder main_{made_.graph};
  NodeCopier copier_{graph_, made_.graph};
};

}  // namespace

std::optional<JoinedInputs> join_inputs(const Graph& graph) { return InputJoiner(graph).run(); }

}  // namespace frazil::pass
