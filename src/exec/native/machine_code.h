#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/native/native_compiler.h"
#include "exec/native/plan_code.h"

namespace frazil::exec {

/// The code that runs the bodies of fused kernels.
enum class Tier : std::uint8_t {
  interpreted,  ///< tier 0: tile programs on kernels compiled ahead of time
  compiled,     ///< tier 1: machine code, made when extents need it; tile programs if none can be made
  specialised,  ///< tier 2: also machine code for a whole plan at the extents seen, made by the run that sees them
  adaptive,     ///< tier 0 at first; what takes time gets the code of tiers 1 and 2 from the compile thread
};

/// Returns the tier that users call "0", "1", "2" or "auto"; nullopt for any other text.
std::optional<Tier> tier_named(std::string_view name);

/// The machine code of one executable. Grows while sessions run. Thread-safe, except add_plan().
class MachineCode {
 public:
  explicit MachineCode(Tier tier);

  /// Adds code for whole plans if the tier has it. `bodies`: as PlanCodes::make(). `plan` must outlive this object.
  void add_plan(const Plan& plan, const std::vector<bool>& bodies);
  /// Returns the compiler from which sessions request the code of bodies; null on tier 0.
  const std::shared_ptr<NativeCompiler>& bodies() const { return bodies_; }
  /// Returns the codes of tier 2; null on lower tiers, and if no code would pay.
  PlanCodes* plan() const { return plan_.get(); }

  /// Returns whether sessions requested bodies that have no code yet.
  bool lacks_bodies() const { return bodies_ != nullptr && bodies_->has_missing(); }
  /// Adds the time of a run that lacked bodies. Requests their compilation if that pays. Adaptive tier only. `owner`
  /// owns this object and the tile programs.
  void spent(double nanoseconds, std::weak_ptr<const void> owner);

  /// Describes what tiers 1 and 2 compiled and what they could not, one line each. Empty on tier 0.
  std::string explain() const;

 private:
  void make_missing(bool pays);

  const Tier tier_;
  std::shared_ptr<NativeCompiler> bodies_;
  std::unique_ptr<PlanCodes> plan_;
  std::atomic<double> spent_ = 0;     // nanoseconds since code was last requested
  std::atomic<bool> looked_ = false;  // whether existing code was searched for
};

}  // namespace frazil::exec
