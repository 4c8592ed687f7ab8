#include "pass/engine/passes.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/limits/load_scope.h"
#include "base/os/log.h"
#include "ir/graph/verify.h"
#include "ir/text/text.h"
#include "pass/engine/cse.h"
#include "pass/engine/dead.h"
#include "pass/engine/expand.h"
#include "pass/engine/fold.h"
#include "pass/engine/rewrite.h"
#include "pass/layout/layout.h"
#include "pass/loops/loops.h"
#include "pass/loops/unroll.h"

namespace frazil::pass {
namespace {

constexpr PassRow row(Pass pass, PassFunction run, std::string_view what) { return {pass, {}, run, what}; }
constexpr PassRow always(std::string_view name, PassFunction run, std::string_view what) {
  return {std::nullopt, name, run, what};
}

const std::array kList{
    row(Pass::recover, recover_composites,
        "recovers composites that have a kernel from the expansions written by exporters"),
    row(Pass::batch_norm, absorb_batch_norm,
        "absorbs BatchNormalization, scales and offsets per channel by constants into a convolution, or joins them"),
    row(Pass::dead, remove_dead, "dead code elimination: removes nodes without effects that no result depends on"),
    always("expand", expand_composites, "replaces composites by their bodies, except those that have a kernel"),
    row(Pass::fold, fold_constants, "constant folding, limited to small results"),
    row(Pass::unroll, inline_regions,
        "inlines the branch of an If and the iterations of a Loop when they are known at build time"),
    row(Pass::select, select_sides, "replaces an If by Where when its branches are small and elementwise"),
    row(Pass::batch_norm, absorb_batch_norm, "the same for what folding has made constant"),
    row(Pass::attention, recover_attention,
        "recovers attention and rotary embeddings from the expansions of exporters or composites"),
    row(Pass::algebra, rewrite_algebra, "applies the rules of arithmetic, logic and views below"),
    row(Pass::cse, merge_equal, "common subexpression elimination"),
    row(Pass::layout, choose_layout,
        "lets convolutions and the nodes around them work on images whose last axis is the channels"),
    always("expand_rest", expand_rest, "replaces the composites that were kept for layout"),
    row(Pass::count, count_iterations, "replaces the condition of a counting Loop by a number of iterations"),
    row(Pass::hoist, hoist_projections,
        "replaces products of a loop's slices with a weight by one product before the loop"),
    row(Pass::motion, move_invariants, "loop-invariant code motion"),
    row(Pass::dead, remove_dead, "dead code elimination after the passes above"),
    row(Pass::fuse, nullptr, "fuses elementwise nodes, folds and row operators over one domain (planner)"),
    row(Pass::append, nullptr, "appends to carried values in place instead of copying them in Concat (planner)"),
    row(Pass::stack, nullptr, "lets iterations write their part of a loop's result in place (planner)"),
};

bool is_users(Code code) { return code == Code::bad_model || code == Code::bad_input || code == Code::unsupported; }

bool same_results(const Graph& before, const Graph& after) {
  const auto agree = [&](Value a, Value b) {
    const Type &was = before.type(a), &is = after.type(b);
    return was.kind == is.kind && was.elem == is.elem && was.ranked == is.ranked && was.rank() == is.rank();
  };
  return std::ranges::equal(before.main().results, after.main().results, agree);
}

/// Runs one pass and verifies its result at the requested level. Returns nullopt if the graph is unchanged.
Result<std::optional<Graph>> run_row(const PassRow& row, const Graph& graph, const PassOptions& options, PassRun& run) {
  auto result = row.run(graph, options, run.note);
  if (!result) {
    if (!row.pass || !is_users(result.error().code)) return within("", std::move(result).error());
    run.note = "not taken: " + result.error().text();
    return std::nullopt;
  }
  if (*result && !same_results(graph, **result)) {
    run.note = "discarded: a result would have another rank";
    return std::nullopt;
  }
  run.changed = result->has_value();
  if (run.changed && options.verify > 0) {
    if (Status status = verify(**result, options.verify); !status) {
      return within(fmt::format("after pass '{}': ", run.name), std::move(status).error());
    }
  }
  return result;
}

void log(const PassRun& run, const Graph& graph) {
  if (run.changed) logging::debug(3, "plan", "pass '{}': {}\n{}", run.name, run.note, print(graph));
}

}  // namespace

std::span<const PassRow> pass_list() {
  static const auto named = [] {
    auto list = kList;
    for (PassRow& row : list) {
      if (row.pass) row.name = name_of(*row.pass);
    }
    return list;
  }();
  return named;
}

Result<Graph> run_passes(const Graph& graph, const PassOptions& options, std::vector<PassRun>* runs) {
  std::optional<Graph> now;
  for (const PassRow& row : pass_list()) {
    if (row.run == nullptr || (row.pass && !options.passes.has(*row.pass))) continue;
    PassRun run{.name = row.name, .note = {}};
    const auto begin = std::chrono::steady_clock::now();
    GraphMemory memory;
    FRAZIL_TRY(auto next, run_row(row, now ? *now : graph, options, run));
    run.time = std::chrono::steady_clock::now() - begin;
    if (next) {
      now = std::move(next);
      memory.keep();  // graphs share what they have in common
    }
    if (logging::enabled(3)) log(run, now ? *now : graph);
    if (runs) runs->push_back(std::move(run));
  }
  if (now) return std::move(*now);
  return graph;
}

std::string str(std::span<const PassRun> runs) {
  std::string text;
  for (const PassRun& run : runs) {
    const double us = std::chrono::duration<double, std::micro>(run.time).count();
    text += fmt::format("{:<12} {:>10.1f} us  {}{}{}\n", run.name, us, run.changed ? "changed" : "-",
                        run.note.empty() ? "" : ": ", run.note);
  }
  return text;
}

}  // namespace frazil::pass
