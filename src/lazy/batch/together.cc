#include "lazy/batch/together.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <ranges>
#include <utility>

#include "lazy/batch/stacked.h"
#include "lazy/program/append.h"
#include "lazy/program/cone.h"
#include "lazy/program/function.h"
#include "lazy/program/programs.h"
#include "lazy/program/run.h"
#include "lazy/record/claim.h"

namespace frazil::lazy {
namespace {

constexpr ConeSize kMaxWhole{.nodes = 64, .calls = 2};  // the largest piece that runs as one program

/// A place where the work of a program was recorded: its leaves and results there.
struct Site {
  std::span<const Ref> leaves, results;
};

void finish(std::span<const Ref> results) {
  for (const Ref& result : results) {
    Node& node = *result.node;
    if (std::exchange(node.memoised, false)) node.operation->function->memo().insert(node.in(), node.out());
    node.kind = NodeKind::value;
    release_inputs(node);
  }
}

Status run_sites(const Found& found, std::span<const Site> sites, GatheredColumns& gathered) {
  std::vector<Column> columns;
  for (const auto& leaves : found.inputs) {
    Column& column = columns.emplace_back();
    column.parts = leaves.size();
    column.values.reserve(sites.size() * leaves.size());
    for (const Site& site : sites) {
      for (const std::uint32_t leaf : leaves) column.values.push_back(&output_of(site.leaves[leaf]));
    }
  }
  FRAZIL_TRY(const StackedResults results, run_stacked(*found.program, columns, sites.size(), gathered));
  for (std::uint32_t i = 0; i < sites.size(); ++i) {
    const std::span<const Ref> here = sites[i].results;
    for (std::size_t k = 0; k < here.size(); ++k) assign(results, k, i, here[k].node->out()[here[k].output]);
  }
  for (const Site& site : sites) finish(site.results);
  return {};
}

/// Runs all sites together. If that fails, runs them one by one, so that only sites at fault fail. Passes their
/// positions to `failed`.
void run_all(const Found& found, std::span<const Site> sites, GatheredColumns& gathered, BatchCounts& counts,
             const std::function<void(std::size_t, Fault)>& failed) {
  ++counts.runs;
  const Status together = run_sites(found, sites, gathered);
  if (together) return;
  if (sites.size() == 1) return failed(0, together.error());
  for (std::size_t i = 0; i < sites.size(); ++i) {
    ++counts.runs;
    if (Status alone = run_sites(found, sites.subspan(i, 1), gathered); !alone) failed(i, std::move(alone).error());
  }
}

// ---- whole pieces ----

/// All pending nodes below some values, in breadth-first order.
class Below {
 public:
  void add(std::span<const Ref> wanted) {
    const std::size_t begin = nodes_.size();
    for (const Ref& each : wanted) visit(each.node);
    for (std::size_t i = begin; i < nodes_.size(); ++i) {
      for (const Ref& input : nodes_[i]->in()) visit(input.node);
    }
  }
  std::span<Node* const> nodes() const { return nodes_; }

 private:
  void visit(Node* node) {
    if (node == nullptr || !node->pending() || node->mark == mark_) return;
    node->mark = mark_;
    nodes_.push_back(node);
  }

