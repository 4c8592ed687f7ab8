#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "govern/audit/audit_log.h"
#include "govern/audit/costs.h"
#include "govern/audit/event.h"
#include "govern/audit/log_reader.h"
#include "govern/audit/proof.h"
#include "govern/audit/subject_keys.h"
#include "govern/audit/verify.h"
#include "govern/base/file.h"
#include "govern/report/observed.h"
#include "tool/commands.h"
#include "tool/option_table.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

constexpr std::uint64_t kMaxKeyBytes = 64 * 1024, kMaxPolicyBytes = 1 << 20, kMaxProofBytes = 1 << 20;
constexpr std::size_t kShownFindings = 20;

/// Options by which a checkpoint is trusted.
struct TrustOptions {
  std::string policy;
  std::vector<std::string> keys;
};

/// Options of commands that append to a log.
struct WriteOptions {
  std::string key, origin, keys, subject;
  govern::HoldRequest hold;
};

struct AuditCommand {
  std::string path;  ///< of the log, or of a proof
  WriteOptions write;
  TrustOptions trust;
  std::vector<std::string> checkpoints;
  std::uint64_t index = 0;
  std::string output;
  bool json = false, show_notes = false;
  govern::ReadFilter filter;
  std::string from, to;
  std::string month;
  bool csv = false;
};

/// Returns the origin that a file's checkpoint names, with which keys in PEM form get their names.
std::string origin_of(std::string_view note, const std::string& what) {
  return govern::SignedCheckpoint::parse(note, what).checkpoint.origin;
}

govern::WitnessPolicy policy_of(const TrustOptions& trust, const std::function<std::string()>& origin) {
  if (trust.policy.empty() == trust.keys.empty()) {
    fail(Code::bad_input, "give the log's key with --key, or the keys of the log and its witnesses with --policy");
  }
  if (!trust.policy.empty()) {
    return govern::WitnessPolicy::parse(govern::read_file(trust.policy, kMaxPolicyBytes),
                                        fmt::format("file '{}'", trust.policy));
  }
  std::vector<govern::VerifierKey> logs;
  for (const std::string& path : trust.keys) {
    const std::string pem = govern::read_file(path, kMaxKeyBytes);
    logs.push_back(
        {origin(), govern::SignatureType::ed25519, govern::PublicKey::from_pem(pem, fmt::format("file '{}'", path))});
    if (logs.back().key.kind() != govern::KeyKind::ed25519)
      fail(Code::bad_input, "file '{}': expected an Ed25519 key", path);
  }
  return govern::WitnessPolicy::of_logs(std::move(logs));
}

void print_verify_report(const govern::VerifyReport& report) {
  for (std::size_t i = 0; i < std::min(kShownFindings, report.findings.list().size()); ++i) {
    const govern::Finding& finding = report.findings.list()[i];
    const std::string place = finding.entry ? fmt::format("entry {}: ", *finding.entry) : "";
    print_line(one_line(fmt::format("{}: {}{}", finding.check, place, finding.text)));
  }
  if (report.findings.count() > kShownFindings) {
    print_line(
        fmt::format("and {} more violations; --json lists up to 1000", report.findings.count() - kShownFindings));
  }
  for (const std::string& note : report.notes) print_line(one_line("note: " + note));
  for (const auto& [kind, count] : report.kinds) print_line(fmt::format("  {:>9}  {}", count, kind));
  const std::string witnessed = report.witnessed_at.empty() ? "no checkpoint is witnessed"
                                                            : fmt::format("{} entries are witnessed at {}",
                                                                          report.witnessed_size, report.witnessed_at);
  print_line(one_line(fmt::format("log '{}': {} entries, {} not signed yet; {}; {} violations", report.origin,
                                  report.size, report.unsigned_entries, witnessed, report.findings.count())));
}

/// Returns the origin of a log, or a name that no key has if its checkpoint is damaged: the verifier reports that.
std::string origin_of_log(const std::string& folder) {
  try {
    return origin_of(govern::read_file(folder + "/checkpoint", govern::kMaxNoteBytes), "checkpoint");
  } catch (const Error&) {
    return "unknown";
  }
}

/// Returns the policy that the log's own folder has, for a reader who gives none.
govern::WitnessPolicy own_policy(const std::string& folder) {
  const std::string path = fmt::format("{}/{}", folder, govern::kOwnPolicyFile);
  return govern::WitnessPolicy::parse(govern::read_file(path, kMaxPolicyBytes), fmt::format("file '{}'", path));
}

govern::ComparePath compare_paths(const govern::Json& report, const std::string& model, const std::string& version) {
  return [check = govern::PathCheck(report, model, version)](const govern::Json& steps,
                                                             std::optional<std::uint64_t> cost) {
    govern::ObservedCost took;
    if (cost) took.nanoseconds = static_cast<double>(*cost);
    return govern::ComparedPath{.outside = check.outside(govern::observed_steps(steps)), .slow = check.is_slow(took)};
  };
}

