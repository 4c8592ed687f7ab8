#include "lazy/program/run.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "lazy/batch/stacked.h"
#include "lazy/batch/together.h"
#include "lazy/program/append.h"
#include "lazy/program/cone.h"
#include "lazy/program/programs.h"
#include "lazy/record/claim.h"
#include "lazy/record/trace.h"

namespace frazil::lazy {
namespace {

thread_local std::vector<Handle> waiting_calls;
thread_local std::uint64_t recalled_calls = 0;
thread_local Instances* current_instances = nullptr;

constexpr std::size_t kMaxProgramNodes = 256;  // most nodes of one program
constexpr std::size_t kMaxNodes = 1U << 20U;

bool are_there(std::span<const Ref> wanted) {
  return std::ranges::none_of(wanted, [](const Ref& ref) { return ref.node->pending(); });
}

/// Keeps all results but the first alive: functions that the program calls, and other threads, may release them. The
/// first result is wanted by the caller, which keeps it.
std::vector<Handle> hold_others(std::span<const Ref> results) {
  std::vector<Handle> kept;
  for (const Ref& result : results.subspan(results.empty() ? 0 : 1)) kept.emplace_back(result);
  return kept;
}

Status run_program(const Found& found, const Cone& cone) {
  std::vector<Column> columns;
  for (const auto& leaves : found.inputs) {
    Column& column = columns.emplace_back();
    column.parts = leaves.size();
    for (const std::uint32_t leaf : leaves) {
      column.values.push_back(&cone.leaves[leaf].node->out()[cone.leaves[leaf].output]);
    }
  }
  const std::vector<Handle> kept = hold_others(cone.results);
  GatheredColumns gathered;
  const auto results = run_stacked(*found.program, columns, 1, gathered);
  if (!results) {
    if (cone.nodes.size() != 1) return std::unexpected(results.error());
    return std::unexpected(located(results.error(), *cone.nodes[0]->operation, cone.nodes[0]->place));
  }
  for (std::size_t k = 0; k < cone.results.size(); ++k) {
    const Ref& result = cone.results[k];
    assign(*results, k, 0, result.node->out()[result.output]);
    result.node->kind = NodeKind::value;
  }
  for (const Ref& result : cone.results) release_inputs(*result.node);
  return {};
}

Status run_without_program(const Cone& cone, std::uint64_t structure) {
  BatchCounts counts;
  const auto begin = std::chrono::steady_clock::now();
  FRAZIL_CHECK(run_nodes(cone.nodes, counts));
  ran_without_program(structure, std::chrono::steady_clock::now() - begin);
  return {};
}

Status run_cone(const Cone& cone) {
  FRAZIL_TRY(const ProgramLookup sought, seek_program(cone));
  return sought.program ? run_program(*sought.program, cone) : run_without_program(cone, sought.structure);
}

/// Returns whether many nodes are independent of each other and their results are small. Equal ones of them then share
/// a run.
bool is_wide(std::span<Node* const> nodes) {
  constexpr std::size_t kWide = 4;
  const auto [first, last] = std::ranges::minmax(nodes, {}, &Node::depth);
  return nodes.size() / (last->depth - first->depth + 1) >= kWide && !has_large_results(nodes);
}

/// Runs many nodes in parts that later programs repeat. A part ends where a line of the user's loop comes again.
Status run_in_parts(const std::vector<Node*>& nodes) {
  Cone cone;
  std::set<std::tuple<const char*, std::uint32_t, std::uint32_t>> seen;
  std::size_t begin = 0;
  const auto run_part = [&](std::size_t end) -> Status {
    if (begin == end) return {};
    collect_part(std::span(nodes).subspan(begin, end - begin), cone);
    begin = end;
    seen.clear();
    return run_cone(cone);
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    const auto where = std::tuple(node.place.file, node.place.line, node.operation->id);
    if (seen.contains(where) || i - begin >= kMaxProgramNodes) FRAZIL_CHECK(run_part(i));
    seen.insert(where);
  }
  return run_part(nodes.size());
}

}  // namespace

void remember_later(const Handle& call) { waiting_calls.push_back(call); }

std::vector<Handle> take_remembered() { return std::exchange(waiting_calls, {}); }

Instances* Instances::current() { return current_instances; }

Instances* Instances::exchange(Instances* with) { return std::exchange(current_instances, with); }

void count_recalled() { ++recalled_calls; }

std::uint64_t recalled() { return recalled_calls; }

Status run(std::span<const Ref> wanted) {
  if (are_there(wanted)) return {};
  // While a graph is recorded, its instance computes values itself.
  if (current_instances != nullptr && Trace::current() == nullptr) return current_instances->await(wanted);
  BatchCounts counts;
  FRAZIL_CHECK(run_remembered(counts));
  Claim claim;
  FRAZIL_CHECK(claim.take({wanted.begin(), wanted.end()}));
  if (are_there(wanted)) return {};
  thread_local Cone cone;
  if (collect(wanted, {.nodes = kMaxProgramNodes}, cone)) return run_cone(cone);
  Cone all;
  if (!collect(wanted, {.nodes = kMaxNodes}, all)) {
    return fail(Code::limit, "more than {} operators are recorded; read a value in between", kMaxNodes);
  }
  if (is_wide(all.nodes)) return run_nodes(all.nodes, counts);
  const std::uint32_t first = all.nodes.front()->sequence;
  std::ranges::sort(all.nodes, {}, [&](const Node* node) { return static_cast<std::int32_t>(node->sequence - first); });
  return run_in_parts(all.nodes);
}

}  // namespace frazil::lazy
