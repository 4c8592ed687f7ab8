#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "govern/audit/verify.h"

namespace frazil::govern {

/// Compares the steps of requests in a log with the reports that the log keeps for their definitions.
class PathsInLog {
 public:
  /// `prepare` may be empty: then nothing is compared. The arguments must outlive the object.
  PathsInLog(const std::string& folder, const PrepareReport& prepare, VerifyReport& report)
      : folder_(folder), prepare_(prepare), report_(report) {}

  /// Notes the report of a definition that is served from now on; `event` is of kind load, edit, publish or roll_back.
  void publish(const Json& event);
  /// Compares a request. Texts are JSON; `steps` and `cost` may be empty.
  void request(std::uint64_t entry, std::string_view model, std::string_view version, std::string_view definition,
               std::string_view steps, std::string_view cost);
  /// Adds notes on what was compared and what could not be.
  void finish();

 private:
  struct Known {
    std::string report;  ///< digest; empty if the event has none
    std::string model, version;
    bool is_read = false;
    ComparePath compare = {};
  };
  const ComparePath& compare_of(Known& known);

  const std::string& folder_;
  const PrepareReport& prepare_;
  VerifyReport& report_;
  std::unordered_map<std::string, Known> known_;  ///< by model and version as JSON texts, and definition
  std::uint64_t compared_ = 0, without_report_ = 0, slow_ = 0;
};

}  // namespace frazil::govern