int verify(const AuditCommand& command) {
  govern::VerifyOptions options;
  const bool by_own_keys = command.trust.policy.empty() && command.trust.keys.empty();
  options.policy =
      by_own_keys ? own_policy(command.path) : policy_of(command.trust, [&] { return origin_of_log(command.path); });
  for (const std::string& path : command.checkpoints) {
    options.checkpoints.emplace_back(fmt::format("file '{}'", path), govern::read_file(path, govern::kMaxNoteBytes));
  }
  options.reports = compare_paths;
  govern::VerifyReport report = govern::verify_log(command.path, options);
  if (by_own_keys) {
    report.notes.emplace_back(
        "the keys are those of log.policy in the log's own folder: whoever can write there can replace both; give "
        "--key or --policy");
  }
  if (command.json) {
    print_line(report.json().dump(-1, ' ', false, govern::Json::error_handler_t::replace));
  } else {
    print_verify_report(report);
  }
  return report.ok() ? kDone : kFailed;
}

std::optional<std::int64_t> time_option(const std::string& text, const char* name) {
  if (text.empty()) return std::nullopt;
  const std::string whole = text.size() == 10 ? text + "T00:00:00.000Z" : text;
  const auto time = govern::parse_time(whole);
  if (!time) fail(Code::bad_input, "{} {}: expected a date or a time like 2026-01-31T23:59:59.000Z", name, text);
  return time;
}

int show(AuditCommand& command) {
  command.filter.from = time_option(command.from, "--from");
  command.filter.to = time_option(command.to, "--to");
  govern::read_log(command.path, command.filter, [&](std::uint64_t index, const std::string& entry) {
    if (command.json) return print_line(fmt::format("{{\"index\":{},\"event\":{}}}", index, entry));
    const govern::Json event = govern::parse_json(entry, fmt::format("entry {}", index));
    govern::Json rest = event;
    rest.erase("at");
    rest.erase("kind");
    print_line(one_line(fmt::format("{:>8}  {}  {:<9}  {}", index, event.value("at", ""), event.value("kind", ""),
                                    rest.dump(-1, ' ', false, govern::Json::error_handler_t::replace))));
  });
  return kDone;
}

/// Returns a field of a CSV file.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) (quoted += c) += c == '"' ? "\"" : "";
  return quoted + "\"";
}

/// Returns the month after "2026-12": "2027-01".
std::string month_after(const std::string& month) {
  const int year = std::stoi(month.substr(0, 4)), number = std::stoi(month.substr(5));
  return fmt::format("{:04}-{:02}", number == 12 ? year + 1 : year, number % 12 + 1);
}

void print_cost(const govern::CostKey& key, const govern::CostSum& sum, bool csv) {
  const auto& [tenant, model, version, account] = key;
  if (csv) {
    return print_line(fmt::format("{},{},{},{},{},{},{}", csv_field(tenant), csv_field(model), csv_field(version),
                                  csv_field(account), sum.requests, sum.nanoseconds, sum.charge));
  }
  constexpr double kNanosecondsInMs = 1e6;
  const auto shown = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
  print_line(one_line(fmt::format("{:<16}  {:<20}  {:>7}  {:<8}  {:>10}  {:>16.3f}  {:>16.3f}", shown(tenant),
                                  shown(model), shown(version), account, sum.requests,
                                  static_cast<double>(sum.nanoseconds) / kNanosecondsInMs,
                                  static_cast<double>(sum.charge) / kNanosecondsInMs)));
}

int cost(const AuditCommand& command) {
  std::optional<std::int64_t> from, to;
  if (!command.month.empty()) {
    from = govern::parse_time(command.month + "-01T00:00:00.000Z");
    if (!from) fail(Code::bad_input, "--month {}: expected a month like 2026-01", command.month);
    to = govern::parse_time(month_after(command.month) + "-01T00:00:00.000Z");
  }
  print_line(command.csv ? "tenant,model,version,account,requests,cost_ns,charge_ns"
                         : fmt::format("{:<16}  {:<20}  {:>7}  {:<8}  {:>10}  {:>16}  {:>16}", "tenant", "model",
                                       "version", "account", "requests", "cost_ms", "charge_ms"));
  for (const auto& [key, sum] : govern::read_costs(command.path, from, to)) print_cost(key, sum, command.csv);
  return kDone;
}

int prove(const AuditCommand& command) {
  const std::string text = govern::prove_entry(command.path, command.index).text();
  if (command.output.empty()) {
    print_text(text);
  } else {
    govern::write_file(command.output, text);
  }
  return kDone;
}

