#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "exec/pack_store.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

namespace frazil {

/// Concrete shape of one operand while a step is prepared. Strides in elements.
struct OperandShape {
  bool given = false;
  Elem elem = Elem::f32;
  std::span<const std::int64_t> dims, strides;
  bool contiguous = true;
  std::int64_t count() const { return element_count(dims); }
  bool empty() const { return std::ranges::find(dims, 0) != dims.end(); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * byte_size(elem); }
};

/// What a kernel sees when shapes are new. It fills its state; results hold until shapes change again.
struct PrepareCx {
  const Plan& plan;
  const Step& step;
  const Node& node;
  std::span<const OperandShape> in, out;
  std::span<const std::int64_t> space;          ///< Step::space
  std::span<const std::byte* const> constants;  ///< per input: its bytes when it is a weight, else null
  PackStore& packs;
  std::size_t scratch_bytes = 0;  ///< what run needs; set by the kernel
  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(node.attrs.get());
  }
};

/// Pointers to the first element of each operand; null for an absent one. Results follow the inputs in memory.
struct RunCx {
  std::byte* const* in;
  std::byte* const* out;
  std::byte* scratch;
};

/// One kernel as the executor sees it. `state` is trivially copyable and lives in the session.
struct KernelCode {
  std::size_t state_bytes = 0;
  Status (*prepare)(PrepareCx& cx, void* state) = nullptr;
  void (*run)(const RunCx& cx, const void* state) = nullptr;
  /// What the state of this step takes beyond state_bytes; null: nothing.
  std::size_t (*more_state)(const Plan& plan, const Step& step) = nullptr;
};

/// Null for kernels that the session runs itself (reference, opaque).
const KernelCode* code_for(Kernel kernel);

}  // namespace frazil
