#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "govern/gate/governor.h"
#include "server/model/served.h"

namespace frazil::server {

/// The fields that rules may read of a request before it runs. Functions are called if a rule reads it; null: it is
/// absent.
struct RunOutlook {
  std::function<std::optional<std::int64_t>()> budget_left = {};  ///< nanoseconds left in the tenant's budget
  std::function<govern::RunForecast()> forecast = {};
};

/// Asks a policy for a client's request: hook `run`, and hook `dispatch` if the client has named the version. Returns
/// the refusal (forbidden) with the rule and its reason, or nullopt. An exception in deciding is a refusal, too. Looks
/// up the permits that `target` keeps.
std::optional<Refusal> refusal_by_policy(const Call& call, const Served& target, govern::Governor& governor,
                                         const RunOutlook& outlook = {}) noexcept;

/// Returns the texts of parameters, as rules read them: true, 12, 0.5, text.
std::string text_of_parameter(const Parameter& parameter);

}  // namespace frazil::server