int check_proof(const AuditCommand& command) {
  const std::string what = fmt::format("file '{}'", command.path);
  const auto proof = govern::EntryProof::parse(govern::read_file(command.path, kMaxProofBytes), what);
  const auto policy = policy_of(command.trust, [&] { return origin_of(proof.checkpoint, what); });
  const std::string fault = govern::check_entry_proof(proof, policy);
  if (!fault.empty()) {
    print_line(one_line(fmt::format("{}: {}", what, fault)));
    return kFailed;
  }
  print_line(one_line(fmt::format("entry {} of log '{}':", proof.index, origin_of(proof.checkpoint, what))));
  print_line(one_line(proof.extra));
  return kDone;
}

/// A log that no server writes. Its events lie between a boot and a shutdown, so that it is closed in order.
class OfflineLog {
 public:
  explicit OfflineLog(const AuditCommand& command) {
    if (!std::filesystem::exists(command.path + "/checkpoint")) {
      fail(Code::bad_input, "folder '{}': expected an audit log", command.path);
    }
    const std::string pem = govern::read_file(command.write.key, kMaxKeyBytes);
    log_.emplace(govern::AuditOptions{
        .folder = command.path,
        .origin = command.write.origin.empty() ? origin_of_log(command.path) : command.write.origin,
        .key = govern::SigningKey::from_pem(pem, fmt::format("file '{}'", command.write.key))});
    log_->append({{"kind", "boot"}, {"build", FRAZIL_VERSION}, {"text", "frazil audit"}});
  }

  /// Runs `work` on the log, and closes the log also if it throws.
  template <class F>
  auto run(F work) {
    try {
      auto result = work(*log_);
      close();
      return result;
    } catch (const Error&) {
      close();
      throw;
    }
  }

 private:
  void close() {
    log_->append({{"kind", "shutdown"}, {"reason", "frazil audit"}});
    log_->close();
  }

  std::optional<govern::AuditLog> log_;
};

/// Opens the keys of subjects, which must exist.
govern::SubjectKeys subject_keys_of(const AuditCommand& command) {
  if (!std::filesystem::exists(command.write.keys + "/secret")) {
    fail(Code::bad_input, "folder '{}': expected the keys of subjects", command.write.keys);
  }
  return govern::SubjectKeys(command.write.keys);
}

int erase_subject(const AuditCommand& command) {
  govern::SubjectKeys keys = subject_keys_of(command);
  const govern::EraseResult result =
      OfflineLog(command).run([&](govern::AuditLog& log) { return log.erase(keys, command.write.subject); });
  print_line(fmt::format("event {}: subject '{}' is erased, {} blobs are removed", result.event, result.subject,
                         result.blobs));
  return kDone;
}

int hold_entries(AuditCommand& command) {
  if (command.write.subject.empty() != command.write.keys.empty()) {
    fail(Code::bad_input, "--subject and --keys need each other");
  }
  if (!command.write.subject.empty()) {
    command.write.hold.subject = subject_keys_of(command).id_of(command.write.subject);
  }
  const std::uint64_t event =
      OfflineLog(command).run([&](govern::AuditLog& log) { return log.hold(command.write.hold); });
  print_line(one_line(fmt::format("event {} holds entries for case '{}'", event, command.write.hold.case_name)));
  return kDone;
}

int release_entries(const AuditCommand& command) {
  const std::uint64_t event =
      OfflineLog(command).run([&](govern::AuditLog& log) { return log.release(command.write.hold.case_name); });
  print_line(one_line(fmt::format("event {} releases case '{}'", event, command.write.hold.case_name)));
  return kDone;
}

void add_log_key(CLI::App& app, WriteOptions& write) {
  app.add_option("--key", write.key, "The key that signs the log (Ed25519, PEM)")
      ->group(group::kInputs)
      ->type_name("PEM")
      ->required();
  app.add_option("--origin", write.origin, "The name of the log; that of its checkpoint if not given")
      ->group(group::kInputs)
      ->type_name("NAME");
}

CLI::Option* add_subject_keys(CLI::App& app, WriteOptions& write) {
  return app.add_option("--keys", write.keys, "The folder with the keys of subjects (governance.keys)")
      ->group(group::kInputs)
      ->type_name("KEYDIR");
}

void add_trust(CLI::App& app, TrustOptions& trust) {
  app.add_option("--key", trust.keys, "The log's public key (Ed25519, PEM); repeat it for further keys")
      ->group(group::kInputs)
      ->type_name("PEM");
  app.add_option("--policy", trust.policy, "Keys of the log and its witnesses, and the quorum (C2SP tlog-policy)")
      ->group(group::kInputs)
      ->type_name("FILE");
}

