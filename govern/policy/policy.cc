#include "govern/policy/policy.h"

#include <cstddef>
#include <exception>
#include <new>

#include "govern/policy/evaluate.h"

namespace frazil::govern {

namespace {
constexpr std::uint32_t kNoRule = ~std::uint32_t{0};

Outcome outcome_of(const Value& value) {
  if (value.is_true()) return Outcome::match;
  return value.is_false() ? Outcome::no_match : Outcome::error;
}
}  // namespace

/// The outcomes of the rules that decide: the first of each kind.
struct Policy::Tally {
  std::uint32_t permit = kNoRule, forbid = kNoRule;
  std::uint32_t permit_error = kNoRule, forbid_error = kNoRule;
  Value permit_fault, forbid_fault;

  void count(std::uint32_t rule, bool permits, const Value& value) {
    const Outcome outcome = outcome_of(value);
    if (outcome == Outcome::no_match) return;
    const bool error = outcome == Outcome::error;
    std::uint32_t& first = permits ? (error ? permit_error : permit) : (error ? forbid_error : forbid);
    if (first != kNoRule) return;
    first = rule;
    if (error) (permits ? permit_fault : forbid_fault) = value;
  }

  Cause cause() const {
    if (forbid != kNoRule) return Cause::forbidden;
    if (forbid_error != kNoRule) return Cause::could_not_decide;
    if (permit != kNoRule) return Cause::permitted;
    return permit_error != kNoRule ? Cause::could_not_decide : Cause::no_rule;
  }
  std::uint32_t rule() const {
    switch (cause()) {
      case Cause::forbidden: return forbid;
      case Cause::permitted: return permit;
      case Cause::could_not_decide: return forbid_error != kNoRule ? forbid_error : permit_error;
      case Cause::no_rule: break;
    }
    return kNoRule;
  }
  const Value& fault() const { return forbid_error != kNoRule ? forbid_fault : permit_fault; }
};

namespace {

/// Limits the memory of a decision. Throws std::bad_alloc beyond the limit.
class Memory : public std::pmr::memory_resource {
 public:
  explicit Memory(std::size_t most) : left_(most) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes > left_) throw std::bad_alloc();
    left_ -= bytes;
    return first_.allocate(bytes, alignment);
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::size_t left_;
  alignas(std::max_align_t) std::array<std::byte, 1024> buffer_;
  std::pmr::monotonic_buffer_resource first_{buffer_.data(), buffer_.size()};
};

Decision undecided(std::string_view digest, std::uint64_t serial, const char* why) {
  Decision decision;
  decision.policy = digest;
  decision.serial = serial;
  decision.error = why;
  return decision;
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::no_match: return "no match";
    case Outcome::match: return "match";
    case Outcome::error: break;
  }
  return "error";
}

std::string_view name_of(Cause cause) {
  switch (cause) {
    case Cause::permitted: return "permitted";
    case Cause::forbidden: return "forbidden";
    case Cause::no_rule: return "no rule matched";
    case Cause::could_not_decide: break;
  }
  return "could not decide";
}

Json to_json(const Decision& decision) {
  Json json = {{"decision", decision.permits() ? "permit" : "deny"},
               {"cause", name_of(decision.cause)},
               {"policy", decision.policy},
               {"serial", decision.serial}};
  if (!decision.rule.empty()) json["rule"] = decision.rule;
  if (!decision.reason.empty()) json["reason"] = decision.reason;
  if (!decision.error.empty()) json["error"] = decision.error;
  for (const ShadowResult& result : decision.shadow) {
    json["shadow"].push_back({{"rule", result.rule}, {"outcome", name_of(result.outcome)}});
  }
  if (decision.would) json["would"] = *decision.would == Cause::permitted ? "permit" : "deny";
  return json;
}

/// Counts the outcomes of the enforced or the shadow rules of a hook. Returns false if the limit of steps was reached.
bool Policy::tally(const Input& input, const DecideOptions& options, bool shadow, Tally& tally,
                   std::vector<ShadowResult>* results) const {
  const Hook hook = input.hook().value();
  Memory memory(options.max_memory);
  EvalScope scope{program_, input.slots(), memory};
  scope.steps = options.max_steps != 0 ? options.max_steps : max_steps_[static_cast<std::size_t>(hook)];
  for (const RuleOnHook& on : rules_on(hook)) {
    const RuleSyntax& rule = syntax_.rules[on.rule];
    if (rule.shadow != shadow) continue;
    const Value value = evaluate(scope, on.node);
    if (scope.stopped) return false;
    tally.count(on.rule, rule.permits, value);
    const Outcome outcome = outcome_of(value);
    if (results != nullptr && outcome != Outcome::no_match) results->push_back({rule.name.text, outcome});
  }
  return true;
}

Decision Policy::decide_enforced(const Input& input, const DecideOptions& options, Tally& tally_of) const {
  if (!input.fault().empty()) return undecided(digest_, serial(), input.fault().c_str());
  if (!input.hook()) return undecided(digest_, serial(), "the input is not that of a hook");
  if (!tally(input, options, false, tally_of, nullptr)) {
    return undecided(digest_, serial(), "the limit of steps was reached");
  }
  Decision decision = undecided(digest_, serial(), "");
  const Cause cause = tally_of.cause();
  if (const std::uint32_t rule = tally_of.rule(); rule != kNoRule) {
    decision.rule = syntax_.rules[rule].name.text;
    decision.reason = syntax_.rules[rule].reason;
    if (cause == Cause::could_not_decide) decision.error = describe(tally_of.fault(), program_, input.layout());
  }
  decision.cause = cause;
  return decision;
}

Decision Policy::decide(const Input& input, const DecideOptions& options) const noexcept {
  Tally rules;
  Decision decision;
  try {
    decision = decide_enforced(input, options, rules);
  } catch (...) {
    // Short enough for std::string's own memory: reporting must not fail.
    return undecided(digest_, serial(), "out of memory");
  }
  if (!has_shadow_ || !input.hook() || !input.fault().empty()) return decision;
  try {
    const bool done = tally(input, options, true, rules, &decision.shadow);
    if (!decision.shadow.empty()) decision.would = done ? rules.cause() : Cause::could_not_decide;
  } catch (...) {
    decision.would = Cause::could_not_decide;
  }
  return decision;
}

std::vector<RuleResult> Policy::explain(const Input& input) const {
  std::vector<RuleResult> results;
  if (!input.hook()) return results;
  const std::size_t hook = static_cast<std::size_t>(*input.hook());
  for (const RuleOnHook& on : rules_on(*input.hook())) {
    Memory memory(DecideOptions().max_memory);
    EvalScope scope{program_, input.slots(), memory};
    scope.steps = max_steps_[hook];
    const Value value = evaluate(scope, on.node);
    RuleResult& result = results.emplace_back(RuleResult{on.rule, outcome_of(value), {}});
    if (value.is_error()) result.error = describe(value, program_, input.layout());
  }
  return results;
}

}  // namespace frazil::govern
