#include "server/service/request_policy.h"

#include <variant>

#include "server/access/governed.h"
#include "server/core/json_text.h"

namespace frazil::server {
namespace {

govern::RunQuestion run_question(const Call& call, const Served& target, bool per_request, const RunOutlook& outlook) {
  govern::RunQuestion question{.model = target.name(), .version = target.version(), .digest = target.digest()};
  if (!per_request) return question;
  question.priority = static_cast<std::int64_t>(call.request.priority != 0 ? call.request.priority
                                                                           : target.config().batching.default_level);
  for (const auto& [name, value] : call.request.parameters) {
    question.parameters.emplace_back(name, text_of_parameter(value));
  }
  if (outlook.forecast) question.forecast = outlook.forecast();
  if (outlook.budget_left) question.budget_left = outlook.budget_left();
  return question;
}

std::optional<Refusal> decided_refusal(const Call& call, const Served& target, govern::Governor& governor,
                                       const RunOutlook& outlook) {
  const govern::TenantRef tenant = tenant_of(call.identity);
  if (call.explicit_version) {
    const auto reason = governor.check_dispatch(target.governance().named, tenant, [&] {
      return govern::DispatchQuestion{.by = "client",
                                      .caller = "",
                                      .model = target.name(),
                                      .version = target.version(),
                                      .digest = target.digest(),
                                      .explicit_version = true};
    });
    if (reason) return refused_by_policy("version " + target.version() + " of '" + target.name() + "'", *reason);
  }
  const auto reason = governor.check_run(target.governance().run, tenant, [&](bool per_request) {
    return run_question(call, target, per_request, outlook);
  });
  if (!reason) return std::nullopt;
  return refused_by_policy("to run '" + target.name() + "'", *reason);
}

}  // namespace

std::string text_of_parameter(const Parameter& parameter) {
  struct {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return number_text(value); }
    std::string operator()(const std::string& value) const { return value; }
  } text;
  return std::visit(text, parameter);
}

std::optional<Refusal> refusal_by_policy(const Call& call, const Served& target, govern::Governor& governor,
                                         const RunOutlook& outlook) noexcept {
  try {
    return decided_refusal(call, target, governor, outlook);
  } catch (const std::exception&) {
    return Refusal(Http::unavailable, "the policy could not be asked");
  }
}

}  // namespace frazil::server
