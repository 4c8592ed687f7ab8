#include "govern/gate/change_evidence.h"

#include <algorithm>
#include <filesystem>

#include "govern/base/digest.h"
#include "govern/base/error.h"
#include "govern/base/file.h"
#include "govern/gate/policy_source.h"
#include "govern/report/report.h"

namespace frazil::govern {
namespace {

constexpr std::string_view kApprovalEnding = ".approval";
constexpr std::uint64_t kMaxApproval = 1U << 16U;   ///< bytes
constexpr std::uint64_t kMaxEnvelope = 16U << 20U;  ///< bytes
constexpr std::size_t kMostApprovals = 1000;        ///< files in the folder
constexpr std::size_t kMostApprovers = 64;          ///< the bound of the lists in policies
constexpr std::size_t kMostReasons = 20, kMostReasonBytes = 300;

/// Returns the paths of the approvals in a folder, sorted. Throws Code::bad_input if it cannot be read.
std::vector<std::filesystem::path> approval_files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == kApprovalEnding) files.push_back(at->path());
  }
  if (error) fail(Code::bad_input, "folder '{}': {}", folder, error.message());
  if (files.size() > kMostApprovals) {
    fail(Code::limit, "folder '{}': {} approvals, at most {}: remove old ones", folder, files.size(), kMostApprovals);
  }
  std::ranges::sort(files);
  return files;
}

/// Returns the first reasons, shortened, so that an event stays within its limit.
Json shortened(const std::vector<std::string>& reasons) {
  Json list = Json::array();
  for (const std::string& reason : reasons) {
    if (list.size() == kMostReasons) break;
    list.push_back(reason.size() <= kMostReasonBytes ? reason : reason.substr(0, kMostReasonBytes) + "...");
  }
  if (reasons.size() > kMostReasons) list.push_back(fmt::format("and {} more", reasons.size() - kMostReasons));
  return list;
}

Json approvals_record(const CountedApprovals& counted) {
  Json approvers = Json::array(), roles = Json::array();
  for (const auto& one : counted.counted) {
    if (approvers.size() < kMostApprovers) approvers.push_back(one.approver);
  }
  for (const std::string& role : counted.roles) {
    if (roles.size() < kMostApprovers) roles.push_back(role);
  }
  return {{"count", counted.counted.size()},
          {"approvers", std::move(approvers)},
          {"roles", std::move(roles)},
          {"includes_author", counted.by_author}};
}

}  // namespace

ChangeEvidence::ChangeEvidence(EvidenceOptions options) : options_(std::move(options)) {
  if (!options_.approvals.empty() && options_.environment.empty()) {
    fail(Code::bad_input, "approvals '{}': the environment that they must name is not given", options_.approvals);
  }
  if (!options_.approvals.empty()) (void)approval_files(options_.approvals);
  bounds_ = read_bounds();
}

std::optional<ChangeEvidence::Bounds> ChangeEvidence::read_bounds() const {
  if (options_.envelope.empty()) return std::nullopt;
  const std::string what = "file '" + options_.envelope + "'";
  if (options_.serials == nullptr) fail(Code::bad_input, "{}: there is no file for serials", what);
  const Document document = verified_document(read_file(options_.envelope, kMaxEnvelope), kEnvelopeKind, kEnvelopeRole,
                                              options_.envelope_signers, options_.trusted, what);
  Bounds bounds{.envelope = read_edit_envelope(document.content, what),
                .digest = document.digest(),
                .not_after = document.not_after};
  if (const auto accepted = options_.serials->accept(document); !accepted) {
    fail(Code::bad_input, "{}: {}", what, accepted.error());
  }
  return bounds;
}

void ChangeEvidence::reload() {
  auto bounds = read_bounds();
  const std::scoped_lock lock(mutex_);
  bounds_ = std::move(bounds);
}

std::vector<ApprovalFile> ChangeEvidence::approvals_of(const std::string& definition,
                                                       std::vector<std::string>& reasons) const {
  std::vector<ApprovalFile> files;
  if (options_.approvals.empty()) return files;
  for (const std::filesystem::path& path : approval_files(options_.approvals)) {
    const std::string name = path.filename().string();
    try {
      std::string text = read_file(path.string(), kMaxApproval);
      if (definition_in_approval(text, name) == definition) files.push_back({name, std::move(text)});
    } catch (const Error& error) {
      reasons.emplace_back(error.what());
    }
  }
  return files;
}

void ChangeEvidence::add_envelope(const Json& report, ChangeProof& proof) const {
  const std::scoped_lock lock(mutex_);
  if (!bounds_) return;
  proof.about["envelope"] = bounds_->digest;
  std::vector<std::string> outside;
  if (moment_now() > bounds_->not_after) {
    outside.push_back("the envelope expired at " + moment_text(bounds_->not_after));
  } else {
    for (const Violation& violation : contains(bounds_->envelope, report_for_envelope(report), "report")) {
      outside.push_back(violation.text());
    }
  }
  proof.within_envelope = outside.empty();
  if (!outside.empty()) proof.about["outside"] = shortened(outside);
}

ChangeProof ChangeEvidence::of(const ChangeSubject& subject, const Json& report) const {
  ChangeProof proof;
  proof.about = Json::object();
  add_envelope(report, proof);
  std::vector<std::string> reasons;
  const std::vector<ApprovalFile> files = approvals_of(subject.definition, reasons);
  const ApprovalSubject wanted{.model = subject.model,
                               .definition = subject.definition,
                               .parent = subject.parent,
                               .files = subject.files.value_or(std::map<std::string, std::string>()),
                               .report = digest_of_report(report),
                               .envelope = proof.about.value("envelope", ""),
                               .policy = subject.policy,
                               .environment = options_.environment};
  const CountedApprovals counted =
      count_approvals(wanted, files, options_.trusted, subject.author, subject.files.has_value(), moment_now());
  proof.approvals = approvals_record(counted);
  for (const auto& one : counted.counted) {
    proof.about["counted"].push_back({{"approver", one.approver}, {"role", one.role}, {"file", files[one.file].name}});
    proof.events.push_back({{"kind", "approval"},
                            {"definition", subject.definition},
                            {"parent", subject.parent},
                            {"approver", one.key},
                            {"actor", one.approver},
                            {"role", one.role}});
  }
  std::ranges::copy(counted.reasons, std::back_inserter(reasons));
  if (!reasons.empty()) proof.about["not_counted"] = shortened(reasons);
  return proof;
}

Json report_for_envelope(Json report) {
  for (Json& op : report["operators"]) {
    if (op["opset"].is_null()) op["opset"] = 0;
  }
  for (Json& model : report["models"]) {
    if (!model.contains("digest")) model["digest"] = nullptr;
  }
  return report;
}

}  // namespace frazil::govern
