// What a recorded request costs, in CPU time of the process: make test-replay prints it.
#include <ctime>
#include <iostream>

#include "govern/audit/audit_log.h"
#include "server/asked.h"

namespace frazil::test {
namespace {

constexpr int kRequests = 20'000;

double cpu_us() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

/// Returns the CPU time of a request in microseconds.
double cost_of(bool audit, const server::GovernanceConfig& governance) {
  Folder folder, log;
  folder.add("m", kTriple);
  server::ServiceOptions options = options_of(folder);
  options.config.governance = governance;
  if (audit) {
    options.audit = std::make_shared<govern::AuditLog>(
        govern::AuditOptions{.folder = log.path(),
                             .origin = "example.org/cost",
                             .key = govern::SigningKey::generate(govern::KeyKind::ed25519)});
  }
  const auto recorded = options.audit;
  server::Service service(std::move(options));
  const auto served = service.models().find("m", "");
  const double begun = cpu_us();
  for (int i = 0; i < kRequests; ++i) {
    server::Call call{.caller = std::make_shared<server::Caller>(), .arrived = server::Clock::now()};
    call.request.inputs = {{"x", row({1, 2})}};
    call.done = [](const server::Outcome& outcome) { EXPECT_TRUE(outcome.has_value()); };
    service.infer(served, std::move(call));
  }
  if (recorded != nullptr) recorded->close();
  return (cpu_us() - begun) / kRequests;
}

TEST(ReplayCost, OfARequest) {
  const Folder keys;
  std::cout << "CPU time of a request in us: no audit " << cost_of(false, {});
  std::cout << ", audit " << cost_of(true, {});
  std::cout << ", payload " << cost_of(true, {.payloads = true});
  std::cout << ", sealed with commitments " << cost_of(true, {.keys = keys.path(), .payloads = true}) << "\n";
}

}  // namespace
}  // namespace frazil::test
