#include "tool/serve_governance.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "govern/base/file.h"
#include "govern/gate/governor.h"
#include "govern/gate/policy_source.h"
#include "server/core/notice.h"
#include "tool/bits_environment.h"
#include "tool/commands.h"
#include "tool/error.h"
#include "tool/extent_ranges.h"
#include "tool/govern_files.h"
#include "tool/report.h"
#include "tool/witness_client.h"

namespace frazil::tool {
namespace {

std::vector<govern::Person> trusted_by(const GovernanceOptions& options) {
  if (options.trust.empty()) return {};
  return govern::read_persons(govern::read_file(options.trust, kMaxKeyFile), "file '" + options.trust + "'");
}

/// Returns the store of accepted serials, or null if no document is signed.
std::shared_ptr<govern::SerialStore> serials_of(const GovernanceOptions& options) {
  if (options.policy_signers == 0 && options.envelope.empty()) return nullptr;
  if (!options.policy_serials.empty()) return std::make_shared<govern::SerialStore>(options.policy_serials);
  if (options.audit.empty()) {
    fail(
        Code::bad_input,
        "signed policies and envelopes need a file that keeps their highest serials: give --policy-serials or --audit");
  }
  std::string beside = options.audit;
  while (beside.ends_with('/')) beside.pop_back();
  return std::make_shared<govern::SerialStore>(beside + ".serials.json");
}

/// Throws api::Error for options that have no effect without another one.
void check_governance(const GovernanceOptions& options) {
  const auto needs = [](bool given, const char* option, bool other, const char* needed) {
    if (given && !other) fail(Code::bad_input, "{} needs {}", option, needed);
  };
  const bool has_policy = !options.policy.empty();
  needs(options.policy_signers != 0, "--policy-signers", has_policy && !options.trust.empty(), "--policy and --trust");
  needs(!options.approvals.empty(), "--approvals", has_policy && !options.trust.empty(), "--policy and --trust");
  needs(!options.approvals.empty(), "--approvals", !options.environment.empty(), "--environment");
  needs(!options.envelope.empty(), "--envelope", has_policy && !options.trust.empty(), "--policy and --trust");
}

void add_signed_documents(CLI::App& command, GovernanceOptions& to) {
  command
      .add_option(
          "--policy-signers", to.policy_signers,
          "Persons of --trust with the role 'policy' that must have signed --policy ('frazil sign --as policy'); "
          "0: it is not signed")
      ->type_name("N")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  command
      .add_option(
          "--policy-serials", to.policy_serials,
          "A file that keeps the highest serials of signed policies and envelopes, so that older ones are refused")
      ->type_name("FILE")
      ->default_str("DIR.serials.json beside --audit DIR");
  command
      .add_option(
          "--approvals", to.approvals,
          "A folder of approvals, NAME.approval from 'frazil approve', which rules on edit, publish and roll_back "
          "read")
      ->type_name("DIR");
  command.add_option("--environment", to.environment, "The environment that approvals must name, such as production")
      ->type_name("NAME");
  command
      .add_option("--envelope", to.envelope,
                  "A signed envelope of edits ('frazil sign --as envelope'): rules read whether a change is within it")
      ->type_name("FILE");
  command
      .add_option("--envelope-signers", to.envelope_signers,
                  "Persons of --trust with the role 'envelope' that must have signed --envelope")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
}

void add_witnesses(CLI::App& command, GovernanceOptions& to, CLI::Option* audit) {
  command
      .add_option(
          "--witness-policy", to.witness_policy,
          "A file of the witnesses that cosign the audit log, with their URLs and the quorum (C2SP tlog-policy)")
      ->type_name("FILE")
      ->needs(audit);
  const std::map<std::string, govern::WitnessMode> kModes{{"proceed", govern::WitnessMode::proceed},
                                                          {"refuse", govern::WitnessMode::refuse}};
  command
      .add_option("--witness-mode", to.witness_mode,
                  "Without a quorum of witnesses for --witness-patience: proceed, or refuse requests and changes")
      ->type_name("proceed|refuse")
      ->transform(CLI::CheckedTransformer(kModes, CLI::ignore_case).description(""))
      ->default_str("proceed");
  command.add_option("--witness-patience", to.witness_patience_s, "Maximum seconds without a quorum of witnesses")
      ->type_name("S")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
}

}  // namespace

void add_governance(CLI::App& command, GovernanceOptions& to) {
  command.option_defaults()->group("Governance");
  command
      .add_option("--policy", to.policy,
                  "A policy that decides which files, models, edits and runs are permitted; without it all are. SIGHUP "
                  "reads it again")
      ->type_name("FILE");
  command
      .add_option("--trust", to.trust,
                  "A JSON file of the persons whose signatures are valid: {\"persons\": [{\"name\", \"roles\", "
                  "\"key\"}]}")
      ->type_name("FILE");
  add_signed_documents(command, to);
  add_extents(command, to.extents);
  const auto audit =
      command.add_option("--audit", to.audit, "The folder of the audit log; it is made if it does not exist")
          ->type_name("DIR");
  const auto key = command
                       .add_option("--audit-key", to.audit_key,
                                   "A PEM file: the Ed25519 key that signs the audit log, from 'frazil keygen'")
                       ->type_name("FILE");
  audit->needs(key);
  key->needs(audit);
  command.add_option("--audit-origin", to.audit_origin, "The name of the audit log in its checkpoints")
      ->type_name("NAME")
      ->capture_default_str()
      ->needs(audit);
  add_witnesses(command, to, audit);
}

std::shared_ptr<govern::AuditLog> audit_log_of(const GovernanceOptions& options) {
  if (options.audit.empty()) return nullptr;
  const std::string pem = govern::read_file(options.audit_key, kMaxKeyFile);
  govern::AuditOptions of_log{.folder = options.audit,
                              .origin = options.audit_origin,
                              .key = govern::SigningKey::from_pem(pem, "file '" + options.audit_key + "'")};
  const server::Environment environment = bits_environment();
  govern::Json boot = {{"kind", "boot"}, {"build", FRAZIL_VERSION}, {"environment", environment.digest()}};
  if (!options.witness_policy.empty()) {
    of_log.witnesses = govern::WitnessPolicy::parse(govern::read_file(options.witness_policy, kMaxKeyFile),
                                                    "file '" + options.witness_policy + "'");
    of_log.witness_client = witness_client(of_log.witnesses, "file '" + options.witness_policy + "'");
    of_log.witness_mode = options.witness_mode;
    of_log.witness_patience = std::chrono::milliseconds(static_cast<std::int64_t>(options.witness_patience_s * 1000));
    boot["quorum"] = of_log.witnesses.quorum();
    for (const auto& witness : of_log.witnesses.witnesses()) boot["witnesses"].push_back(witness.key.text());
  }
  auto audit = std::make_shared<govern::AuditLog>(std::move(of_log));
  boot["blobs"] = govern::Json::array({audit->put_blob(environment.text())});
  audit->append_durable(std::move(boot));
  return audit;
}

void govern_service(const GovernanceOptions& options, server::ServiceOptions& to) {
  check_governance(options);
  if (options.policy.empty()) return;
  const auto trusted = trusted_by(options);
  const auto serials = serials_of(options);
  to.policy_source =
      std::make_shared<govern::PolicySource>(govern::PolicySourceOptions{.path = options.policy,
                                                                         .signers = options.policy_signers,
                                                                         .trusted = trusted,
                                                                         .serials = serials,
                                                                         .audit = to.audit});
  govern::ReadPolicy read = to.policy_source->read();
  std::shared_ptr<govern::ChangeEvidence> evidence;
  if (!options.approvals.empty() || !options.envelope.empty()) {
    evidence =
        std::make_shared<govern::ChangeEvidence>(govern::EvidenceOptions{.trusted = trusted,
                                                                         .approvals = options.approvals,
                                                                         .environment = options.environment,
                                                                         .envelope = options.envelope,
                                                                         .envelope_signers = options.envelope_signers,
                                                                         .serials = serials});
  }
  to.governor = std::make_shared<govern::Governor>(govern::GovernorOptions{
      .policy = std::move(read.policy),
      .trusted = trusted,
      .audit = to.audit,
      .extents = extent_ranges(options.extents),
      .warn = [notify = to.notify](std::string_view text) { server::warn(notify, "policy", std::string(text)); },
      .policy_event = std::move(read.event),
      .evidence = std::move(evidence)});
}

AuditEnd::~AuditEnd() {
  try {
    close("failed");
  } catch (const api::Error& error) {
    print_error("the audit log was not closed in order: " + one_line(error.what()) + "\n");
  }
}

void AuditEnd::close(const char* reason) {
  const auto audit = std::exchange(audit_, nullptr);
  if (audit == nullptr) return;
  audit->append_durable({{"kind", "shutdown"}, {"reason", reason}});
  audit->close();
}

}  // namespace frazil::tool