CLI::App* add_part(CLI::App& audit, const char* name, const char* text, Action& action,
                   const std::shared_ptr<AuditCommand>& command, int (*run)(AuditCommand&), const char* argument) {
  CLI::App* part = audit.add_subcommand(name, text);
  part->add_option(argument, command->path, argument == std::string_view("DIR") ? "The folder of the log" : "The proof")
      ->required();
  part->callback([command, run, &action] { action = [command, run] { return run(*command); }; });
  return part;
}

void add_show_options(CLI::App& app, AuditCommand& command) {
  app.add_option("--kind", command.filter.kinds, "Only events of this kind; repeat it for several")
      ->group(group::kInputs)
      ->type_name("KIND");
  app.add_option("--tenant", command.filter.tenant, "Only events of this tenant")
      ->group(group::kInputs)
      ->type_name("NAME");
  app.add_option("--from", command.from, "Only events from this date or time on (UTC)")
      ->group(group::kInputs)
      ->type_name("TIME");
  app.add_option("--to", command.to, "Only events before this date or time (UTC)")
      ->group(group::kInputs)
      ->type_name("TIME");
  app.add_flag("--json", command.json, "Print one JSON object a line")->group(group::kOutput);
}

}  // namespace

void add_audit(CLI::App& app, Action& action) {
  const auto command = std::make_shared<AuditCommand>();
  CLI::App* audit = app.add_subcommand("audit", "Verify and read the audit log of a server");
  audit->require_subcommand(1);
  CLI::App* part = add_part(
      *audit, "verify", "Verify a log offline: signatures, the tree, every entry, and that decisions fit together",
      action, command, [](AuditCommand& c) { return verify(c); }, "DIR");
  add_trust(*part, command->trust);
  part->add_option("--checkpoint", command->checkpoints,
                   "A checkpoint of the log from elsewhere, which the log must contain; repeat it for several")
      ->group(group::kInputs)
      ->type_name("FILE");
  part->add_flag("--json", command->json, "Print the report as JSON")->group(group::kOutput);
  part = add_part(
      *audit, "show", "Print entries of a log", action, command, [](AuditCommand& c) { return show(c); }, "DIR");
  add_show_options(*part, *command);
  part = add_part(
      *audit, "cost", "Add up what requests cost, by tenant, model, version and account", action, command,
      [](AuditCommand& c) { return cost(c); }, "DIR");
  part->add_option("--month", command->month, "Only of this month (UTC)")->group(group::kInputs)->type_name("YYYY-MM");
  part->add_flag("--csv", command->csv, "Print comma-separated values with costs in nanoseconds")
      ->group(group::kOutput);
  part = add_part(
      *audit, "prove", "Make a proof that the log has an entry, for a third party (C2SP tlog-proof)", action, command,
      [](AuditCommand& c) { return prove(c); }, "DIR");
  part->add_option("N", command->index, "The index of the entry")->required();
  part->add_option("-o,--output", command->output, "The file to write; standard output if not given")
      ->group(group::kOutput)
      ->type_name("FILE");
  part = add_part(
      *audit, "check-proof", "Check a proof of an entry, and print the entry", action, command,
      [](AuditCommand& c) { return check_proof(c); }, "FILE");
  add_trust(*part, command->trust);
  part = add_part(
      *audit, "erase", "Erase a subject: destroy its key and remove its blobs. No server may write the log", action,
      command, [](AuditCommand& c) { return erase_subject(c); }, "DIR");
  part->add_option("SUBJECT", command->write.subject, "The subject, as the server knows it")->required();
  add_log_key(*part, command->write);
  add_subject_keys(*part, command->write)->required();
  part = add_part(
      *audit, "hold", "Protect entries against erasure and pruning (legal hold). No server may write the log", action,
      command, [](AuditCommand& c) { return hold_entries(c); }, "DIR");
  part->add_option("CASE", command->write.hold.case_name, "A name, by which the hold is released")->required();
  add_log_key(*part, command->write);
  add_subject_keys(*part, command->write);
  part->add_option("--subject", command->write.subject, "Hold only entries of this subject; needs --keys")
      ->group(group::kInputs)
      ->type_name("SUBJECT");
  part->add_option("--from", command->write.hold.from, "Hold only entries from this index on")
      ->group(group::kInputs)
      ->type_name("N");
  part->add_option("--to", command->write.hold.to, "Hold only entries before this index")
      ->group(group::kInputs)
      ->type_name("N");
  part = add_part(
      *audit, "release", "End a hold. No server may write the log", action, command,
      [](AuditCommand& c) { return release_entries(c); }, "DIR");
  part->add_option("CASE", command->write.hold.case_name, "The name of the hold")->required();
  add_log_key(*part, command->write);
  add_part(
      *audit, "kinds", "Print the table of events as Markdown", action, command,
      [](AuditCommand&) {
        print_text(govern::event_table_markdown());
        return int{kDone};
      },
      "DIR")
      ->get_option("DIR")
      ->required(false);
}

}  // namespace frazil::tool
