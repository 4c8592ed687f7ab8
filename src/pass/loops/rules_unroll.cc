#include <algorithm>
#include <limits>

#include "ir/edit/rebuild.h"
#include "ops/control/control.h"
#include "ops/view/view.h"
#include "pass/engine/rules.h"
#include "pass/loops/unroll.h"

// Regions whose control flow is known at build time.
namespace frazil::pass {
namespace {

constexpr std::int64_t kMaxTrips = 8;
constexpr std::int64_t kMaxUnrolledNodes = 32;  ///< nodes that the unrolled iterations may have in total

/// Returns the number of iterations, if it is known.
std::optional<std::int64_t> trips_of(const Graph& graph, const Node& loop) {
  const auto given = [&](std::size_t i) { return i < loop.in.size() && loop.in[i]; };
  const auto count = given(0) ? known(graph, loop.in[0]) : std::numeric_limits<std::int64_t>::max();
  const auto begins = given(1) ? known(graph, loop.in[1]) : 1;
  if (begins == 0 || (count && *count <= 0)) return 0;
  if (!begins) return std::nullopt;
  const Block& body = graph.block(loop.blocks[0]);
  if (!graph.type(body.results[0]).has_one_element()) return std::nullopt;
  const auto goes_on = body.results[0] == body.params[1] ? begins : known(graph, body.results[0]);
  if (count == 1) return 1;
  if (goes_on == 0) return count ? std::optional<std::int64_t>(1) : std::nullopt;
  return goes_on ? count : std::nullopt;
}

std::size_t carried(const Node& loop) { return loop.in.size() > 2 ? loop.in.size() - 2 : 0; }

/// Returns true if the collected values can be joined by Concat.
bool gathers_tensors(const Graph& graph, const Node& loop, std::int64_t trips) {
  const Block& body = graph.block(loop.blocks[0]);
  for (std::size_t i = carried(loop); i < loop.out.size(); ++i) {
    if (!loop.out[i]) continue;
    const Type& type = graph.type(body.results[i + 1]);
    if (trips == 0 || !type.is_tensor() || !type.ranked) return false;
  }
  return true;
}

bool is_small(const Graph& graph, const Node& loop, std::int64_t trips) {
  if (trips <= 1) return true;
  const auto& nodes = graph.block(loop.blocks[0]).nodes;
  const auto is_plain = [&](NodeId id) {
    const Form& form = graph.node(id).op->form;
    return std::holds_alternative<Elementwise>(form) || std::holds_alternative<View>(form);
  };
  return trips <= kMaxTrips && trips * static_cast<std::int64_t>(nodes.size()) <= kMaxUnrolledNodes &&
         std::ranges::all_of(nodes, is_plain);
}

/// The block of a region that runs, and the number of its runs.
struct Run {
  std::size_t block = 0;
  std::int64_t times = 0;
};
std::optional<Run> run_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.constraints.empty()) return std::nullopt;
  if (node.op == &ops::If) {
    const auto condition = known(graph, node.in[0]);
    return condition ? std::optional(Run{*condition != 0 ? std::size_t{0} : 1, 1}) : std::nullopt;
  }
  if (node.op != &ops::Loop) return std::nullopt;
  const auto trips = trips_of(graph, node);
  if (!trips || !is_small(graph, node, *trips) || !gathers_tensors(graph, node, *trips)) return std::nullopt;
  return Run{0, *trips};
}

class Inliner : public Rewriter {
 public:
  Result<std::optional<Inlined>> inlines(const Graph& from, NodeId id, Builder& to,
                                         std::span<const Value> inputs) override {
    const auto run = run_of(from, id);
    if (!run) return std::nullopt;
    ++inlined_;
    const Node& node = from.node(id);
    if (node.op == &ops::If) return Inlined{Splice{run->block, {}}, {}};
    std::vector<Value> values;
    if (inputs.size() > 2) values.assign(inputs.begin() + 2, inputs.end());
    if (run->times == 0) return Inlined{{}, outputs(node, std::move(values), {}, to)};
    open_.push_back({0, run->times, std::vector<std::vector<Value>>(gathered(node))});
    return Inlined{Splice{0, params(to, 0, values)}, {}};
  }

  Result<Inlined> spliced(const Graph& from, NodeId id, Builder& to, std::span<const Value> results) override {
    const Node& node = from.node(id);
    if (node.op == &ops::If) return Inlined{{}, {results.begin(), results.end()}};
    Open& loop = open_.back();
    const std::size_t kept = carried(node);
    std::vector<Value> values(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(kept));
    for (std::size_t i = 0; i < loop.pieces.size(); ++i) loop.pieces[i].push_back(results[1 + kept + i]);
    if (++loop.iteration < loop.times) return Inlined{Splice{0, params(to, loop.iteration, values)}, {}};
    const Open done = std::move(loop);
    open_.pop_back();
    auto all = outputs(node, std::move(values), done.pieces, to);
    FRAZIL_CHECK(to.status());
    return Inlined{{}, std::move(all)};
  }

  int inlined() const { return inlined_; }

 private:
  /// A loop whose iterations are being written.
  struct Open {
    std::int64_t iteration, times;
    std::vector<std::vector<Value>> pieces;  ///< per scan output
  };

  static std::size_t gathered(const Node& loop) { return loop.out.size() - std::min(loop.out.size(), carried(loop)); }

  static std::vector<Value> params(Builder& to, std::int64_t iteration, const std::vector<Value>& values) {
    std::vector<Value> all{to.scalar(iteration).value, to.scalar(true).value};
    all.insert(all.end(), values.begin(), values.end());
    return all;
  }

  static std::vector<Value> outputs(const Node& loop, std::vector<Value> values,
                                    const std::vector<std::vector<Value>>& pieces, Builder& to) {
    constexpr std::array<std::int64_t, 1> kFront{0};
    values.resize(std::min(values.size(), loop.out.size()));
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (!loop.out[values.size()]) {
        values.emplace_back();
        continue;
      }
      std::vector<Expr> rows;
      for (Value v : pieces[i]) rows.push_back(ops::Unsqueeze({Expr{&to, v}, to.ints(kFront)}));
      values.push_back((rows.size() == 1 ? rows[0] : ops::Concat(std::span<const Expr>(rows), {.axis = 0})).value);
    }
    return values;
  }

  std::vector<Open> open_;
  int inlined_ = 0;
};

bool any_runs(const Graph& graph) {
  const auto runs = [&](NodeId n) { return !graph.node(n).blocks.empty() && run_of(graph, n); };
  return std::ranges::any_of(graph.nodes(), runs);
}

}  // namespace

Result<std::optional<Graph>> inline_regions(const Graph& graph, const PassOptions&, std::string& note) {
  if (graph.block_count() == 1 || !any_runs(graph)) return std::nullopt;
  Inliner inliner;
  FRAZIL_TRY(Graph made, rebuild(graph, inliner));
  note = fmt::format("{} regions inlined", inliner.inlined());
  return made;
}

}  // namespace frazil::pass
