#include <algorithm>
#include <unordered_map>

#include <frazil/live.h>

#include "api/access.h"
#include "api/dot.h"
#include "ir/graph/key.h"
#include "ir/op/op.h"
#include "ir/text/text.h"

namespace frazil::api {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Returns for each line of `of` whether it is missing in `other`. Of equal lines, those beyond the number in `other`
/// are missing.
std::vector<bool> missing(const std::vector<std::string>& of, const std::vector<std::string>& other) {
  std::unordered_map<std::string_view, std::int64_t> left;
  for (const std::string& line : other) ++left[line];
  std::vector<bool> result;
  for (const std::string& line : of) result.push_back(--left[line] < 0);
  return result;
}

std::string stripped(const std::string& line) {
  return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

/// The nodes of a graph by a key that identifies them in another graph: the name, if only one node has it, else the id,
/// which patches keep.
class NodesByKey {
 public:
  explicit NodesByKey(const Graph& graph) : graph_(graph) {
    std::unordered_map<std::string_view, int> uses;
    keys_.resize(graph.node_count());
    for (const NodeId n : graph.nodes()) ++uses[graph.node(n).name];
    for (const NodeId n : graph.nodes()) {
      const Node& node = graph.node(n);
      const bool named = !node.name.empty() && uses[node.name] == 1;
      keys_[n.id] = named ? "=" + node.name : fmt::format("#{}", node.stable);
      ids_.emplace(keys_[n.id], n);
    }
  }
  const Graph& graph() const { return graph_; }
  const std::string& key(NodeId id) const { return keys_[id.id]; }
  std::optional<NodeId> find(const std::string& key) const {
    const auto at = ids_.find(key);
    return at == ids_.end() ? std::nullopt : std::optional(at->second);
  }

  /// Returns the content of a node: operator, attributes and the sources of its operands.
  std::string content(NodeId id) const {
    const Node& node = graph_.node(id);
    Key key;
    key.add(node.op->domain).add(node.op->name).add_attributes(node);
    for (const Value v : node.in) add_operand(key, v);
    return key.bytes();
  }

 private:
  enum class Operand : std::uint8_t { absent, constant, result, param };
  static Key& tag(Key& key, Operand kind) { return key.add(static_cast<std::uint64_t>(kind)); }

  void add_operand(Key& key, Value v) const {
    if (!v) {
      tag(key, Operand::absent);
    } else if (const Constant* constant = graph_.constant(v)) {
      tag(key, Operand::constant).add(constant->tensor);
    } else if (const auto made = graph_.producer(v)) {
      tag(key, Operand::result).add(this->key(*made)).add(graph_.def(v).index);
    } else {
      tag(key, Operand::param).add(graph_.value_name(v)).add(graph_.def(v).index);
    }
  }

  const Graph& graph_;
  std::vector<std::string> keys_;  // one per node
  std::unordered_map<std::string, NodeId> ids_;
};

std::string title(const Node& node) {
  return node.name.empty() ? std::string(node.op->name) : fmt::format("{} {}", node.op->name, node.name);
}

}  // namespace

std::string diff(const Model& from, const Model& to) {
  const std::vector<std::string> before = lines_of(from.text()), after = lines_of(to.text());
  const std::vector<bool> removed = missing(before, after), added = missing(after, before);
  std::string text;
  std::size_t at = 0;
  const auto remove_to = [&](std::size_t end) {
    for (; at < end; ++at) {
      if (removed[at]) text += "- " + stripped(before[at]) + "\n";
    }
  };
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < before.size(); ++i) places.emplace(before[i], i);
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (added[i]) {
      text += "+ " + stripped(after[i]) + "\n";
    } else if (const std::size_t place = places[after[i]]; place >= at) {
      remove_to(place);
    }
  }
  remove_to(before.size());
  return text;
}

std::string diff_dot(const Model& from, const Model& to) {
  const NodesByKey before(*Access::impl(from).graph), after(*Access::impl(to).graph);
  DotMarks marks;
  for (const NodeId id : after.graph().nodes()) {
    const auto was = before.find(after.key(id));
    if (!was) {
      marks.colors.emplace(id.id, "palegreen");
    } else if (before.content(*was) != after.content(id)) {
      marks.colors.emplace(id.id, "gold");
    }
  }
  for (const NodeId n : before.graph().nodes()) {
    if (!after.find(before.key(n))) marks.removed.push_back(title(before.graph().node(n)));
  }
  return dot_of(after.graph(), marks);
}

}  // namespace frazil::api
