#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/policy.h>

#include "base/os/file_check.h"

namespace frazil::api {

/// The policies of a model: that of its load, and those of the LiveModels that it was published in. Each check begins
/// with the policy of the process.
class Policies {
 public:
  Policies() = default;
  explicit Policies(std::shared_ptr<Policy> policy);

  bool has(const Policies& others) const;
  /// Adds the policies of `others` that are missing.
  void add(const Policies& others);

  /// Returns a check for the files of a load; empty if there is no policy.
  FileCheck file_check() const;
  /// The checks throw Code::bad_input with the reason of the first policy that rejects.
  void check_load(const Model& model) const;
  /// Calls check_load() of those policies for which a changed model is loaded, and then check_change().
  void check_change(const Change& change) const;
  void check_run(const Model& model) const;
  void check_dispatch(const Dispatch& dispatch) const;
  void check_operator(const HostOperator& op) const;

 private:
  /// Returns the first reason for a rejection.
  template <class... Parameters, class... Arguments>
  std::optional<std::string> rejection(std::optional<std::string> (Policy::*check)(Parameters...),
                                       const Arguments&... arguments) const;

  /// Calls `found` with each policy until it returns true.
  template <class Found>
  void any(const Found& found) const;
  bool contains(const std::shared_ptr<Policy>& policy) const;

  std::vector<std::shared_ptr<Policy>> all_;
};

}  // namespace frazil::api