  const std::uint32_t mark_ = next_mark();
  std::vector<Node*> nodes_;
};

/// Nodes that run one by one, and the pieces of work to which they belong, which have no program.
struct Rest {
  struct Unmade {
    std::uint64_t structure;
    std::size_t nodes;
  };
  Below below;
  std::vector<Unmade> pieces;
};

bool same_types(const Cone& a, const Cone& b) {
  return std::ranges::equal(
      a.leaves, b.leaves, {}, [](const Ref& r) { return output_of(r).type; },
      [](const Ref& r) { return output_of(r).type; });
}

bool is_there(const AwaitedValues& wanted) {
  return std::ranges::none_of(wanted.values, [](const Ref& r) { return r.node->pending(); });
}

/// Instances that wait for the same piece of work, and the cone of each.
struct Piece {
  std::vector<AwaitedValues*> instances;
  std::vector<const Cone*> cones;
};

/// Cones that a thread reuses, together with their memory.
class SpareCones {
 public:
  static std::unique_ptr<Cone> take() {
    auto& all = spare();
    if (all.empty()) return std::make_unique<Cone>();
    std::unique_ptr<Cone> cone = std::move(all.back());
    all.pop_back();
    return cone;
  }
  static void give_back(std::vector<std::unique_ptr<Cone>> cones) {
    constexpr std::size_t kMaximum = 1U << 12U;
    auto& all = spare();
    for (auto& cone : cones) {
      if (all.size() < kMaximum) all.push_back(std::move(cone));
    }
  }

 private:
  static std::vector<std::unique_ptr<Cone>>& spare() {
    thread_local std::vector<std::unique_ptr<Cone>> cones;
    return cones;
  }
};

/// The small pieces of work that instances wait for.
class Pieces {
 public:
  Pieces() = default;
  ~Pieces() { SpareCones::give_back(std::move(cones_)); }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  /// Adds the values of an instance. Returns false if their cone is too large.
  bool add(AwaitedValues& wanted) {
    Cone& cone = *cones_.emplace_back(SpareCones::take());
    if (!collect(wanted.values, kMaxWhole, cone)) return false;
    auto piece = std::ranges::find_if(pieces_, [&](const Piece& p) {
      const Cone& other = *p.cones.front();
      return other.key == cone.key && other.literals == cone.literals && same_types(other, cone);
    });
    if (piece == pieces_.end()) piece = pieces_.emplace(pieces_.end());
    piece->instances.push_back(&wanted);
    piece->cones.push_back(&cone);
    for (const Ref& result : cone.results) kept_.emplace_back(result);
    return true;
  }

  /// Runs the pieces that have a program. Adds the wanted values of the others to `rest`. Returns the wanted values of
  /// which an earlier piece has computed a part; they must be added again.
  std::vector<AwaitedValues*> run(BatchCounts& counts, Rest& rest) {
    std::vector<AwaitedValues*> again;
    for (const Piece& piece : pieces_) {
      Piece whole;
      for (std::size_t i = 0; i < piece.cones.size(); ++i) {
        // Checks users first: the inputs of a node that has run may be freed.
        if (std::ranges::all_of(piece.cones[i]->nodes | std::views::reverse, &Node::pending)) {
          whole.instances.push_back(piece.instances[i]);
          whole.cones.push_back(piece.cones[i]);
        } else {
          again.push_back(piece.instances[i]);
        }
      }
      if (!whole.cones.empty()) run_piece(whole, counts, rest);
    }
    return again;
  }

 private:
  static void run_piece(const Piece& piece, BatchCounts& counts, Rest& rest) {
    const auto sought = seek_program(*piece.cones.front());
    const std::size_t nodes = piece.cones.front()->nodes.size() * piece.instances.size();
    if (!sought) {
      for (AwaitedValues* const wanted : piece.instances) wanted->status = std::unexpected(sought.error());
      return;
    }
    if (sought->program == nullptr) {
      rest.pieces.push_back({sought->structure, nodes});
      for (AwaitedValues* const wanted : piece.instances) rest.below.add(wanted->values);
      return;
    }
    counts.nodes += nodes;
    std::vector<Site> sites;
    for (const Cone* const cone : piece.cones) sites.push_back({cone->leaves, cone->results});
    GatheredColumns gathered;
    run_all(*sought->program, sites, gathered, counts,
            [&](std::size_t site, Fault fault) { piece.instances[site]->status = std::unexpected(std::move(fault)); });
  }

