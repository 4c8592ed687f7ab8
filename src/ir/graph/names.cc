#include "ir/graph/names.h"

#include <algorithm>
#include <charconv>

#include "ir/graph/model_info.h"
#include "ir/op/op.h"
#include "ir/text/text.h"
#include "ir/text/text_walk.h"

namespace frazil {
namespace {

constexpr std::size_t kMaxShown = 4;  ///< names in a message

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string label(const Node& node) { return node.name.empty() ? fmt::format("#{}", node.stable) : node.name; }

/// Returns a label such as "If_2.then_branch".
std::string label(const Graph& graph, BlockId body) {
  const Node& owner = graph.node(graph.block(body).owner);
  const auto index = static_cast<std::size_t>(std::ranges::find(owner.blocks, body) - owner.blocks.begin());
  return label(owner) + "." + std::string(std::get<Region>(owner.op->form).block_attrs[index]);
}

/// Returns true if `path` names nodes or bodies around `block`, outermost first. It may leave some out.
bool is_inside(const Graph& graph, BlockId block, std::string_view path) {
  for (; graph.block(block).owner; block = graph.block(block).parent) {
    for (const std::string& part : {label(graph, block), label(graph.node(graph.block(block).owner))}) {
      if (path == part) return true;
      if (!path.ends_with("/" + part)) continue;
      const std::string_view outer = path.substr(0, path.size() - part.size() - 1);
      if (is_inside(graph, graph.block(block).parent, outer)) return true;
    }
  }
  return false;
}

/// Visits all values and nodes that a graph defines.
struct Collector {
  const Graph& graph;
  const std::function<void(Value)>& value;
  const std::function<void(NodeId)>& each;

  Status enter(BlockId id) {
    std::ranges::for_each(graph.block(id).params, value);
    return {};
  }
  Status node(NodeId id) {
    each(id);
    for (const Value v : graph.node(id).out) {
      if (v) value(v);
    }
    return {};
  }
  Status done(NodeId) { return {}; }
  Status leave(BlockId) { return {}; }
};

}  // namespace

std::string output_name(const Graph& graph, Value v) {
  return fmt::format("{}:{}", label(graph.node(*graph.producer(v))), graph.def(v).index);
}

Names::Names(const Graph& graph) : graph_(graph) {
  const std::function<void(Value)> value = [&](Value v) {
    if (!graph.value_name(v).empty()) values_.emplace(graph.value_name(v), v);
  };
  const std::function<void(NodeId)> node = [&](NodeId id) {
    if (!graph.node(id).name.empty()) nodes_.emplace(graph.node(id).name, id);
    by_stable_.emplace(graph.node(id).stable, id);
  };
  Collector collector{graph, value, node};
  [[maybe_unused]] const Status done = walk(graph, collector);
  for (std::uint32_t v = 0; v < graph.value_count(); ++v) {
    if (graph.constant(Value{v}) != nullptr) value(Value{v});
  }
}

Names::Found Names::find(std::string_view name) const {
  if (name.empty()) return {};
  for (const auto way : {&Names::plain, &Names::in_text, &Names::inside, &Names::call}) {
    if (Found found = (this->*way)(name); !found.empty()) return found;
  }
  return {};
}

Names::Found Names::plain(std::string_view name) const {
  Found found;
  const auto output = std::ranges::find(graph_.output_names(), name);
  if (output != graph_.output_names().end()) {
    found.values.push_back(graph_.main().results[static_cast<std::size_t>(output - graph_.output_names().begin())]);
  } else {
    const auto [begin, end] = values_.equal_range(name);
    for (auto at = begin; at != end; ++at) found.values.push_back(at->second);
    std::ranges::sort(found.values);
  }
  if (found.values.empty()) found.values = outputs(name);
  found.nodes = nodes(name);
  return found;
}

std::vector<NodeId> Names::nodes(std::string_view name) const {
  std::vector<NodeId> found;
  const auto [begin, end] = nodes_.equal_range(name);
  for (auto at = begin; at != end; ++at) found.push_back(at->second);
  if (found.empty() && name.starts_with('#')) {
    const auto stable = number<std::uint32_t>(name.substr(1));
    if (const auto at = stable ? by_stable_.find(*stable) : by_stable_.end(); at != by_stable_.end()) {
      found.push_back(at->second);
    }
  }
  if (found.empty() && name.starts_with("node ")) {
    for (const auto& [stable, id] : by_stable_) {
      if (graph_.describe(id) == name) found.push_back(id);
    }
  }
  std::ranges::sort(found);
  return found;
}

std::vector<Value> Names::outputs(std::string_view name) const {
  const std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos) return {};
  const auto k = number<std::uint32_t>(name.substr(colon + 1));
  std::vector<Value> found;
  for (const NodeId id : k ? nodes(name.substr(0, colon)) : std::vector<NodeId>()) {
    const std::vector<Value>& out = graph_.node(id).out;
    if (*k < out.size() && out[*k]) found.push_back(out[*k]);
  }
  return found;
}

