#pragma once

#include <csignal>
#include <random>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/govern/audit/audit_testing.h"

namespace frazil::govern::audit_testing {

/// Writes to a log without end, in a process of its own. Reports through a pipe the largest index that is durable.
[[noreturn]] inline void write_for_ever(const std::string& folder, int pipe) {
  AuditOptions options = options_of(folder);
  options.checkpoint_entries = 200;
  AuditLog log(options);
  log.append(boot_event());
  log.append(policy_event("policy 1"));
  log.append_durable(publish_event("definition 1", "policy 1"));
  for (int i = 0;; ++i) {
    const auto index = append_request(log, request_event("definition 1", i));
    if (i % 37 != 0) continue;
    log.wait_durable(*index);
    (void)!::write(pipe, &*index, sizeof *index);
  }
}

/// Starts a writer, kills it at a random moment, and verifies the log as it is and after it was opened again. Returns
/// what is wrong, or an empty text.
inline std::string crash_once(const std::string& folder, unsigned seed) {
  std::mt19937 random(seed);
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) write_for_ever(folder, ends[1]);
  ::close(ends[1]);
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 60000));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  std::uint64_t durable = 0;
  bool any = false;
  for (std::uint64_t index = 0; ::read(ends[0], &index, sizeof index) == sizeof index; any = true) durable = index;
  ::close(ends[0]);
  if (fs::exists(folder + "/checkpoint")) {
    if (const std::string found = findings_of(verify(folder)); !found.empty()) return "after the kill: " + found;
  }
  AuditLog log(options_of(folder));
  if (any && log.status().size <= durable) return "durable entries are lost";
  log.close();
  const std::string found = findings_of(verify(folder));
  return found.empty() ? found : "after opening again: " + found;
}

}  // namespace frazil::govern::audit_testing