  std::vector<std::unique_ptr<Cone>> cones_;
  std::deque<Piece> pieces_;
  std::vector<Handle> kept_;  // so that results are not freed while a program runs
};

// ---- node by node ----

/// Nodes that one run computes.
struct Group {
  Node* first;
  std::vector<Node*> nodes;
};

bool same_input(const Ref& a, const Ref& b) {
  if (a.node == nullptr || b.node == nullptr) return a.node == b.node;
  const Output &x = output_of(a), &y = output_of(b);
  if (x.type != y.type) return false;
  const bool constant = a.node->kind == NodeKind::parameter || a.node->kind == NodeKind::literal;
  if (!constant) return b.node->kind != NodeKind::parameter && b.node->kind != NodeKind::literal;
  if (a.node->kind != b.node->kind) return false;
  if (x.block.get() == y.block.get()) return true;
  return a.node->kind == NodeKind::literal && x.type != nullptr &&
         std::equal(x.data(), x.data() + x.type->bytes, y.data());
}

/// Returns whether both nodes repeat inputs at the same positions.
bool same_pattern(Node& a, Node& b) {
  for (std::size_t i = 1; i < a.inputs; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if ((a.in()[i] == a.in()[k]) != (b.in()[i] == b.in()[k])) return false;
    }
  }
  return true;
}

bool fits(Node& a, Node& b) {
  if (a.operation != b.operation || a.inputs != b.inputs) return false;
  for (std::size_t i = 0; i < a.inputs; ++i) {
    if (!same_input(a.in()[i], b.in()[i])) return false;
  }
  return same_pattern(a, b);
}

using Level = std::vector<Node*>;

/// Groups nodes by depth. Nodes with the same inputs keep the same order, so that their groups gather equal columns.
std::vector<Level> by_depth(std::span<Node* const> nodes) {
  std::vector<Level> levels;
  if (nodes.empty()) return levels;
  const auto [first, last] = std::ranges::minmax(nodes, {}, &Node::depth);
  levels.resize(last->depth - first->depth + 1);
  for (Node* const node : nodes) levels[node->depth - first->depth].push_back(node);
  return levels;
}

class NodeByNode {
 public:
  explicit NodeByNode(BatchCounts& counts) : counts_(counts) {}

  /// Runs the nodes. Each node's pending inputs must be among them.
  void run(std::span<Node* const> nodes) {
    const std::vector<Level> levels = by_depth(nodes);
    // Keeps the nodes of a level alive until their groups have run, even if other nodes release them.
    std::vector<std::vector<Handle>> kept(levels.size());
    for (std::size_t i = 0; i < levels.size(); ++i) {
      for (Node* const node : levels[i]) kept[i].emplace_back(Ref{node, 0});
    }
    for (std::size_t i = 0; i < levels.size(); ++i) {
      for (const Group& group : groups_of(levels[i])) run_group(group);
      gathered_.clear();
      kept[i].clear();
    }
  }
  const std::optional<Fault>& fault() const { return fault_; }

 private:
  static std::deque<Group> groups_of(const Level& level) {
    std::deque<Group> groups;
    for (Node* const node : level) {
      // An input that is still pending has failed.
      const bool ready =
          std::ranges::none_of(node->in(), [](const Ref& in) { return in.node != nullptr && in.node->pending(); });
      if (!ready) continue;
      const auto at = std::ranges::find_if(groups, [&](const Group& g) { return fits(*g.first, *node); });
      if (at != groups.end()) {
        at->nodes.push_back(node);
      } else {
        groups.push_back({node, {node}});
      }
    }
    return groups;
  }

  void run_group(const Group& group) {
    collect_part(std::span(&group.first, 1), cone_);
    counts_.nodes += group.nodes.size();
    const auto found = find_program(cone_);
    if (!found) return fail_with(found.error());
    find_sites(group);
    run_all(**found, sites_, gathered_, counts_, [&](std::size_t site, Fault fault) {
      const Node& node = *group.nodes[site];
      fail_with(located(std::move(fault), *node.operation, node.place));
    });
  }

