#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "code/abi/abi.h"
#include "code/native/native.h"
#include "plan/model/plan.h"

// Machine code for the steps of a plan: what a code generator is asked for, and how the code is called.
namespace frazil::code {

/// A launch that a session has prepared, so that generated code can call it.
struct NativeCall {
  void (*run)(const Call& call, const Worker& worker, std::int64_t begin, std::int64_t end) = nullptr;  ///< or null
  Call call;
  std::int64_t units = 0;
};

/// What the code shares with the session that runs it. Arrays are the session's own, which both read and write.
struct NativeFrame {
  std::int64_t* regs = nullptr;           ///< Plan::registers
  std::byte** base = nullptr;             ///< per storage
  const std::byte* capacities = nullptr;  ///< per storage, NativePlan::capacity_step bytes apart: bytes as a size_t
  Worker worker;                          ///< its scratch: NativePlan::scratch_bytes, and what prepared launches need
  NativeCall* calls = nullptr;            ///< per step
  std::byte** pointers = nullptr;         ///< where the operands and results of a call go, in this order
  std::int64_t* seen = nullptr;           ///< of group 0, then of group 1, ...: the sources it was computed from
  std::uint8_t* known = nullptr;          ///< per group: computed at least once
  std::uint8_t* recomputed = nullptr;     ///< per group: set to 1 by the code when it recomputes the group
  std::uint64_t left = 0;                 ///< steps that the run may still take; each step that is done takes one
  std::uint64_t iterations = 0;           ///< counts loop iterations
  std::uint64_t groups_recomputed = 0;    ///< counts groups
};

/// Runs from step `from`, one of NativePlan::enters, until a step that it leaves to the interpreter: one without code,
/// one whose guard misses, a launch that has no call or found a fault, or the head of a loop when fewer than
/// Plan::steps steps are left. Nothing of the step that it returns has run, unless it was called and its fault slot is
/// not empty. Precondition: frame->left is at least the number of steps of the plan.
using NativeSteps = std::uint32_t (*)(NativeFrame* frame, std::uint32_t from);

/// A product of one row of f32, C[n] = A[k] * B[k,n] + bias[n] + addend[n], elements below 0 multiplied by `slope`:
/// with the bits of kernel::Gemm, in chains as kernel/gemm_row.h has them. Numbers of operands are those of the launch.
struct NativeProduct {
  std::int64_t k = 0, n = 0;
  std::int64_t a_step = 1;     ///< elements of A apart
  std::int64_t b_row = 0;      ///< elements between rows of B, which are dense; of a packed B, of its panels
  std::int64_t b_panel = 0;    ///< elements between panels of columns
  std::size_t packed_at = 0;   ///< where in the launch's state the address of the packed B is; 0: it is operand b
  std::uint32_t a = 0, b = 0;  ///< operands
  std::uint32_t bias = kNone, addend = kNone;
  std::uint32_t into = 0;  ///< the result that it writes
  float slope = 1;
  OperandRange behind;  ///< what the body behind it loads beside its result
};

/// A fused body in one place of a plan, all its extents known: rows of `n` elements in loops. Its operands and results
/// are those of the launch; behind a product, its first operand is the product's result.
struct NativeBody {
  std::optional<NativeProduct> product;
  const TileCode* code = nullptr;  ///< null: there is a product alone
  LoopForm form;
  std::int64_t n = 0;
  std::vector<std::int64_t> inner;               ///< per operand, then result: bytes between elements of a row
  std::vector<std::int64_t> extents;             ///< of the loops over rows, innermost first
  std::vector<std::vector<std::int64_t>> steps;  ///< per loop: bytes per operand and result
  std::size_t stride = 0;                        ///< bytes of a buffer of a program that works on rows
  std::size_t scratch_bytes = 0;
  /// What it computes, eight multiply-adds counted as one element.
  std::int64_t elements() const;
  /// What a code generator writes out, roughly.
  std::size_t instructions() const;
};

/// The part of a kernel for which code can be generated.
struct Emits {
  /// The body at the extents that `prepare` last had; nothing where it cannot be written out at these.
  std::optional<NativeBody> (*body)(const void* code, const void* state) = nullptr;
  bool all = false;  ///< the kernel runs nothing but a tile program, which its code is
};

struct TileState;
/// A body as it was prepared for extents; nothing where it has no code.
std::optional<NativeBody> native_body(const TileCode& code, const TileState& state);

/// A register and the value that code takes for granted.
struct KnownRegister {
  Reg reg = kNoReg;
  std::int64_t value = 0;
  bool operator==(const KnownRegister&) const = default;
};

/// The steps of a plan at certain extents.
struct NativePlan {
  const Plan* plan = nullptr;
  std::vector<std::optional<NativeBody>> bodies;   ///< per step
  std::vector<std::vector<KnownRegister>> guards;  ///< per step with a body: what holds if it is to run
  std::vector<std::uint8_t> enters;                ///< per step: the code can be entered there
  std::size_t capacity_step = 0;
  std::size_t scratch_bytes = 0;

  /// Sets `enters`: the first step, heads of loops, and each step at which the interpreter may arrive after one that is
  /// left to it or may be. That is the next step, or one after others that ran at the same time.
  void find_entries();
  /// Equal for plans that have equal code.
  std::string key() const;
};

/// Whether code is generated for a step: of a launch, its body or a call.
bool has_native_code(const Plan& plan, const Step& step);
/// Registers that no step changes: what the inputs of a run determine.
std::vector<bool> fixed_registers(const Plan& plan);
/// Extents and strides of what the launch reads and writes.
std::vector<Reg> extents_of(const Plan& plan, const step::Launch& launch);

}  // namespace frazil::code
