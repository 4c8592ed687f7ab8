#include "govern/report/selections.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "govern/base/digest.h"

namespace frazil::govern {
namespace {

using ModelNode = api::GraphView::Node;

constexpr std::size_t kMostComparisons = 64, kMostShownElements = 8, kMostConstantNodes = 256;

/// A node that selects, and the positions of the operands that decide.
struct SelectorRow {
  const char* op;
  std::vector<std::size_t> operands;
};
const std::vector<SelectorRow>& selector_rows() {
  static const std::vector<SelectorRow> rows = {{"If", {0}},       {"Where", {0}},  {"Loop", {0, 1}},
                                                {"Compress", {1}}, {"Gather", {1}}, {"GatherElements", {1}},
                                                {"GatherND", {1}}};
  return rows;
}

const SelectorRow* selector_row(const ModelNode& node) {
  if (!node.domain.empty()) return nullptr;
  const auto row = std::ranges::find_if(selector_rows(), [&](const SelectorRow& one) { return node.op == one.op; });
  return row == selector_rows().end() ? nullptr : &*row;
}

bool compares(const ModelNode& node) {
  static const std::set<std::string, std::less<>> ops = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"};
  return node.domain.empty() && ops.contains(node.op) && node.inputs.size() == 2 && node.inputs[0] && node.inputs[1];
}

/// The comparisons of inputs with constants, by number in order, and which of them reach each value.
class Comparisons {
 public:
  explicit Comparisons(const InputFlow& flow) : flow_(flow), reach_(flow.graph().value_count()) {
    for (const ModelNode& node : flow.nodes()) {
      if (compares(node) && constant_side(node)) numbers_.emplace(node.outputs.at(0), &node);
    }
    while (sweep()) {
    }
  }

  Json selections() const {
    Json list = Json::array();
    for (const ModelNode& node : flow_.nodes()) {
      const SelectorRow* const row = selector_row(node);
      if (row == nullptr) continue;
      const std::vector<std::uint32_t> deciding = operands_of(node, *row);
      Reach reach;
      BitSet inputs;
      for (const std::uint32_t value : deciding) {
        merge(reach, reach_[value]);
        inputs.join(flow_.of_value(value));
      }
      if (!reach.empty()) list.push_back(selection(node, reach, inputs));
    }
    return list;
  }

 private:
  /// The outputs of comparisons, sorted: at most one more than are listed.
  using Reach = std::vector<std::uint32_t>;

  static bool merge(Reach& to, const Reach& from) {
    if (from.empty() || std::ranges::includes(to, from)) return false;
    Reach both;
    std::ranges::set_union(to, from, std::back_inserter(both));
    if (both.size() > kMostComparisons + 1) both.resize(kMostComparisons + 1);
    const bool changed = both != to;
    to = std::move(both);
    return changed;
  }

  /// Returns the operand that depends on no input if the other one depends on some.
  std::optional<std::size_t> constant_side(const ModelNode& node) const {
    const bool first = flow_.of_value(*node.inputs[0]).empty(), second = flow_.of_value(*node.inputs[1]).empty();
    if (first == second) return std::nullopt;
    return first ? 0 : 1;
  }

  std::vector<std::uint32_t> operands_of(const ModelNode& node, const SelectorRow& row) const {
    std::vector<std::uint32_t> values;
    for (const std::size_t i : row.operands) {
      if (i < node.inputs.size() && node.inputs[i]) values.push_back(*node.inputs[i]);
    }
    if (node.op == "Loop" && !flow_.block(node.bodies.at(0)).results.empty()) {
      values.push_back(flow_.block(node.bodies[0]).results[0]);
    }
    return values;
  }

  bool sweep() {
    bool grew = false;
    for (const ModelNode& node : flow_.nodes()) {
      if (!node.outputs.empty() && numbers_.contains(node.outputs[0])) {
        grew |= merge(reach_[node.outputs[0]], {node.outputs[0]});
        continue;
      }
      Reach set;
      const SelectorRow* const row = selector_row(node);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const bool decides = row != nullptr && std::ranges::find(row->operands, i) != row->operands.end();
        if (node.inputs[i] && !decides) merge(set, reach_[*node.inputs[i]]);
      }
      for (const std::uint32_t body : node.bodies) grew |= pass(body, set);
      for (const std::uint32_t out : node.outputs) grew |= merge(reach_[out], set);
    }
    return grew;
  }

  /// Passes what reaches a node to the parameters of a body, and adds what its results have.
  bool pass(std::uint32_t body, Reach& set) {
    bool grew = false;
    for (const std::uint32_t result : flow_.block(body).results) merge(set, reach_[result]);
    for (const std::uint32_t parameter : flow_.block(body).parameters) grew |= merge(reach_[parameter], set);
    return grew;
  }

  Json selection(const ModelNode& node, const Reach& reach, const BitSet& inputs) const {
    Json made = {{"node", node.text}, {"kind", node.op}, {"inputs", flow_.names(inputs)}, {"compares", Json::array()}};
    for (std::size_t i = 0; i < std::min(reach.size(), kMostComparisons); ++i) {
      const ModelNode& comparison = *numbers_.at(reach[i]);
      const std::size_t side = *constant_side(comparison);
      made["compares"].push_back({{"node", comparison.text},
                                  {"with", text_of_constant(*comparison.inputs[side])},
                                  {"inputs", flow_.names(flow_.of_value(*comparison.inputs[1 - side]))}});
    }
    if (reach.size() > kMostComparisons) made["more"] = true;
    return made;
  }

  std::string text_of_constant(std::uint32_t id) const {
    const auto value = flow_.graph().value(id);
    if (value.constant) return text_of_array(*value.constant);
    std::string parts;
    std::size_t left = kMostConstantNodes;
    append_parts(id, parts, left);
    return fmt::format("{} {}", value.type, digest_text(sha256(parts)));
  }

  static std::string text_of_array(const api::Array& array) {
    if (!array.is_tensor() || array.count() <= static_cast<std::int64_t>(kMostShownElements)) return array.str();
    std::string bytes;
    if (array.dtype() == api::Dtype::string) {
      for (const std::string& text : array.values<std::string>())
        ((bytes += std::to_string(text.size())) += ':') += text;
    } else {
      bytes.assign(static_cast<const char*>(array.data()), array.bytes());
    }
    return fmt::format("{}{} {}", api::name_of(array.dtype()), Json(array.sizes()).dump(), digest_text(sha256(bytes)));
  }

  /// Appends the operators and constants from which a value follows, of at most `left` values.
  void append_parts(std::uint32_t id, std::string& parts, std::size_t& left) const {
    if (left == 0) return;
    --left;
    const auto value = flow_.graph().value(id);
    if (value.constant) return void((parts += text_of_array(*value.constant)) += '\n');
    if (!value.node) return void(parts += "parameter\n");
    const ModelNode node = flow_.graph().node(*value.node);
    (parts += node.op) += '\n';
    for (const auto& input : node.inputs) {
      if (input) append_parts(*input, parts, left);
    }
  }

  const InputFlow& flow_;
  std::vector<Reach> reach_;
  std::map<std::uint32_t, const ModelNode*> numbers_;  ///< by output
};

}  // namespace

Json selections_of(const InputFlow& flow) { return Comparisons(flow).selections(); }

}  // namespace frazil::govern
