#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "code/abi/abi.h"
#include "code/tile/tile_state.h"
#include "kernel/tile/tile.h"
#include "plan/lower/contraction.h"

// A space of params::Contraction with concrete extents; private to contraction_*.cc.
namespace frazil::code {

/// An affine function of the axes of a space.
struct SpaceLine {
  std::int64_t base = 0;
  std::int64_t factor[kMaxSpaceAxes] = {};
};

/// The access to an operand. A point whose index `axis[d]` is outside [0, extent[d]) contributes nothing.
struct SpaceRead {
  bool given = false;
  Elem elem = Elem::f32;
  int rank = 0;
  SpaceLine axis[kMaxSpaceAxes];
  std::int64_t extent[kMaxSpaceAxes] = {};
  SpaceLine place;  ///< position, in elements
};

struct ConcreteSpace {
  int axes = 0, operands = 0;
  std::int64_t extent[kMaxSpaceAxes] = {};
  bool reduced[kMaxSpaceAxes] = {};
  SpaceRead reads[kMaxSpaceOperands];
  SpaceLine result;  ///< position in each result, in elements; all have the same strides
  SpaceLine report;
};

/// Reads a space. Fails with Code::internal if results have different strides.
Status read_space(const Prepare& cx, const params::Contraction& p, ConcreteSpace& space);

/// A counter through some axes of a space, the last one fastest.
class AxisCounter {
 public:
  AxisCounter(const ConcreteSpace& space, std::span<const std::int8_t> axes) : space_(space), axes_(axes) {}

  /// Sets the axes to those of the point with this number.
  void start(std::int64_t number, std::int64_t* index) const {
    for (std::size_t i = axes_.size(); i-- > 0;) {
      const std::int64_t extent = space_.extent[axes_[i]];
      index[axes_[i]] = number % extent;
      number /= extent;
    }
  }
  /// Advances to the next point. Returns false after the last point, where all axes are 0 again.
  bool next(std::int64_t* index) const {
    for (std::size_t i = axes_.size(); i-- > 0;) {
      if (++index[axes_[i]] < space_.extent[axes_[i]]) return true;
      index[axes_[i]] = 0;
    }
    return false;
  }
  /// Returns the number of points.
  std::int64_t count() const {
    std::int64_t n = 1;
    for (const std::int8_t a : axes_) n *= space_.extent[a];
    return n;
  }

 private:
  const ConcreteSpace& space_;
  std::span<const std::int8_t> axes_;
};

/// A few axes of a space, in its order.
struct AxisList {
  std::int8_t axis[kMaxSpaceAxes] = {};
  int count = 0;
  void add(int a) { axis[count++] = static_cast<std::int8_t>(a); }
  std::span<const std::int8_t> all() const { return {axis, static_cast<std::size_t>(count)}; }
};

inline std::int64_t value_at(const SpaceLine& line, int axes, const std::int64_t* index) {
  std::int64_t at = line.base;
  for (int a = 0; a < axes; ++a) at += line.factor[a] * index[a];
  return at;
}

/// Positions [low, high) of a run.
struct SpaceRun {
  std::int64_t low, high;
  bool empty() const { return low >= high; }
  /// Keeps the i with 0 <= at + step * i < extent.
  void clip(std::int64_t at, std::int64_t step, std::int64_t extent);
  /// Keeps the positions inside the operand of a run that starts at `index` and goes along axis `along`.
  void clip(const SpaceRead& read, int axes, const std::int64_t* index, int along);
};

// Two ways to run a space. prepare_space_product() sets `serves` if matrix products can run it, else loops do. Both set
// units, scratch and cost in `cx`.

/// A space as matrix products: a sum of products of two operands, one of which is copied a patch at a time.
struct SpaceProduct {
  bool is_supported = false;
  int weights = 0, image = 1;  ///< operands
  int row = 0;                 ///< the axis that only the weights have; its positions are rows of the product
  AxisList outer, columns, depth;
  std::int64_t rows = 0, cols = 0, steps = 0;
  std::int64_t chunk = 0, chunks = 0;  ///< columns of a chunk, and number of chunks
  bool weights_in_place = false, direct = false;
  Elem elem = Elem::f32;  ///< type in which it is computed
};
void prepare_space_product(Prepare& cx, const params::Contraction& p, const ConcreteSpace& space, SpaceProduct& s);
void run_space_product(const Call& call, const Worker& worker, const ConcreteSpace& space, const SpaceProduct& s,
                       Elem result, std::int64_t begin, std::int64_t end);

/// The fold of one result.
struct FoldCode {
  Fold fold = Fold::sum;
  Elem folded = Elem::f32;          ///< type of the fold
  Elem elem = Elem::f32;            ///< type of the result
  kernel::TileFn finish = nullptr;  ///< converts to the result's compute type; null: not needed
};

/// The body on a run of results. Its operands are those of the space and then the held values of folds that accumulate.
/// Its results are the next held values or, for argmax and argmin, values.
struct LoopsCode {
  TileCode body;
  std::vector<FoldCode> folds;  ///< per result
  bool last_wins = false;
};
LoopsCode compile_loops(const params::Contraction& p, const std::shared_ptr<NativeSource>& native);

/// A space as loops: runs of results along one axis, one point of the reduced axes at a time.
struct SpaceLoops {
  static constexpr std::int64_t kRun = 256;  ///< elements
  int along = -1;                            ///< -1: a space without axes
  AxisList outer, lines;                     ///< lines: the reduced axes except the last one
  int last = -1;                             ///< the last reduced axis; -1: none
  std::int64_t points = 1;                   ///< extent of the last reduced axis
  std::int64_t instructions = 0;
  bool nothing = false;     ///< a reduced axis is empty
  std::size_t buffers = 0;  ///< offset of the folds' buffers in a worker's scratch
};
/// `tiles` has tile_state_bytes() of the body.
Status prepare_space_loops(Prepare& cx, const params::Contraction& p, const LoopsCode& code, const ConcreteSpace& space,
                           SpaceLoops& s, TileState& tiles);
void run_space_loops(const Call& call, const Worker& worker, const ConcreteSpace& space, const LoopsCode& code,
                     const SpaceLoops& s, const TileState& tiles, std::int64_t begin, std::int64_t end);

}  // namespace frazil::code
