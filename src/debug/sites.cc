#include "debug/sites.h"

#include <algorithm>

#include "ir/graph/model_info.h"
#include "ir/op/op.h"

namespace frazil::debug {
namespace {

constexpr std::uint64_t kCall = std::uint64_t{1} << 32;  ///< marks a call in a path; other parts are blocks

/// The inlined calls around nodes.
class Calls {
 public:
  explicit Calls(const Graph& graph) {
    if (graph.info == nullptr) return;
    const auto& calls = graph.info->calls;
    for (const auto& call : calls) last_ = std::max(last_, call.last);
    innermost_.assign(last_, kNone);
    for (std::uint32_t c = 0; c < calls.size(); ++c) {
      outer_.push_back(calls[c].first < calls[c].last ? innermost_[calls[c].first] : kNone);
      std::fill(innermost_.begin() + calls[c].first, innermost_.begin() + calls[c].last, c);
    }
  }
  /// Adds the calls around a node that the path does not contain yet.
  void add_to(Path& path, const Node& node) const {
    std::vector<std::uint64_t> inner;
    for (std::uint32_t c = node.stable < last_ ? innermost_[node.stable] : kNone; c != kNone; c = outer_[c]) {
      if (std::ranges::find(path, kCall + c) != path.end()) break;
      inner.push_back(kCall + c);
    }
    path.insert(path.end(), inner.rbegin(), inner.rend());
  }

 private:
  std::uint32_t last_ = 0;
  std::vector<std::uint32_t> innermost_;  // by stable id
  std::vector<std::uint32_t> outer_;      // by call
};

}  // namespace

bool is_function(std::uint64_t part) { return part >= kCall; }

bool is_inside(const Path& inner, const Path& outer) {
  return inner.size() > outer.size() && std::equal(outer.begin(), outer.end(), inner.begin());
}

/// A depth-first walk with an explicit stack, because nesting depth is unbounded.
class Sites::Walk {
 public:
  explicit Walk(Sites& to) : to_(to), graph_(*to.graph_), calls_(graph_) {}

  void run() {
    open(Graph::kMain, {});
    while (!stack_.empty()) step();
  }

 private:
  struct Frame {
    BlockId block;
    std::uint32_t path;  ///< path of the block
    std::size_t next = 0, next_inner = 0;
  };

  void open(BlockId block, Path path) {
    to_.paths_.push_back(std::move(path));
    const auto at = static_cast<std::uint32_t>(to_.paths_.size() - 1);
    stack_.push_back({block, at});
    for (Value v : graph_.block(block).params) {
      if (!graph_.value_name(v).empty()) to_.add(v, {}, at);
    }
  }

  void step() {
    const Frame frame = stack_.back();
    const auto& nodes = graph_.block(frame.block).nodes;
    if (frame.next == nodes.size()) return stack_.pop_back();
    const Node& node = graph_.node(nodes[frame.next]);
    const std::uint32_t path = path_of(frame, node);
    if (frame.next_inner < node.blocks.size()) {
      const BlockId inner = node.blocks[stack_.back().next_inner++];
      Path around = to_.paths_[path];
      around.push_back(inner.id);
      return open(inner, std::move(around));
    }
    for (const Value v : node.out) {
      if (v) to_.add(v, nodes[frame.next], path);
    }
    stack_.back().next = frame.next + 1;
    stack_.back().next_inner = 0;
  }

  std::uint32_t path_of(const Frame& frame, const Node& node) {
    Path path = to_.paths_[frame.path];
    calls_.add_to(path, node);
    if (path == to_.paths_[frame.path]) return frame.path;
    if (path != to_.paths_.back()) to_.paths_.push_back(std::move(path));
    return static_cast<std::uint32_t>(to_.paths_.size() - 1);
  }

  Sites& to_;
  const Graph& graph_;
  const Calls calls_;
  std::vector<Frame> stack_;
};

Sites::Sites(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)), names_(*graph_) { Walk(*this).run(); }

void Sites::add(Value v, NodeId node, std::uint32_t path) {
  by_value_.emplace(v.id, sites_.size());
  watched_.push_back(exec::watched_value(names_, *graph_, v));
  sites_.push_back({v, names_.of(v), node, watched_.back(), path});
}

std::vector<std::size_t> Sites::named(std::string_view name) const {
  const Names::Found found = names_.find(name);
  std::vector<std::size_t> sites;
  const auto add = [&](Value v) {
    if (const auto at = by_value_.find(v.id); at != by_value_.end()) sites.push_back(at->second);
  };
  std::ranges::for_each(found.values, add);
  for (const NodeId id : found.values.empty() ? found.nodes : std::vector<NodeId>()) {
    std::ranges::for_each(graph_->node(id).out, add);
  }
  for (std::size_t i = 0; found.empty() && i < sites_.size(); ++i) {
    if (sites_[i].node && graph_->node(sites_[i].node).op->name == name) sites.push_back(i);
  }
  std::ranges::sort(sites);
  return sites;
}

Result<std::size_t> Sites::require(std::string_view name) const {
  FRAZIL_TRY(const Value v, names_.value(name));
  if (const auto at = by_value_.find(v.id); at != by_value_.end()) return at->second;
  return fail(Code::bad_input, "value '{}' is {}", name,
              graph_->constant(v) != nullptr ? "a constant" : "a parameter without a name of its own");
}

std::string Sites::title(std::uint64_t part) const {
  if (is_function(part)) {
    const auto& call = graph_->info->calls[part - kCall];
    return fmt::format("function '{}' ({})", call.name, graph_->info->functions[call.function].name);
  }
  const NodeId owner = graph_->block(BlockId{static_cast<std::uint32_t>(part)}).owner;
  const Node& node = graph_->node(owner);
  const auto index = static_cast<std::size_t>(std::ranges::find(node.blocks, part, &BlockId::id) - node.blocks.begin());
  return fmt::format("{}, {}", graph_->describe(owner), std::get<Region>(node.op->form).block_attrs[index]);
}

std::vector<std::string> Sites::around(std::size_t site) const {
  std::vector<std::string> names;
  for (const std::uint64_t part : path(site)) names.push_back(title(part));
  return names;
}

}  // namespace frazil::debug