  /// Finds the leaves and results of each node of the group. They correspond to those of `cone_`, the group's first
  /// node.
  void find_sites(const Group& group) {
    std::vector<std::size_t> inputs;
    for (const Ref& leaf : cone_.leaves) {
      const auto all = cone_.nodes[0]->in();
      inputs.push_back(static_cast<std::size_t>(std::ranges::find(all, leaf) - all.begin()));
    }
    const std::size_t leaves = inputs.size(), results = cone_.results.size();
    refs_.clear();
    for (Node* const node : group.nodes) {
      for (const std::size_t input : inputs) refs_.push_back(node->in()[input]);
      for (const Ref& result : cone_.results) refs_.push_back({node, result.output});
    }
    sites_.clear();
    for (std::size_t i = 0; i < group.nodes.size(); ++i) {
      const auto here = std::span(refs_).subspan(i * (leaves + results), leaves + results);
      sites_.push_back({here.first(leaves), here.subspan(leaves)});
    }
  }

  void fail_with(const Fault& fault) {
    if (!fault_) fault_ = fault;
  }

  BatchCounts& counts_;
  Cone cone_;
  std::vector<Ref> refs_;     // the memory of sites_
  std::vector<Site> sites_;   // of the running group
  GatheredColumns gathered_;  // of the current level
  std::optional<Fault> fault_;
};

/// Runs the small pieces that have a program, until no piece has a part in common with a piece that has run. Adds the
/// others to `rest`.
void run_pieces(std::vector<AwaitedValues*> wanted, BatchCounts& counts, Rest& rest) {
  while (!wanted.empty()) {
    Pieces pieces;
    for (AwaitedValues* const each : wanted) {
      if (!is_there(*each) && !pieces.add(*each)) rest.below.add(each->values);
    }
    wanted = pieces.run(counts, rest);
  }
}

/// Runs the rest node by node. Divides the time among the pieces without a program.
std::optional<Fault> run_rest(const Rest& rest, BatchCounts& counts) {
  const auto begin = std::chrono::steady_clock::now();
  NodeByNode nodes(counts);
  nodes.run(rest.below.nodes());
  const auto time = std::chrono::steady_clock::now() - begin;
  for (const Rest::Unmade& piece : rest.pieces) {
    ran_without_program(piece.structure, time * piece.nodes / rest.below.nodes().size());
  }
  return nodes.fault();
}

std::vector<Ref> values_of(std::span<const AwaitedValues> wanted) {
  std::vector<Ref> values;
  for (const AwaitedValues& each : wanted) values.insert(values.end(), each.values.begin(), each.values.end());
  return values;
}

}  // namespace

Status run_nodes(std::span<Node* const> nodes, BatchCounts& counts) {
  NodeByNode all(counts);
  all.run(nodes);
  if (all.fault()) return std::unexpected(*all.fault());
  return {};
}

Status run_remembered(BatchCounts& counts) {
  const std::vector<Handle> calls = take_remembered();
  if (calls.empty()) return {};
  std::vector<Ref> wanted;
  for (const Handle& call : calls) wanted.push_back(call.ref());
  Claim claim;
  FRAZIL_CHECK(claim.take(wanted));
  Below below;
  below.add(wanted);
  return run_nodes(below.nodes(), counts);
}

void run_together(std::span<AwaitedValues> wanted, BatchCounts& counts) {
  Claim claim;
  Status ready = run_remembered(counts);
  if (ready) ready = claim.take(values_of(wanted));
  if (!ready) {
    for (AwaitedValues& each : wanted) each.status = ready;
    return;
  }
  std::vector<AwaitedValues*> all;
  for (AwaitedValues& each : wanted) all.push_back(&each);
  Rest rest;
  run_pieces(std::move(all), counts, rest);
  const std::optional<Fault> fault = run_rest(rest, counts);
  for (AwaitedValues& each : wanted) {
    if (each.status && !is_there(each)) {
      each.status = std::unexpected(fault.value_or(Fault{Code::internal, "a value of a batch was not computed"}));
    }
  }
}

}  // namespace frazil::lazy
