#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "base/value/error.h"
#include "base/value/extents.h"
#include "code/weights/weight_store.h"
#include "tensor/tensor.h"

// How a kernel step is run: what hand-written kernels and generated code have in common. The executor knows nothing
// else of them.
namespace frazil::code {

/// Concrete shape of one operand or result while a step is prepared. Strides in elements.
struct OperandShape {
  bool given = false;
  Elem elem = Elem::f32;
  std::span<const std::int64_t> dims, strides;
  bool contiguous = true;
  std::int64_t count() const { return element_count(dims); }
  bool empty() const { return std::ranges::find(dims, 0) != dims.end(); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * byte_size(elem); }
};

/// What an entry sees when extents are new. Its results hold until extents change again.
struct Prepare {
  std::span<const OperandShape> in, out;
  std::span<const std::int64_t> domain;  ///< as step::Launch has it
  std::span<const WeightRef> weights;    ///< per input: the weight that it is, or an empty one
  bool fast = true;                      ///< kernels of the numeric class "fast" may be chosen
  bool whole_rows = false;               ///< of a product: only tiles that span all columns are reported
  bool passing = false;                  ///< of a product: nothing keeps its result, which only its epilogue reads
  WeightRefs& packed;                    ///< where packed forms of weights are kept
  // Set by the entry:
  std::size_t scratch_bytes = 0;  ///< that each worker needs while it runs
  std::int64_t units = 1;         ///< parts of the work that do not depend on each other; from extents alone
  std::int64_t last_units = 0;    ///< of these, the last ones, which read what all others have written
  std::int64_t fewest_units = 1;  ///< in one call of run, for whose set-up they have to pay
  double nanoseconds = 0;         ///< what all units take on one core, roughly; 0: not worth sharing
  double last_nanoseconds = 0;    ///< of these, what the last units take
  bool awaits_code = false;       ///< there was no machine code for it: to be prepared again once there is some
};

/// What a kernel found wrong while it ran. The lowest unit counts, so that the report does not depend on who ran what.
class FaultSlot {
 public:
  /// Thread-safe; keeps the fault of the lowest unit. `first` and `second` are what the message shows.
  void report(std::int64_t unit, const char* text, std::int64_t first, std::int64_t second) noexcept;
  static constexpr std::int64_t kNone = INT64_MAX;  ///< the unit of an empty slot
  bool empty() const noexcept { return unit_.load(std::memory_order_acquire) == kNone; }
  /// "`text` (first, second)" as Code::bad_input; precondition: not empty, and no kernel runs.
  std::unexpected<Fault> take() noexcept;

 private:
  std::atomic<std::int64_t> unit_{kNone};  // first: generated code looks at it
  std::atomic_flag writing_ = ATOMIC_FLAG_INIT;
  const char* text_ = nullptr;
  std::int64_t first_ = 0, second_ = 0;
};

/// One run of a step: pointers to the first element of each operand and result, null for an absent one. Results follow
/// the operands in memory.
struct Call {
  std::byte* const* in = nullptr;
  std::byte* const* out = nullptr;
  const void* code = nullptr;   ///< CompiledStep::code
  const void* state = nullptr;  ///< that `prepare` filled
  FaultSlot* fault = nullptr;
};

/// Who runs a part of a call.
struct Worker {
  unsigned number = 0;           ///< no two that run at the same time have the same
  std::byte* scratch = nullptr;  ///< Prepare::scratch_bytes of its own, aligned to 64
};

/// Compiled form of a kernel step, for the host or a device. `prepare` makes it ready for extents. Immutable.
struct CompiledStep {
  std::size_t state_bytes = 0;  ///< of the state, which starts as zeros and is moved nowhere
  Status (*prepare)(Prepare& cx, const void* code, void* state) = nullptr;
  std::shared_ptr<const void> code;  ///< parameters, a tile program, a device's code
};

struct Emits;

/// The code of one kernel step on the host. Immutable; the executor may put another one in its place at any time.
///
/// `run` may be called for any ranges of units that cover [0, units) once, in any order, by any workers at once; last
/// units begin when all others have ended, and only a call for all units has both. A result's bits depend on units
/// alone. It does not throw, block, allocate or start threads; it returns early when
/// stop_requested(), and reports what it finds wrong to the fault slot.
struct KernelEntry {
  CompiledStep step;
  void (*run)(const Call& call, const Worker& worker, std::int64_t begin, std::int64_t end) = nullptr;
  /// The part of it for which code can be generated (code/native/native_plan.h); null: none.
  const Emits* emits = nullptr;
};

/// An entry whose code is a P and whose state is an S, made anew by each `prepare`.
template <class P, class S, Status (*prepare)(Prepare&, const P&, S&),
          void (*run)(const Call&, const Worker&, const S&, std::int64_t, std::int64_t)>
KernelEntry make_entry(P params) {
  static_assert(std::is_trivially_destructible_v<S>);
  return {.step = {.state_bytes = sizeof(S),
                   .prepare = [](Prepare& cx, const void* code, void* state) -> Status {
                     return prepare(cx, *static_cast<const P*>(code), *new (state) S{});
                   },
                   .code = std::make_shared<const P>(std::move(params))},
          .run = [](const Call& call, const Worker& worker, std::int64_t begin, std::int64_t end) {
            run(call, worker, *static_cast<const S*>(call.state), begin, end);
          }};
}

/// Splits `count` items of `each` elements into units of about `elements`; the items of a unit.
inline std::int64_t items_per_unit(std::int64_t each, std::int64_t elements) {
  return std::max<std::int64_t>(1, elements / std::max<std::int64_t>(each, 1));
}

template <class T = float>
T* as(std::byte* p) {
  return reinterpret_cast<T*>(p);
}

}  // namespace frazil::code
