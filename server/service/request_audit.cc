#include "server/service/request_audit.h"

#include "govern/gate/decision_log.h"

namespace frazil::server {
namespace {

govern::Json request_event(const Served& target, const std::string& tenant, const Outcome& outcome,
                           Clock::duration time, bool governed) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  govern::Json event = {{"kind", "request"},
                        {"model", target.name()},
                        {"version", target.version()},
                        {"definition", target.digest()},
                        {"status", outcome ? "ok" : std::to_string(static_cast<int>(outcome.error().status()))},
                        {"ms", static_cast<std::uint64_t>(std::max<std::int64_t>(ms, 0))}};
  if (!tenant.empty()) event["tenant"] = tenant;
  if (governed) govern::refer_to_run(event);
  return event;
}

}  // namespace

void audit_request(Call& call, const Served& target, std::shared_ptr<govern::AuditLog> audit, bool governed) {
  call.done = [governed, audit = std::move(audit), served = &target, hold = call.target, tenant = call.identity.name(),
               arrived = call.arrived, done = std::move(call.done)](Outcome outcome) {
    try {
      (void)audit->append(request_event(*served, tenant, outcome, Clock::now() - arrived, governed));
    } catch (const std::exception&) {
      outcome = std::unexpected(Refusal(Http::unavailable, "the request could not be recorded in the audit log"));
    }
    done(std::move(outcome));
  };
}

}  // namespace frazil::server
