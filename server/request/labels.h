#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace frazil::server {

/// The declarations of a server or a model about personal values, by name.
struct PersonalNames {
  std::set<std::string, std::less<>> personal;  ///< inputs, parameters and features; "*": all
  std::set<std::string, std::less<>> shown;     ///< see GovernanceConfig::shown

  bool is_personal(std::string_view name) const {
    return (personal.contains(name) || personal.contains("*")) && !shown.contains(name);
  }
  /// Returns true if the result of a function in a formula may be shown.
  bool shows(std::string_view function, std::string_view of) const {
    return shown.contains(std::string(function).append(" of ").append(of));
  }
  PersonalNames with(const std::vector<std::string>& more) const {
    PersonalNames both = *this;
    both.personal.insert(more.begin(), more.end());
    return both;
  }
  bool operator==(const PersonalNames&) const = default;
};

/// The parts of a served version that are personal or computed from personal values. Names of steps are those of
/// PathRecord::Step::node.
struct Labels {
  bool any = false;                               ///< a value of a request is personal
  std::set<std::string, std::less<>> values;      ///< personal inputs and outputs
  std::set<std::string, std::less<>> open;        ///< steps whose reasons and counts show no personal value
  std::set<std::string, std::less<>> node_texts;  ///< "node 'If_12' (If)", as errors of the model begin

  bool shows_reason(std::string_view node) const { return !any || open.contains(node); }
};

}  // namespace frazil::server
