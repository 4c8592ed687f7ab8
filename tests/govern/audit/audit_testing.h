#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <stdlib.h>
#include <unistd.h>

#include "govern/audit/audit_log.h"
#include "govern/audit/verify.h"
#include "govern/audit/witness.h"
#include "govern/base/digest.h"
#include "govern/base/encoding.h"
#include "govern/base/error.h"

// Logs for tests of the audit log.
namespace frazil::govern::audit_testing {

namespace fs = std::filesystem;

inline const std::string kOrigin = "example.com/log";

/// A folder that is removed with the object. In memory if possible, where syncing takes no time.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const bool memory = ::access("/dev/shm", W_OK) == 0;
    std::string name = ((memory ? fs::path("/dev/shm") : fs::temp_directory_path()) / "frazil-audit-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string digest_of(const std::string& text) { return digest_text(sha256(text)); }

/// Returns the Ed25519 key whose 32 bytes all have this value.
inline SigningKey fixed_key(char byte) {
  const std::string pkcs8 = *from_hex("302e020100300506032b657004220420") + std::string(32, byte);
  return SigningKey::from_pem(
      "-----BEGIN PRIVATE KEY-----\n" + base64(bytes_of(pkcs8)) + "\n-----END PRIVATE KEY-----\n", "a fixed key");
}

inline const SigningKey& log_key() {
  static const SigningKey key = fixed_key(1);
  return key;
}
inline VerifierKey log_verifier() { return {kOrigin, SignatureType::ed25519, log_key().public_key()}; }

inline AuditOptions options_of(const std::string& folder) {
  AuditOptions options{.folder = folder, .origin = kOrigin, .key = log_key()};
  options.commit_every = std::chrono::milliseconds(2);
  options.checkpoint_every = std::chrono::milliseconds(5);
  return options;
}

inline Json boot_event() { return {{"kind", "boot"}, {"build", "0.1"}}; }
inline Json policy_event(const std::string& policy) { return {{"kind", "policy"}, {"policy", digest_of(policy)}}; }
inline Json publish_event(const std::string& definition, const std::string& policy) {
  return {{"kind", "publish"},
          {"model", "router"},
          {"definition", digest_of(definition)},
          {"policy", digest_of(policy)},
          {"rule", "allow-signed"}};
}
inline Json request_event(const std::string& definition, int number = 0) {
  return {{"kind", "request"},
          {"model", "router"},
          {"definition", digest_of(definition)},
          {"status", "ok"},
          {"ms", 3},
          {"tenant", number % 2 == 0 ? "a" : "b"},
          {"decision", "d" + std::to_string(number)},
          {"cost", 1000 + number}};
}
inline std::optional<std::uint64_t> append_request(AuditLog& log, Json event, std::string payload = {}) {
  const std::size_t bytes = payload.size();
  auto make = [entry = RequestEntry{std::move(event), std::move(payload)}] { return entry; };
  return log.append_request(std::move(make), 400, bytes);
}
inline Json shutdown_event() { return {{"kind", "shutdown"}}; }

/// Appends boot, policy, a publication, requests and shutdown.
inline void append_run(AuditLog& log, int requests) {
  log.append(boot_event());
  log.append(policy_event("policy 1"));
  log.append(publish_event("definition 1", "policy 1"));
  for (int i = 0; i < requests; ++i) log.append(request_event("definition 1", i));
  log.append(shutdown_event());
}

/// Writes a log with a run.
inline void write_log(const std::string& folder, int requests) {
  AuditLog log(options_of(folder));
  append_run(log, requests);
  log.close();
}

/// A witness with its key, and the policy that asks for it.
struct TestWitness {
  explicit TestWitness(const std::string& folder) : witness(folder, "example.com/w1", key, {log_verifier()}) {}
  SigningKey key = fixed_key(2);
  Witness witness;
  WitnessPolicy policy() const {
    const std::string text = "log " + log_verifier().text() + "\nwitness w1 " + witness.key().text() + "\nquorum w1\n";
    return WitnessPolicy::parse(text, "policy");
  }
  WitnessClient client() {
    return [this](const WitnessPolicy::Witness&, const std::string& body) { return witness.add_checkpoint(body); };
  }
};

inline VerifyReport verify(const std::string& folder,
                           std::vector<std::pair<std::string, std::string>> checkpoints = {}) {
  VerifyOptions options;
  options.policy = WitnessPolicy::of_logs({log_verifier()});
  options.checkpoints = std::move(checkpoints);
  options.threads = 1;
  return verify_log(folder, options);
}

/// Returns the findings, one a line.
inline std::string findings_of(const VerifyReport& report) {
  std::string text;
  for (const Finding& finding : report.findings.list()) {
    text += finding.check + (finding.entry ? " " + std::to_string(*finding.entry) : "") + ": " + finding.text + "\n";
  }
  return text;
}

inline std::string error_of(const auto& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace frazil::govern::audit_testing
