#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "code/abi/abi.h"
#include "code/native/native.h"
#include "plan/model/plan.h"

// Machine code for the steps of a plan: requests to a code generator, and the interface of the code.
namespace frazil::code {

/// A launch that a session has prepared for calls from generated code.
struct NativeCall {
  void (*run)(const Call& call, const Worker& worker, std::int64_t begin, std::int64_t end) = nullptr;  ///< or null
  Call call;
  std::int64_t units = 0;
};

/// The data that the code shares with the session that runs it. The session owns the arrays; both read and write them.
struct NativeFrame {
  std::int64_t* regs = nullptr;           ///< Plan::registers
  std::byte** base = nullptr;             ///< per storage
  const std::byte* capacities = nullptr;  ///< per storage, NativePlan::capacity_step bytes apart: bytes as a size_t
  Worker worker;                   ///< its scratch serves the code (NativePlan::scratch_bytes) and prepared launches
  NativeCall* calls = nullptr;     ///< per step
  std::byte** pointers = nullptr;  ///< for the operands and then the results of a call
  std::int64_t* seen = nullptr;    ///< for group 0, then group 1, ...: the sources it was last computed from
  std::uint8_t* known = nullptr;   ///< per group: computed at least once
  std::uint8_t* recomputed = nullptr;   ///< per group: set to 1 by the code when it recomputes the group
  std::uint64_t left = 0;               ///< steps that the run may still take; each finished step takes one
  std::uint64_t iterations = 0;         ///< counts loop iterations
  std::uint64_t groups_recomputed = 0;  ///< counts groups
};

/// A function that runs from step `from`, one of NativePlan::enters, until a step that it leaves to the interpreter.
/// That is a step without code, one whose guard misses, or a launch that has no call or found a fault. It is also the
/// head of a loop if frame->left is less than the number of steps of the plan. Returns that step. Nothing of it has
/// run, unless it was called and its fault slot is not empty. Precondition: frame->left is at least the number of steps
/// of the plan.
using NativeSteps = std::uint32_t (*)(NativeFrame* frame, std::uint32_t from);

/// A product of one row of f32: C[n] = A[k] * B[k,n] + bias[n] + addend[n], with elements below 0 multiplied by
/// `negative_slope`. It has the bits of kernel::gemm(), summed in chains as in kernel/contract/gemm_row.h. Operand
/// numbers are those of the launch.
struct NativeProduct {
  std::int64_t k = 0, n = 0;
  std::int64_t a_step = 1;  ///< distance of elements of A, in elements
  std::int64_t b_row = 0;   ///< elements between rows of B, which are dense; if B is packed, between rows of its panels
  std::int64_t b_panel = 0;    ///< elements between panels of columns
  std::size_t packed_at = 0;   ///< offset in the launch's state of the address of the packed B; 0: B is operand b
  std::uint32_t a = 0, b = 0;  ///< operands
  std::uint32_t bias = kNone, addend = kNone;
  std::uint32_t into = 0;  ///< the result that it writes
  float negative_slope = 1;
  OperandRange epilogue;  ///< operands that the body after the product loads
};

/// A fused body in one place of a plan, with all extents known: rows of `n` elements in loops. Its operands and results
/// are those of the launch. After a product, its first operand is the product's result.
struct NativeBody {
  std::optional<NativeProduct> product;
  const TileCode* code = nullptr;  ///< null: there is only a product
  LoopForm form;
  std::int64_t n = 0;
  std::vector<std::int64_t> inner;               ///< per operand, then result: bytes between elements of a row
  std::vector<std::int64_t> extents;             ///< of the loops over rows, innermost first
  std::vector<std::vector<std::int64_t>> steps;  ///< per loop: bytes per operand and result
  std::size_t stride = 0;                        ///< bytes of a buffer of a program that works on rows
  std::size_t scratch_bytes = 0;
  /// Returns the number of elements that it computes, with eight multiply-adds counted as one element.
  std::int64_t elements() const;
  /// Returns the approximate number of instructions that a code generator writes.
  std::size_t instructions() const;
};

/// The part of a kernel for which code can be generated.
struct Emits {
  /// Returns the body at the extents of the last `prepare`; nullopt if no code can be written for them.
  std::optional<NativeBody> (*body)(const void* code, const void* state) = nullptr;
  bool all = false;  ///< the kernel runs only a tile program, which is its code
};

struct TileState;
/// Returns the body of a prepared state; nullopt if it has no code.
std::optional<NativeBody> native_body(const TileCode& code, const TileState& state);

/// A register and the value that code assumes.
struct KnownRegister {
  Reg reg = kNoReg;
  std::int64_t value = 0;
  bool operator==(const KnownRegister&) const = default;
};

/// The steps of a plan at certain extents.
struct NativePlan {
  const Plan* plan = nullptr;
  std::vector<std::optional<NativeBody>> bodies;   ///< per step
  std::vector<std::vector<KnownRegister>> guards;  ///< per step with a body: the values it requires
  std::vector<std::uint8_t> enters;                ///< per step: the code can be entered there
  std::size_t capacity_step = 0;
  std::size_t scratch_bytes = 0;

  /// Sets `enters`: the first step, heads of loops, and each step that the interpreter may reach after one that is, or
  /// may be, left to it. That is the next step, or one after others that ran at the same time.
  void find_entries();
  /// Returns a key that is equal for plans with equal code.
  std::string key() const;
};

/// Returns true if code is generated for a step. The code of a launch is its fused body or a call of its kernel entry.
bool has_native_code(const Plan& plan, const Step& step);
/// Returns the registers that no step changes: those that the inputs of a run determine.
std::vector<bool> fixed_registers(const Plan& plan);
/// Returns the registers of extents and strides of the slots that the launch reads and writes.
std::vector<Reg> extents_of(const Plan& plan, const step::Launch& launch);

}  // namespace frazil::code
