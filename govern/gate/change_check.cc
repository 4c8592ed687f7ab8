#include <mutex>
#include <shared_mutex>
#include <utility>

#include "govern/base/error.h"
#include "govern/gate/facts.h"
#include "govern/gate/governor.h"

// The decisions of Governor on loads and changes of definitions.
namespace frazil::govern {
namespace {

constexpr std::size_t kMostBounds = 65'536;

std::optional<std::int64_t> integer_in(const Json& facts, const char* name) {
  const auto found = facts.find(name);
  return found == facts.end() ? std::nullopt : std::optional(found->get<std::int64_t>());
}

/// Returns what officers need of a refused load or change to approve it.
Json about_refusal(const Json& facts, const ChangeProof& proof) {
  Json about = {{"definition", facts.at("digest")}};
  if (facts.contains("parent")) about["parent"] = facts.at("parent");
  if (!proof.about.empty()) about["approvals"] = proof.about;
  return about;
}

}  // namespace

void Governor::record_change(const Policy& rules, const Verdict& verdict, const Action& action,
                             const ChangeProof& proof) {
  const auto append = [&](Json event) {
    action.pending == nullptr ? record(std::move(event)) : action.pending->add(std::move(event));
  };
  for (const Json& event : proof.events) append(event);
  const Json& facts = action.facts;
  Json event = {
      {"kind", name_of(action.hook)}, {"model", facts.at("model")}, {"definition", facts.at("digest")},
      {"policy", rules.digest()},     {"rule", verdict.rule},       {"report", facts.at("report").at("digest")}};
  if (!facts.at("version").get_ref<const std::string&>().empty()) event["version"] = facts.at("version");
  if (const std::string author = facts.value("author", ""); !author.empty()) event["actor"] = author;
  if (facts.contains("parent")) event["parent"] = facts.at("parent");
  if (!proof.about.empty()) event["approvals"] = proof.about;
  if (options_.audit != nullptr) event["blobs"] = Json::array({options_.audit->put_blob(canonical(action.report))});
  refer_to_decision(event, verdict.decision);
  append(std::move(event));
  accepted_.add(action.report, facts.at("model"), facts.at("version"));
  const Json& report = facts.at("report");
  const std::unique_lock lock(mutex_);
  if (bounds_.size() >= kMostBounds) bounds_.clear();
  bounds_[facts.at("digest")] = {integer_in(report, "worst_cost_ns"), integer_in(report, "worst_memory")};
}

/// Without evidence nothing is known of signatures, so that rules that read it deny.
ChangeProof Governor::add_proof(Action& action, const Policy& rules) const {
  if (action.hook == Hook::load || options_.evidence == nullptr) return {};
  Json& facts = action.facts;
  ChangeProof proof = options_.evidence->of({.model = facts.at("model"),
                                             .definition = facts.at("digest"),
                                             .parent = facts.at("parent"),
                                             .files = action.files,
                                             .policy = rules.digest(),
                                             .author = facts.at("author")},
                                            action.report);
  facts["approvals"] = proof.approvals;
  facts["within_envelope"] = proof.within_envelope;
  return proof;
}

Governor::Rejection Governor::check_action(Action action) {
  const std::shared_lock changing(changing_);
  const auto rules = policy();
  const ChangeProof proof = add_proof(action, *rules);
  const auto input = Input::from_json(action.hook, action.facts, name_of(action.hook));
  const std::string model = action.facts.at("model");
  Verdict verdict = decide(*rules, input, {.model = model, .more = about_refusal(action.facts, proof)});
  if (verdict.reason) return std::move(verdict.reason);
  verdict.decision = decisions_.keep(input);
  record_change(*rules, verdict, action, proof);
  return std::nullopt;
}

Governor::Rejection Governor::check_pipeline(const Json& report, const ServedName& name, const Json* before,
                                             PendingEvents* pending) {
  Json facts = load_facts(report, name, {});
  if (before == nullptr) {
    return check_action({Hook::load, report, std::move(facts), {}, pending});
  }
  if (auto reason = ask(Input::from_json(Hook::load, facts, "load"), name.model)) return reason;
  return check_action({Hook::publish, report, change_facts(report, *before, name), {}, pending});
}

Governor::Rejection Governor::check_change(const api::Change& change, ServedName name) {
  constexpr Hook kHooksOfKinds[] = {Hook::edit, Hook::publish, Hook::roll_back};
  if (change.version != 0) name.version = std::to_string(change.version);
  const Json report = report_of(change.to, report_options());
  Json facts = change_facts(change, report, report_of(change.from, report_options()), name);
  return check_action({kHooksOfKinds[static_cast<std::size_t>(change.kind)], report, std::move(facts)});
}

void PendingEvents::add(Json event) {
  const std::scoped_lock lock(mutex_);
  events_.push_back(std::move(event));
}

void Governor::record_pending(PendingEvents& pending) {
  const std::shared_lock changing(changing_);
  const std::scoped_lock lock(pending.mutex_);
  const std::string digest = policy()->digest();
  for (const Json& event : pending.events_) {
    if (event.value("policy", digest) == digest) continue;
    fail(Code::bad_input, "the policy was replaced while the models were loaded: load them again");
  }
  for (Json& event : std::exchange(pending.events_, {})) record(std::move(event));
}

}  // namespace frazil::govern
