#include "lazy/run.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "lazy/append.h"
#include "lazy/batch.h"
#include "lazy/cone.h"
#include "lazy/program.h"
#include "lazy/together.h"

namespace frazil::lazy {
namespace {

thread_local std::vector<Handle> waiting_calls;
thread_local std::uint64_t recalled_calls = 0;

constexpr std::size_t kMostTogether = 256;  // nodes of one program
constexpr std::size_t kMostNodes = 1U << 20U;

/// The result of a run for a node.
void assign(const Ref& result, Datum datum) {
  Output& output = result.node->out()[result.output];
  if (datum.is_tensor()) output.type = known_type(datum.tensor().elem(), datum.tensor().sizes());
  output.block = HeldRef(new Held);
  output.block->datum = std::move(datum);
  result.node->kind = NodeKind::value;
}

Status run_cone(const Cone& cone) {
  FRAZIL_TRY(const auto found, find_program(cone));
  std::vector<Datum> inputs, outputs;
  for (const std::uint32_t leaf : found->inputs) {
    inputs.push_back(datum_of(cone.leaves[leaf].node->out()[cone.leaves[leaf].output]));
  }
  if (Status status = found->program->run(inputs, outputs); !status) {
    return within(cone.nodes.size() == 1 ? describe(*cone.nodes[0]->operation, cone.nodes[0]->place) + ": " : "",
                  std::move(status).error());
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) assign(cone.results[k], std::move(outputs[k]));
  for (const Ref& result : cone.results) release_inputs(*result.node);
  return {};
}

/// Many nodes, in parts that programs come back to: a part ends where a line of the user's loop begins again.
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
    if (seen.contains(where) || i - begin >= kMostTogether) FRAZIL_CHECK(run_part(i));
    seen.insert(where);
  }
  return run_part(nodes.size());
}

}  // namespace

void remember_later(const Handle& call) { waiting_calls.push_back(call); }

std::vector<Handle> take_remembered() { return std::exchange(waiting_calls, {}); }

void count_recalled() { ++recalled_calls; }

std::uint64_t recalled() { return recalled_calls; }

Status run(std::span<const Ref> wanted) {
  const bool there = std::ranges::none_of(wanted, [](const Ref& ref) { return ref.node->pending(); });
  if (there) return {};
  if (Batch* const batch = Batch::current()) return batch->await(wanted);
  BatchCounts counts;
  FRAZIL_CHECK(run_remembered(counts));
  thread_local Cone cone;
  if (collect(wanted, {.nodes = kMostTogether}, cone)) return run_cone(cone);
  Cone all;
  if (!collect(wanted, {.nodes = kMostNodes}, all)) {
    return fail(Code::limit, "more than {} operators are recorded; read a value in between", kMostNodes);
  }
  std::ranges::sort(all.nodes, {}, &Node::sequence);
  return run_in_parts(all.nodes);
}

}  // namespace frazil::lazy
