#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <frazil/policy.h>

#include "govern/base/file.h"
#include "govern/sign/approval.h"
#include "govern/sign/edit_envelope.h"
#include "govern/sign/folder.h"
#include "tool/commands.h"
#include "tool/common.h"
#include "tool/govern_files.h"
#include "tool/option_table.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

constexpr std::uint64_t kMaxModelFile = std::uint64_t{1} << 31;  ///< bytes, as protobuf
constexpr govern::Moment kSecondsPerHour = 3600;

struct ApproveOptions {
  std::string model, name, parent, report, envelope, policy, environment, key, approver, role, output;
  std::vector<std::string> check, roles, emergency_roles;
  std::string persons, author;
  std::uint64_t hours = 24 * 30, threshold = 2, emergency_hours = 0;
  bool emergency = false, json = false;
  api::LoadOptions load;
};

bool is_digest(const std::string& text) { return text.starts_with("sha256:"); }

/// Returns the digests of a model's file and its external files, by name; none for a definition that is given by its
/// digest.
std::map<std::string, std::string> file_digests(const std::string& path) {
  if (is_digest(path)) return {};
  const auto [folder, name] = govern::place_of_file(path);
  const govern::Folder files(folder);
  const govern::HashedFile model = files.hash(name);
  std::map<std::string, std::string> digests = {{name, govern::digest_text(model.digest)}};
  const std::string bytes = govern::read_all(model.file, path, kMaxModelFile);
  const api::FileFacts facts{.content = std::as_bytes(std::span(bytes))};
  for (const std::string& location : facts.external_locations()) {
    const std::string external = std::filesystem::path(location).lexically_normal().generic_string();
    digests[external] = govern::digest_text(files.hash(external).digest);
  }
  return digests;
}

/// Returns a digest that is given itself, or that of a model's definition.
std::string definition_of(const std::string& text, const api::LoadOptions& load) {
  return text.empty() || is_digest(text) ? text : load_model(text, load).digest();
}

/// Returns the digest of a file's content in the form that `canonical` makes of it.
template <class F>
std::string content_digest(const std::string& path, const F& canonical_form) {
  if (path.empty()) return "";
  return govern::digest_text(
      govern::sha256(canonical_form(govern::read_file(path, kMaxGovernFile), "file '" + path + "'")));
}

/// Returns the report of a definition in the output of 'frazil report --json', or the report itself.
govern::Json report_in(const govern::Json& json, const std::string& definition, const std::string& what) {
  if (json.contains("digest")) return json;
  for (const char* kind : {"models", "pipelines"}) {
    for (const govern::Json& report : json.value(kind, govern::Json::array())) {
      if (report.value("digest", "") == definition) return report;
    }
  }
  fail(Code::bad_input, "{}: it has no report of {}", what, definition);
}

/// Returns the name under which the model is served: that which is given, or that of its file.
std::string served_name_of(const ApproveOptions& options) {
  if (!options.name.empty()) return options.name;
  if (is_digest(options.model))
    fail(Code::bad_input, "--name is required for a definition that is given by its digest");
  return std::filesystem::path(options.model).stem().string();
}

govern::ApprovalSubject subject_of(const ApproveOptions& options) {
  const std::string definition = definition_of(options.model, options.load);
  return {
      .model = served_name_of(options),
      .definition = definition,
      .parent = definition_of(options.parent, options.load),
      .files = file_digests(options.model),
      .report = content_digest(options.report,
                               [&](const std::string& text, const std::string& what) {
                                 return govern::canonical(report_in(govern::parse_json(text, what), definition, what));
                               }),
      .envelope = content_digest(options.envelope,
                                 [](const std::string& text, const std::string& what) {
                                   return govern::text_of(govern::read_edit_envelope(text, what));
                                 }),
      .policy = content_digest(options.policy, [](const std::string& text, const std::string&) { return text; }),
      .environment = options.environment};
}

void require_option(const std::string& value, const char* option) {
  if (value.empty()) fail(Code::bad_input, "{} is required", option);
}

int give(const ApproveOptions& options) {
  require_option(options.key, "--key");
  require_option(options.approver, "--approver");
  require_option(options.role, "--role");
  require_option(options.output, "-o");
  const govern::Moment now = govern::moment_now();
  const govern::Approval approval{
      .kind = options.emergency ? govern::Approval::Kind::emergency : govern::Approval::Kind::usual,
      .subject = subject_of(options),
      .approver = options.approver,
      .role = options.role,
      .issued = now,
      .not_after = now + static_cast<govern::Moment>(options.hours) * kSecondsPerHour};
  const auto key =
      govern::SigningKey::from_pem(govern::read_file(options.key, kMaxKeyFile), "file '" + options.key + "'");
  govern::write_file(options.output, govern::sign_approval(approval, key));
  print_line(fmt::format("{}: '{}' approves {} until {}", options.output, options.approver, approval.subject.definition,
                         govern::moment_text(approval.not_after)));
  return kDone;
}

