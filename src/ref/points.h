#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/value/error.h"
#include "ir/op/space.h"
#include "ref/scalar_eval.h"
#include "tensor/tensor.h"

namespace frazil::ref {

/// Points of an iteration space whose values are in the scalar program's result register.
struct Batch {
  std::size_t n = 0;
  const std::byte* values = nullptr;
  const std::int64_t* out = nullptr;     ///< output element of each point
  const std::int64_t* report = nullptr;  ///< Space::report of each point
};

/// One operand of the scalar program. `data` is contiguous; `reads` is empty for a scalar.
struct Operand {
  Tensor data;
  std::vector<Ix> reads;
};

/// Returns the space of an Elementwise node: one parallel axis per output axis. Operands are read with broadcasting.
Space broadcast_space(std::span<const std::int64_t> sizes);
std::vector<Ix> broadcast_reads(std::span<const std::int64_t> operand, std::span<const std::int64_t> sizes);
/// Returns the extents of the outputs.
Result<Sizes> output_sizes(const Space& space);

/// Evaluates the scalar program at each point of the space whose reads are inside the operands. Passes the values to
/// `sink` in batches. Parallel axes are the outer loops, reduced axes the inner ones, each in the order in which they
/// were added. Returns Code::internal if a dim is not constant.
Status for_points(const Space& space, std::span<const Operand> operands, TapeRun& tape,
                  const std::function<void(const Batch&)>& sink);

}  // namespace frazil::ref
