#include "debug/sites.h"

#include <algorithm>

#include "ir/model_info.h"
#include "ir/op.h"

namespace frazil::debug {
namespace {

constexpr std::uint64_t kCall = std::uint64_t{1} << 32;  ///< marks a call in a path; else a block

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
  /// Adds those around a node that the path does not have yet.
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

std::string name_of_output(const Node& node, std::size_t k) {
  return fmt::format("{}:{}", node.name.empty() ? fmt::format("#{}", node.stable) : node.name, k);
}

}  // namespace

bool is_function(std::uint64_t part) { return part >= kCall; }

bool is_inside(const Path& inner, const Path& outer) {
  return inner.size() > outer.size() && std::equal(outer.begin(), outer.end(), inner.begin());
}

/// Depth first with an explicit stack: nesting depth is unbounded.
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
    std::uint32_t path;  ///< of the block
    std::size_t next = 0, next_inner = 0;
  };

  void open(BlockId block, Path path) {
    to_.paths_.push_back(std::move(path));
    const auto at = static_cast<std::uint32_t>(to_.paths_.size() - 1);
    stack_.push_back({block, at});
    for (Value v : graph_.block(block).params) {
      const std::string& name = graph_.value_name(v);
      if (!name.empty()) to_.add({v, name, {}, {.name = name}, at});
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
    for (std::size_t k = 0; k < node.out.size(); ++k) add_output(nodes[frame.next], k, path);
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

  void add_output(NodeId id, std::size_t k, std::uint32_t path) {
    const Node& node = graph_.node(id);
    if (!node.out[k]) return;
    const std::string& name = graph_.value_name(node.out[k]);
    exec::WatchedValue watched{.name = name};
    if (name.empty()) watched = {{}, node.stable, static_cast<std::uint32_t>(k)};
    to_.add({node.out[k], name.empty() ? name_of_output(node, k) : name, id, std::move(watched), path});
  }

  Sites& to_;
  const Graph& graph_;
  const Calls calls_;
  std::vector<Frame> stack_;
};

Sites::Sites(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)) {
  Walk(*this).run();
  const auto& results = graph_->main().results;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const auto at = std::ranges::find(sites_, results[k], &Site::value);
    if (at != sites_.end()) by_name_.try_emplace(graph_->output_names()[k], at - sites_.begin());
  }
}

void Sites::add(Site site) {
  by_name_.try_emplace(site.name, sites_.size());
  watched_.push_back(site.watched);
  sites_.push_back(std::move(site));
}

std::optional<std::size_t> Sites::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? std::nullopt : std::optional(at->second);
}

std::vector<std::size_t> Sites::named(std::string_view name) const {
  if (const auto site = find(name)) return {*site};
  std::vector<std::size_t> of_node, of_operator;
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    if (!sites_[i].node) continue;
    const Node& node = graph_->node(sites_[i].node);
    if (node.name == name) of_node.push_back(i);
    if (node.op->name == name) of_operator.push_back(i);
  }
  return of_node.empty() ? of_operator : of_node;
}

Result<std::size_t> Sites::require(std::string_view name) const {
  if (const auto site = find(name)) return *site;
  const auto sites = named(name);
  if (!sites.empty() && graph_->node(sites_[sites[0]].node).name == name) return sites[0];
  return fail(Code::bad_input, "the model has no value or node '{}'", name);
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
