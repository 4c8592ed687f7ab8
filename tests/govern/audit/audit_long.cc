// Long tests of the audit log, started by hand: make test-audit.
//
//   audit_long crash N    kills a writer N times at random moments, and verifies after each
//   audit_long tamper N   flips N bytes, one at a time, and cuts files N / 10 times; both verifiers must find each
//   audit_long speed N    measures appending and verifying N requests
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "tests/govern/audit/crash_testing.h"
#include "tests/govern/audit/tamper_testing.h"

namespace frazil::govern::audit_testing {
namespace {

/// Measures seconds, and seconds of all cores.
struct Stopwatch {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::clock_t cpu_start = std::clock();
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }
  double cpu() const { return static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC; }
};

int crash(int count) {
  const TemporaryFolder folder;
  std::string error;
  for (int i = 0; i < count && error.empty(); ++i) error = crash_once(folder.path(), static_cast<unsigned>(i));
  fmt::print("{}\n", error.empty() ? fmt::format("{} kills: the log verifies after each", count) : error);
  return error.empty() ? 0 : 1;
}

int tamper(int count) {
  int missed = 0, disagree = 0;
  const TamperCase subject;
  for (int i = 0; i < count + count / 10; ++i) {
    const bool cut = i >= count;
    const TamperResult result = subject.damage(static_cast<unsigned>(i), cut, true);
    if (!result.found) fmt::print("missed: {}\n", result.text);
    if (result.found != result.found_by_second) fmt::print("the verifiers disagree: {}\n", result.text);
    missed += result.found ? 0 : 1;
    disagree += result.found != result.found_by_second ? 1 : 0;
  }
  fmt::print("{} flipped bytes, {} cuts: {} missed, {} disagreements\n", count, count / 10, missed, disagree);
  return missed + disagree == 0 ? 0 : 1;
}

Json measured_request(int number) {
  Json event = request_event("definition 1", number);
  event["policy"] = digest_of("policy 1");
  event["report"] = digest_of("report");
  event["environment"] = digest_of("environment");
  event["steps"] = {{{"step", "classify"}, {"version", "3"}, {"reason", "when"}},
                    {{"step", "large"}, {"version", "1"}, {"reason", "split 0.2"}}};
  event["inputs"] = {{"x", "hmac-sha256:" + std::string(64, 'a')}};
  return event;
}

int speed(int count) {
  const TemporaryFolder folder;
  AuditOptions options{.folder = folder.path(), .origin = kOrigin, .key = log_key()};
  std::vector<Json> events;
  for (int i = 0; i < 1000; ++i) events.push_back(measured_request(i));
  const Stopwatch writing;
  {
    AuditLog log(options);
    log.append(boot_event());
    log.append(policy_event("policy 1"));
    log.append(publish_event("definition 1", "policy 1"));
    for (int i = 0; i < count;) {
      try {
        log.append(events[static_cast<std::size_t>(i % 1000)]);
        ++i;
      } catch (const Error&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the queue is full
      }
    }
    log.append(shutdown_event());
    log.close();
  }
  const double write_seconds = writing.seconds(), write_cpu = writing.cpu();
  std::uint64_t bytes = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder.path())) {
    if (file.is_regular_file()) bytes += file.file_size();
  }
  fmt::print("append: {} requests in {:.2f} s, {:.2f} s of CPU: {:.0f} a second of CPU, {:.0f} bytes a request\n",
             count, write_seconds, write_cpu, count / write_cpu, static_cast<double>(bytes) / count);
  for (const unsigned threads : {1u, 2u}) {
    VerifyOptions verify_options;
    verify_options.policy = WitnessPolicy::of_logs({log_verifier()});
    verify_options.threads = threads;
    const Stopwatch verifying;
    const VerifyReport report = verify_log(folder.path(), verify_options);
    const double took = verifying.seconds(), cpu = verifying.cpu();
    fmt::print("verify, {} threads: {:.2f} s, {:.2f} s of CPU: {:.2f} us of CPU a request, {} violations\n", threads,
               took, cpu, cpu / count * 1e6, report.findings.count());
  }
  const Stopwatch pruning;
  AuditLog log(options);
  const PruneResult pruned = log.prune({{"request", std::chrono::hours(1)}}, now_milliseconds() + 7200000);
  log.close();
  std::uint64_t left = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder.path())) {
    if (file.is_regular_file()) left += file.file_size();
  }
  fmt::print("prune: {} requests in {:.2f} s, {:.1f} bytes a request remain\n", pruned.dropped.at("request"),
             pruning.seconds(), static_cast<double>(left) / count);
  return 0;
}

}  // namespace
}  // namespace frazil::govern::audit_testing

int main(int argc, char** argv) {
  namespace t = frazil::govern::audit_testing;
  const std::string mode = argc == 3 ? argv[1] : "";
  const int count = argc == 3 ? std::atoi(argv[2]) : 0;
  if (mode == "crash") return t::crash(count);
  if (mode == "tamper") return t::tamper(count);
  if (mode == "speed") return t::speed(count);
  fmt::print(stderr, "usage: audit_long crash|tamper|speed N\n");
  return 2;
}
