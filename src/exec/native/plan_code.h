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
  std::vector<std::uint8_t> enters;           ///< per step: the code can be entered there
  std::vector<std::uint8_t> runs;             ///< per step: a launch that the code runs
  std::vector<const code::TileCode*> bodies;  ///< that are written into the code
  std::size_t scratch_bytes = 0;
  double milliseconds = 0;  ///< that it took to make it
};

/// The codes of one plan, for the extents that were often seen. Thread-safe.
class PlanCodes {
 public:
  /// Null where no code would pay: the plan launches nothing, or has very many steps. `bodies`: per step, whether it is
  /// a launch that may be written into the code.
  static std::unique_ptr<PlanCodes> make(const Plan& plan, const std::vector<bool>& bodies, Compiling when);

  /// Changes with every code that comes or goes.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// The code for the extents in these registers; null where there is none.
  std::shared_ptr<const PlanCode> find(std::span<const std::int64_t> regs);
  /// What the caller is to do next.
  enum class Wish : std::uint8_t {
    nothing,
    look,     ///< call compile(), which is to look into the cache on disk alone
    compile,  ///< call compile()
  };
  /// So much time was spent in so many steps with the extents in these registers without code. Each wish is
  /// returned once for extents.
  Wish wants(std::span<const std::int64_t> regs, double nanoseconds, std::uint64_t steps);
  /// The caller could not do what was wished: it may be wished again.
  void withdraw(std::span<const std::int64_t> regs);
  Compiling when() const { return when_; }
  /// Makes the code for the extents in these registers, with these bodies per step, or with Wish::look finds it.
  void compile(std::span<const std::int64_t> regs, std::vector<std::optional<code::NativeBody>> bodies, Wish wish);
  /// Whether the extents of a launch are known when a run starts.
  bool is_fixed(const step::Launch& launch) const;

  /// Whether a code runs launch step `i`.
  bool runs(StepIndex i) const;
  /// Whether a code has the body in it.
  bool contains(const code::TileCode& body) const;
  /// A line for each set of extents.
  std::string explain() const;

 private:
  using Extents = std::vector<std::int64_t>;
  struct Version {
    std::shared_ptr<const PlanCode> code;  ///< null: none can be made
    std::string why_not;
    std::uint64_t last_use = 0;
    double spent = 0;    ///< nanoseconds without code
    bool asked = false;  ///< wants() has been true
  };

  PlanCodes(const Plan& plan, const std::vector<bool>& bodies, Compiling when);
  Extents extents(std::span<const std::int64_t> regs) const;
  Version made(const code::NativePlan& native, Wish wish) const;
  code::NativePlan native_plan(std::span<const std::int64_t> regs,
                               std::vector<std::optional<code::NativeBody>> bodies) const;
  void drop_oldest();

  const Plan& plan_;
  const Compiling when_;
  std::vector<bool> fixed_;       // per register
  std::vector<Reg> determining_;  // those of them on which codes depend
  std::atomic<std::uint64_t> generation_{1};
  mutable Mutex mutex_;
  std::map<Extents, Version> versions_;
  std::uint64_t uses_ = 0;
  std::size_t looks_ = 0;  // into the cache
};

}  // namespace frazil::exec
