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

// The interface of kernel steps, common to hand-written kernels and generated code. The executor depends on nothing
// else of them.
namespace frazil::code {

/// The concrete shape of an operand or result while a step is prepared. Strides are in elements.
struct OperandShape {
  bool given = false;
  Elem elem = Elem::f32;
  std::span<const std::int64_t> dims, strides;
  bool contiguous = true;
  std::int64_t count() const { return element_count(dims); }
  bool empty() const { return std::ranges::find(dims, 0) != dims.end(); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * byte_size(elem); }
};

/// The extents that an entry is prepared for, and the results. These are valid until extents change again.
struct Prepare {
  std::span<const OperandShape> in, out;
  std::span<const std::int64_t> domain;  ///< see step::Launch
  std::span<const WeightRef> weights;    ///< per input: its weight, or an empty reference
  bool fast = true;                      ///< kernels of the numeric class "fast" may be chosen
  bool whole_rows = false;               ///< product: only tiles that span all columns are reported
  bool passing = false;                  ///< product: its result is not stored; only its epilogue reads it
  WeightRefs& packed;                    ///< keeps the packed forms of weights
  // Set by the entry:
  std::size_t scratch_bytes = 0;  ///< needed by each worker while it runs
  std::int64_t units = 1;         ///< independent parts of the work; depends on extents only
  std::int64_t last_units = 0;    ///< the last ones of these, which read what all others have written
  std::int64_t min_units = 1;     ///< least number in one call of run, so that its set-up pays
  double nanoseconds = 0;         ///< approximate time of all units on one core; 0: not worth sharing
  double last_nanoseconds = 0;    ///< the part of it that the last units take
  bool awaits_code = false;       ///< there was no machine code; prepare again once there is some
};

/// The error that a kernel found while it ran. That of the lowest unit is kept, so that the report does not depend on
/// scheduling.
class FaultSlot {
 public:
  /// Reports a fault and keeps that of the lowest unit. The message shows `first` and `second`. Thread-safe.
  void report(std::int64_t unit, const char* text, std::int64_t first, std::int64_t second) noexcept;
  static constexpr std::int64_t kNone = INT64_MAX;  ///< the unit of an empty slot
  bool empty() const noexcept { return unit_.load(std::memory_order_acquire) == kNone; }
  /// Returns "`text` (first, second)" as Code::bad_input and empties the slot. Precondition: the slot is not empty, and
  /// no kernel runs.
  std::unexpected<Fault> take() noexcept;

 private:
  std::atomic<std::int64_t> unit_{kNone};  // first member: generated code reads it
  std::atomic_flag writing_ = ATOMIC_FLAG_INIT;
  const char* text_ = nullptr;
  std::int64_t first_ = 0, second_ = 0;
};

/// One run of a step. `in` and `out` are pointers to the first element of each operand and result, null for an absent
/// one. Results follow the operands in memory.
struct Call {
  std::byte* const* in = nullptr;
  std::byte* const* out = nullptr;
  const void* code = nullptr;   ///< CompiledStep::code
  const void* state = nullptr;  ///< filled by `prepare`
  FaultSlot* fault = nullptr;
};

/// The resources of the thread that runs a part of a call.
struct Worker {
  unsigned number = 0;           ///< unique among workers that run at the same time
  std::byte* scratch = nullptr;  ///< Prepare::scratch_bytes of its own, aligned to 64 bytes
};

/// The compiled form of a kernel step, for the host or a device. `prepare` makes it ready for extents. Immutable.
struct CompiledStep {
  std::size_t state_bytes = 0;  ///< of the state, which starts as zeros and is never moved
  Status (*prepare)(Prepare& cx, const void* code, void* state) = nullptr;
  std::shared_ptr<const void> code;  ///< parameters, a tile program, a device's code
};

struct Emits;

/// The code of one kernel step on the host. Immutable; the executor may replace it by another one at any time.
///
/// `run` is called for ranges of units that cover [0, units) once, in any order and by any workers, also at the same
/// time. The last units begin when all others have ended. A call contains both last units and others only if it is
/// for all units.
/// The bits of a result depend on units alone. `run` does not throw, block, allocate or start threads. It returns early
/// when stop_requested(), and reports errors to the fault slot.
struct KernelEntry {
  CompiledStep step;
  void (*run)(const Call& call, const Worker& worker, std::int64_t begin, std::int64_t end) = nullptr;
  /// The part for which code can be generated (code/native/native_plan.h); null: none.
  const Emits* emits = nullptr;
};

/// Makes an entry whose code is a P and whose state is an S. Each `prepare` constructs the S.
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

/// Returns the number of items of `each` elements in a unit of about `elements` elements.
inline std::int64_t items_per_unit(std::int64_t each, std::int64_t elements) {
  return std::max<std::int64_t>(1, elements / std::max<std::int64_t>(each, 1));
}

template <class T = float>
T* as(std::byte* p) {
  return reinterpret_cast<T*>(p);
}

}  // namespace frazil::code
