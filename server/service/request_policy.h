#pragma once

#include <cstdint>
#include <optional>

#include "govern/gate/governor.h"
#include "server/model/served.h"

namespace frazil::server {

/// Asks a policy for a client's request: hook `run`, and hook `dispatch` if the client has named the version. Returns
/// the refusal (forbidden) with the rule and its reason, or nullopt. An exception in deciding is a refusal, too. Looks
/// up the permits that `target` keeps. `budget_left`: nanoseconds that are left in the tenant's budget; nullopt: none.
std::optional<Refusal> refusal_by_policy(const Call& call, const Served& target, govern::Governor& governor,
                                         std::optional<std::int64_t> budget_left = {}) noexcept;

/// Returns the cost that rules read: the mean of earlier requests of the version, or before the first one the bound in
/// its report; and the memory bound in its report. Absent if there are none.
govern::RunForecast forecast_of(const Served& target, const govern::Governor& governor);

/// Returns the texts of parameters, as rules read them: true, 12, 0.5, text.
std::string text_of_parameter(const Parameter& parameter);

}  // namespace frazil::server
