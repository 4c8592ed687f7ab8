#include "plan/lower/contraction.h"

#include <algorithm>
#include <iterator>

#include "ir/infer/infer.h"
#include "plan/lower/bind.h"

namespace frazil {
namespace {

/// Returns true if no element is narrower than a byte.
bool has_whole_bytes(const Graph& graph, const Node& node) {
  const auto whole = [&](Value v) { return !v || bit_width(graph.type(v).elem) >= 8 || !is_int(graph.type(v).elem); };
  return std::ranges::all_of(node.in, whole) && std::ranges::all_of(node.out, whole);
}

bool fits(const Space& space, const ScalarTape& tape, std::size_t operands, std::size_t results) {
  const auto few = [](const auto& list) { return list.size() <= kMaxSpaceAxes; };
  return few(space.axes) && operands <= kMaxSpaceOperands && space.reads.size() <= operands &&
         results <= std::min(kMaxSpaceFolds, space.folds.size()) && tape.code.size() <= kMaxSpaceInstructions &&
         tile_supports(tape, operands) && std::ranges::all_of(space.reads, few);
}

class Writer {
 public:
  Writer(const Space& space, BoundContraction& to) : space_(space), to_(to) {}

  void write(const ScalarTape& tape, std::size_t operands) {
    auto& p = to_.params;
    for (const Space::Axis& axis : space_.axes) {
      p.reduced.push_back(axis.reduced);
      to_.domain.push_back(axis.extent);
    }
    for (const int axis : space_.write) p.write.push_back(axis);
    p.reads.resize(operands);
    for (std::size_t k = 0; k < space_.reads.size(); ++k) {
      for (const Ix& ix : space_.reads[k]) p.reads[k].push_back(index(ix));
    }
    p.report = index(space_.report);
    p.folds = space_.folds;
    p.last_wins = space_.last_wins;
    p.body = tape;
  }

 private:
  params::Contraction::Index index(const Ix& ix) {
    params::Contraction::Index axes;
    to_.domain.push_back(ix.offset);
    for (const auto& [axis, factor] : ix.terms) {
      axes.push_back(axis);
      to_.domain.push_back(factor);
    }
    return axes;
  }

  const Space& space_;
  BoundContraction& to_;
};

}  // namespace

std::optional<BoundContraction> bind_contraction(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!std::holds_alternative<Contraction>(node.op->form) || has_unranked_value(graph, id)) return std::nullopt;
  if (!all_plain(graph, node) || !has_whole_bytes(graph, node) || defines_extents(graph, node)) return std::nullopt;
  const std::size_t operands = node.in.size();
  const Space& space = *node.space;
  const ScalarTape tape = tape_of(graph, id);
  if (!fits(space, tape, operands, node.out.size())) return std::nullopt;
  BoundContraction bound;
  Writer(space, bound).write(tape, operands);
  const auto elem = [&](Value v) { return v ? graph.type(v).elem : Elem::u8; };
  std::ranges::transform(node.in, std::back_inserter(bound.params.from), elem);
  std::ranges::transform(node.out, std::back_inserter(bound.params.to), elem);
  return bound;
}

}  // namespace frazil
