#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/thread/mutex.h"
#include "code/native/native_plan.h"
#include "exec/native/native_code.h"
#include "exec/native/native_compiler.h"

namespace frazil::exec {

/// Machine code for the steps of a plan at certain extents. Immutable.
struct PlanCode {
  std::shared_ptr<const NativeCode> code;
  code::NativeSteps run = nullptr;
  std::vector<std::uint8_t> enters;           ///< per step: whether the code can be entered there
  std::vector<std::uint8_t> runs;             ///< per step: whether it is a launch that the code runs
  std::vector<const code::TileCode*> bodies;  ///< tile programs inlined into the code
  std::size_t scratch_bytes = 0;
  double milliseconds = 0;  ///< time that it took to make the code
};

/// The codes of one plan, for extents that were seen often. Thread-safe.
class PlanCodes {
 public:
  /// Returns null if no code would pay: the plan launches nothing, or has too many steps. `bodies`: per step, whether
  /// it is a launch whose body may be inlined into the code.
  static std::unique_ptr<PlanCodes> make(const Plan& plan, const std::vector<bool>& bodies, Compiling when);

  /// Returns a number that changes whenever a code is added or dropped.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// Returns the code for the extents in these registers; null if there is none.
  std::shared_ptr<const PlanCode> find(std::span<const std::int64_t> regs);
  /// The next action of the caller.
  enum class CodeRequest : std::uint8_t {
    nothing,
    look,     ///< call compile(), which then only searches the cache on disk
    compile,  ///< call compile()
  };
  /// Records the time and the steps of a run without code, at the extents in these registers. Returns each request once
  /// per set of extents.
  CodeRequest record_run(std::span<const std::int64_t> regs, double nanoseconds, std::uint64_t steps);
  /// Reports that the caller could not fulfil a request, so that it may be returned again.
  void withdraw(std::span<const std::int64_t> regs);
  Compiling when() const { return when_; }
  /// Makes the code for the extents in these registers, with these bodies per step. For CodeRequest::look, searches
  /// only the cache.
  void compile(std::span<const std::int64_t> regs, std::vector<std::optional<code::NativeBody>> bodies,
               CodeRequest code_request);
  /// Returns whether the extents of a launch are known when a run starts.
  bool is_fixed(const step::Launch& launch) const;

  /// Returns whether any code runs launch step `i`.
  bool runs(StepIndex i) const;
  /// Returns whether any code contains the body.
  bool contains(const code::TileCode& body) const;
  /// Describes each set of extents, one line each.
  std::string explain() const;

 private:
  using Extents = std::vector<std::int64_t>;
  struct Version {
    std::shared_ptr<const PlanCode> code;  ///< null if there is none, or not yet
    std::string why_not;
    std::uint64_t last_use = 0;
    double spent = 0;    ///< nanoseconds without code
    bool asked = false;  ///< a code was requested or made
  };

  PlanCodes(const Plan& plan, const std::vector<bool>& bodies, Compiling when);
  Extents extents(std::span<const std::int64_t> regs) const;
  Version made(const code::NativePlan& native, CodeRequest code_request) const;
  code::NativePlan native_plan(std::span<const std::int64_t> regs,
                               std::vector<std::optional<code::NativeBody>> bodies) const;
  void drop_oldest();

  const Plan& plan_;
  const Compiling when_;
  std::vector<bool> fixed_;       // per register
  std::vector<Reg> determining_;  // the fixed registers that codes depend on
  std::atomic<std::uint64_t> generation_{1};
  mutable Mutex mutex_;
  std::map<Extents, Version> versions_;
  std::uint64_t uses_ = 0;
  std::size_t lookups_ = 0;  // searches of the cache
};

}  // namespace frazil::exec
