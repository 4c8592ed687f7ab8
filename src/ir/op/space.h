#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph/type.h"
#include "ir/op/scalar.h"

namespace frazil {

/// An affine index: a constant plus multiples of iteration axes.
struct Ix {
  Dim offset = 0;
  std::vector<std::pair<int, Dim>> terms;  ///< (axis, factor)
};

/// The way in which contributions are combined. `argmax` and `argmin` return Space::report at the extreme point: the
/// first one in iteration order, or the last with Space::last_wins. `only` allows at most one contribution; without
/// one, the result is 0.
#define FRAZIL_FOLDS(X) X(sum) X(prod) X(max) X(min) X(any) X(all) X(argmax) X(argmin)
enum class Fold : std::uint8_t {
#define FRAZIL_X(name) name,
  FRAZIL_FOLDS(FRAZIL_X)
#undef FRAZIL_X
      only
};
inline constexpr std::array kFoldNames{
#define FRAZIL_X(name) std::string_view(#name),
    FRAZIL_FOLDS(FRAZIL_X)
#undef FRAZIL_X
};

/// Returns true for a fold that returns Space::report.
constexpr bool is_place(Fold fold) { return fold == Fold::argmax || fold == Fold::argmin; }

/// The iteration space of a contraction:
///   out[write(p)] = fold over the reduced axes of body(in_k[reads_k(p)]...)
/// A point with a read outside of its operand contributes nothing, as padding requires.
/// Axes iterate in the order in which they were added, the last fastest.
struct Space {
  struct Axis {
    Dim extent;
    bool reduced;
  };
  std::vector<Axis> axes;
  std::vector<std::vector<Ix>> reads;  ///< one per operand; empty for an absent operand
  std::vector<int> write;              ///< per output axis: a parallel axis, or -1 for a kept extent of 1
  std::vector<Fold> folds;             ///< one per output
  Ix report;                           ///< the value that argmax / argmin return
  bool last_wins = false;

  Ix parallel(Dim extent) { return push(extent, false); }
  Ix reduced(Dim extent) { return push(extent, true); }

 private:
  Ix push(Dim extent, bool is_reduced) {
    axes.push_back({extent, is_reduced});
    return {0, {{static_cast<int>(axes.size()) - 1, Dim(1)}}};
  }
};

/// The element that an index outside of the operand's axis reads: `none` if indices are never outside, `fill` for the
/// fill value, `clamp` for the nearest element, `reflect` for the index mirrored about the edge element, `wrap` for the
/// index modulo the extent.
#define FRAZIL_EDGES(X) X(none) X(fill) X(clamp) X(reflect) X(wrap)
enum class Edge : std::uint8_t {
#define FRAZIL_X(name) name,
  FRAZIL_EDGES(FRAZIL_X)
#undef FRAZIL_X
};
inline constexpr std::array kEdgeNames{
#define FRAZIL_X(name) std::string_view(#name),
    FRAZIL_EDGES(FRAZIL_X)
#undef FRAZIL_X
};

/// A view: a map from each output index to an element of the operand.
struct ViewMap {
  enum class Kind : std::uint8_t {
    affine,   ///< operand index d = offset_d + step_d * output index [axis_d]
    reshape,  ///< the same elements in row-major order
    concat,   ///< operands [source, ...) concatenated along `axis`
  };
  struct AxisMap {
    Dim offset = 0;
    int axis = -1;  ///< output axis; -1: the index is `offset`
    Dim step = 1;
    Edge edge = Edge::none;
  };
  Kind kind = Kind::affine;
  Shape shape;  ///< of the output
  int source = 0;
  std::vector<AxisMap> axes;  ///< affine: one per operand axis
  int fill = -1;              ///< index of the (scalar) operand with the fill value; -1: zero
  int axis = 0;               ///< concat: the output axis
};

/// Returns true if `holds` is true of every Dim.
bool all_dims(const Space& space, auto&& holds) {
  const auto of_index = [&](const Ix& ix) {
    return holds(ix.offset) && std::ranges::all_of(ix.terms, [&](const auto& term) { return holds(term.second); });
  };
  const auto of_read = [&](const std::vector<Ix>& read) { return std::ranges::all_of(read, of_index); };
  return std::ranges::all_of(space.axes, [&](const Space::Axis& axis) { return holds(axis.extent); }) &&
         std::ranges::all_of(space.reads, of_read) && of_index(space.report);
}
bool all_dims(const ViewMap& map, auto&& holds) {
  const auto of_axis = [&](const ViewMap::AxisMap& a) { return holds(a.offset) && holds(a.step); };
  return std::ranges::all_of(map.shape, holds) && std::ranges::all_of(map.axes, of_axis);
}

}  // namespace frazil
