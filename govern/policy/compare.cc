#include "govern/policy/compare.h"

#include "govern/base/error.h"

namespace frazil::govern {

Asked asked_of(const Json& record, std::string_view what) {
  Asked asked;
  const std::string& name = text_member(record, "hook", what);
  const auto hook = hook_named(name);
  if (!hook) fail(Code::bad_input, "{}: there is no hook '{}'", what, name);
  asked.hook = *hook;
  asked.input = member(record, "input", what);
  if (record.contains("count")) asked.count = number_member(record, "count", what);
  return asked;
}

std::vector<DecisionChange> compare(const Policy& before, const Policy& after, std::span<const Asked> questions) {
  std::vector<DecisionChange> changes;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Input input = Input::from_json(questions[i].hook, questions[i].input, fmt::format("question {}: input", i));
    DecisionChange change = {i, before.decide(input), after.decide(input)};
    const auto undecided = [](const Decision& d) { return d.cause == Cause::could_not_decide; };
    const bool differs =
        change.before.permits() != change.after.permits() || undecided(change.before) != undecided(change.after);
    if (differs) changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace frazil::govern
