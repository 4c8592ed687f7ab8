#pragma once

#include <memory>

#include "base/error.h"
#include "ir/space.h"
#include "ref/points.h"
#include "tensor/tensor.h"

namespace frazil::ref {

/// One output of a contraction while its points come in.
class Folder {
 public:
  virtual ~Folder() = default;
  virtual void add(const Batch& batch) = 0;
  /// Writes the folded values; outputs without points get the fold's identity.
  virtual void store(Tensor& out) const = 0;

  /// `value`: what the tape gives. sum and prod happen in compute_elem(out.elem()), f32 in double; the others on the
  /// values. argmax and argmin without points give 0 when the reduced axes are empty, else -1; NaN beats all.
  static Result<std::unique_ptr<Folder>> make(Fold fold, Elem value, const Tensor& out, bool last_wins, bool no_points);
};

}  // namespace frazil::ref
