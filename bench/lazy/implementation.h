#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/lazy/workloads.h"

namespace bench::lazy {

/// What a row is compared as. The columns of ratios relate each row to the fastest one of `torch`,
/// `handwritten` and `folded`.
enum class Role { other, torch, handwritten, folded };

/// One way to compute a workload: a row of its table. Made for one workload, which outlives it.
class Implementation {
 public:
  Implementation(std::string name, Role role) : name_(std::move(name)), role_(role) {}
  virtual ~Implementation() = default;

  const std::string& name() const { return name_; }
  Role role() const { return role_; }

  /// Whether it is measured with batches of this size.
  virtual bool takes(std::int64_t /*batch*/) const { return true; }
  /// Called once, outside of the clock: packs weights, fills tables.
  virtual void prepare() {}
  /// Computes the results of `batch`; `results` has exactly their size, in the order of the instances. All work on one
  /// thread, the caller's, whose processor time is measured. Nothing of a batch may be kept for the next one.
  virtual void run(const Batch& batch, std::span<float> results) = 0;

 private:
  std::string name_;
  Role role_;
};

using Implementations = std::vector<std::unique_ptr<Implementation>>;

}  // namespace bench::lazy