Names::Found Names::inside(std::string_view name) const {
  for (std::size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
    Found found = plain(name.substr(slash + 1));
    const std::string_view path = name.substr(0, slash);
    std::erase_if(found.values, [&](Value v) {
      const auto block = graph_.block_of(v);
      return !block || !is_inside(graph_, *block, path);
    });
    std::erase_if(found.nodes, [&](NodeId id) { return !is_inside(graph_, graph_.node(id).parent, path); });
    if (!found.empty()) return found;
  }
  return {};
}

Names::Found Names::in_text(std::string_view name) const {
  if (!name.starts_with('%') && !name.starts_with('@')) return {};
  for (const auto& [value, shown] : value_texts(graph_)) {
    if (shown == name) return {{value}, {}};
  }
  return {plain(name.substr(1)).values, {}};
}

Names::Found Names::call(std::string_view name) const {
  if (graph_.info == nullptr) return {};
  const auto at = std::ranges::find(graph_.info->calls, name, &ModelInfo::Call::name);
  if (at == graph_.info->calls.end() || at->outputs.empty()) return {};
  return {plain(at->outputs.front().first).values, {}};
}

Value Names::first_output(NodeId id) const {
  const std::vector<Value>& out = graph_.node(id).out;
  const auto at = std::ranges::find_if(out, [](Value v) { return static_cast<bool>(v); });
  return at == out.end() ? Value{} : *at;
}

std::unexpected<Fault> Names::missing(std::string_view kind, std::string_view name) const {
  const std::size_t colon = name.rfind(':');
  const bool numbered = colon != std::string_view::npos && number<std::uint32_t>(name.substr(colon + 1));
  const auto makers = numbered ? nodes(name.substr(0, colon)) : std::vector<NodeId>();
  if (makers.size() == 1) {
    return fail(Code::bad_input, "{} has no output {}", graph_.describe(makers[0]), name.substr(colon + 1));
  }
  if (name.starts_with('#') && number<std::uint32_t>(name.substr(1, colon - 1))) {
    return fail(Code::bad_input, "the model has no node {}: a pass has made it", name.substr(0, colon));
  }
  return fail(Code::bad_input, "the model has no {} '{}'", kind, name);
}

template <class T>
std::unexpected<Fault> Names::ambiguous(std::string_view kind, std::string_view name,
                                        const std::vector<T>& found) const {
  std::string list;
  for (std::size_t i = 0; i < std::min(found.size(), kMaxShown); ++i) {
    list += fmt::format("{}'{}'", i == 0 ? "" : ", ", of(found[i]));
  }
  return fail(Code::bad_input, "the model has several {}s '{}': {}{}", kind, name, list,
              found.size() > kMaxShown ? ", ..." : "");
}

Result<Value> Names::value(std::string_view name) const {
  const Found found = find(name);
  if (found.values.size() > 1) return ambiguous("value", name, found.values);
  if (found.values.size() == 1) return found.values[0];
  if (found.nodes.size() > 1) return ambiguous("node", name, found.nodes);
  if (found.nodes.empty()) return missing("value or node", name);
  return first_output(found.nodes[0]);
}

Result<NodeId> Names::node(std::string_view name) const {
  const Found found = find(name);
  if (found.nodes.size() > 1) return ambiguous("node", name, found.nodes);
  if (found.nodes.size() == 1) return found.nodes[0];
  if (found.values.size() > 1) return ambiguous("value", name, found.values);
  const auto maker = found.values.empty() ? std::nullopt : graph_.producer(found.values[0]);
  if (!maker) return missing("node", name);
  return *maker;
}

namespace {

/// Prepends the names of enclosing bodies to `name` until `fits` returns true. Returns an empty name if nothing fits.
template <class F>
std::string with_path(const Graph& graph, BlockId block, std::string name, F&& fits) {
  while (!fits(name)) {
    if (!graph.block(block).owner) return {};
    name.insert(0, label(graph, block) + "/");
    block = graph.block(block).parent;
  }
  return name;
}

}  // namespace

std::string Names::of(Value v) const {
  const auto fits = [&](const std::string& name) {
    const auto found = find(name).values;
    return found.size() == 1 && found[0] == v;
  };
  const std::string& own = graph_.value_name(v);
  const auto block = graph_.block_of(v);
  if (!own.empty() && !block) return own;
  if (!own.empty()) {
    if (std::string name = with_path(graph_, *block, own, fits); !name.empty()) return name;
  }
  if (const auto maker = graph_.producer(v)) {
    const std::string name = output_name(graph_, v);
    return fits(name) ? name : fmt::format("#{}:{}", graph_.node(*maker).stable, graph_.def(v).index);
  }
  const auto texts = value_texts(graph_);
  const auto shown = std::ranges::find(texts, v, &std::pair<Value, std::string>::first);
  return shown == texts.end() ? own : shown->second;
}

std::string Names::of(NodeId id) const {
  const Node& node = graph_.node(id);
  const auto fits = [&](const std::string& name) {
    const auto found = find(name).nodes;
    return found.size() == 1 && found[0] == id;
  };
  const std::string name = node.name.empty() ? std::string() : with_path(graph_, node.parent, node.name, fits);
  return name.empty() ? fmt::format("#{}", node.stable) : name;
}

}  // namespace frazil
