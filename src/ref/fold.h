#pragma once

#include <memory>

#include "base/value/error.h"
#include "ir/op/space.h"
#include "ref/points.h"
#include "tensor/tensor.h"

namespace frazil::ref {

/// An accumulator for one output of a contraction.
class Folder {
 public:
  virtual ~Folder() = default;
  virtual void add(const Batch& batch) = 0;
  /// Writes the folded values; outputs without points get the fold's identity.
  virtual void store(Tensor& out) const = 0;

  /// Makes a folder. `value` is the result type of the scalar program. sum and prod are computed in
  /// compute_elem(out.elem()), f32 in double; the other folds work on the values. argmax and argmin without points give
  /// 0 if the reduced axes are empty, otherwise -1. NaN is the extreme value.
  static Result<std::unique_ptr<Folder>> make(Fold fold, Elem value, const Tensor& out, bool last_wins, bool no_points);
};

}  // namespace frazil::ref
