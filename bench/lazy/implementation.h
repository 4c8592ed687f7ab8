#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/lazy/workloads.h"

namespace bench::lazy {

/// The role of a row in comparisons. The ratio columns relate each row to the fastest one of `torch`, `handwritten` and
/// `folded`.
enum class Role { other, torch, handwritten, folded };

/// One way to compute a workload: a row of its table. The workload must outlive it.
class Implementation {
 public:
  Implementation(std::string name, Role role) : name_(std::move(name)), role_(role) {}
  virtual ~Implementation() = default;

  const std::string& name() const { return name_; }
  Role role() const { return role_; }

  /// Returns true if batches of this size are measured.
  virtual bool takes(std::int64_t /*batch*/) const { return true; }
  /// Called once before the measurement: packs weights, fills tables.
  virtual void prepare() {}
  /// Computes the results of `batch`. `results` has exactly their size, in the order of the instances. All work runs on
  /// the calling thread, whose processor time is measured. A batch must not leave data for the next one.
  virtual void run(const Batch& batch, std::span<float> results) = 0;

 private:
  std::string name_;
  Role role_;
};

using Implementations = std::vector<std::unique_ptr<Implementation>>;

}  // namespace bench::lazy