int check(const ApproveOptions& options) {
  require_option(options.persons, "--persons");
  require_option(options.author, "--author");
  const auto persons =
      govern::read_persons(govern::read_file(options.persons, kMaxGovernFile), "file '" + options.persons + "'");
  std::vector<std::string> approvals;
  for (const std::string& path : options.check) approvals.push_back(govern::read_file(path, kMaxGovernFile));
  const govern::ApprovalRule rule{
      .threshold = options.threshold,
      .roles = options.roles,
      .author = options.author,
      .emergency_seconds = static_cast<govern::Moment>(options.emergency_hours) * kSecondsPerHour,
      .emergency_roles = {options.emergency_roles.begin(), options.emergency_roles.end()}};
  const auto result = govern::check_approvals(subject_of(options), approvals, persons, rule, govern::moment_now());
  if (options.json) {
    print_json({{"approved", result.approved},
                {"emergency", result.emergency},
                {"approvers", result.approvers},
                {"reasons", result.reasons}});
    return result.approved ? kDone : kFailed;
  }
  for (const std::string& reason : result.reasons) print_line(one_line(reason));
  if (result.approved) {
    print_line(
        fmt::format("approved{} by {}", result.emergency ? " in an emergency" : "", fmt::join(result.approvers, ", ")));
  }
  return result.approved ? kDone : kFailed;
}

void add_subject(CLI::App& command, ApproveOptions& options) {
  command.option_defaults()->group(group::kInputs);
  command.add_option("--environment", options.environment, "Where it may run, such as production")
      ->type_name("NAME")
      ->required();
  command.add_option("--name", options.name, "The name under which it is served; as the file if not given")
      ->type_name("NAME");
  command.add_option("--parent", options.parent, "The definition that it replaces: a model, or sha256:...")
      ->type_name("MODEL");
  command.add_option("--report", options.report, "The report over all paths: of 'frazil report --json'")
      ->type_name("FILE");
  command.add_option("--envelope", options.envelope, "The envelope of edits, in JSON")->type_name("FILE");
  command.add_option("--policy", options.policy, "The policy")->type_name("FILE");
}

void add_check(CLI::App& command, ApproveOptions& options) {
  command.option_defaults()->group("Checking");
  command.add_option("--check", options.check, "Check these approvals instead of giving one; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command.add_option("--persons", options.persons, "The persons with their roles and keys, in JSON")->type_name("FILE");
  command.add_option("--author", options.author, "The author, whose approval does not count")->type_name("NAME");
  command.add_option("--threshold", options.threshold, "Distinct persons that must approve")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command.add_option("--need", options.roles, "A role that one of them must have; may be repeated")
      ->type_name("ROLE")
      ->allow_extra_args(false);
  command.add_option("--emergency-hours", options.emergency_hours, "Longest life of an emergency approval; 0: none")
      ->type_name("N")
      ->check(CLI::Range(0, 168))
      ->capture_default_str();
  command.add_option("--emergency-role", options.emergency_roles, "A role that may give one; may be repeated")
      ->type_name("ROLE")
      ->allow_extra_args(false);
  command.add_flag("--json", options.json, "Write one JSON object, alone on the last line of stdout");
}

}  // namespace

void add_approve(CLI::App& app, Action& action) {
  auto options = std::make_shared<ApproveOptions>();
  options->load = api::with_environment(api::LoadOptions{});
  CLI::App* command = app.add_subcommand("approve", "Approve a model's definition, or check approvals");
  command->add_option("MODEL", options->model, "An ONNX file, or the digest of a definition")->required();
  add_subject(*command, *options);
  command->add_option("--key", options->key, "The approver's private key in PEM form")->type_name("PEM");
  command->add_option("--approver", options->approver, "The approver's name")->type_name("NAME");
  command->add_option("--role", options->role, "The role in which it is given")->type_name("ROLE");
  command->add_option("--hours", options->hours, "Hours of validity")
      ->type_name("N")
      ->check(CLI::Range(1, 87600))
      ->capture_default_str();
  command->add_flag("--emergency", options->emergency, "An approval of the emergency kind");
  add_load_limits(*command, options->load);
  command->option_defaults()->group(group::kOutput);
  command->add_option("-o,--output", options->output, "The approval to write")->type_name("FILE");
  add_check(*command, *options);
  command->footer(
      "An approval names the definition, its parent, the files, the report, the envelope, the policy and the "
      "environment by digest; it holds for exactly these.\n\n"
      "Examples:\n"
      "  frazil approve new.onnx --parent old.onnx --environment production --key alice.pem --approver alice --role "
      "risk "
      "-o alice.approval\n"
      "  frazil approve new.onnx --parent old.onnx --environment production --check alice.approval --check "
      "bob.approval "
      "--persons persons.json --author carol");
  command->callback(
      [options, &action] { action = [options] { return options->check.empty() ? give(*options) : check(*options); }; });
}

}  // namespace frazil::tool
