// Times decisions of the hook run: a kept permit, filling the input, and policies of 20 rules.
//
//   policy_decide [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "govern/gate/governor.h"

namespace {

using namespace frazil::govern;

constexpr const char* kConditions[] = {
    "tenant == \"acme\"",
    "has(parameters.size) && parameters.size == \"large\"",
    "forecast.cost_ns > 5000000000 || forecast.memory > 2000000000",
    "has(budget_left) && budget_left < forecast.cost_ns",
    "model in [\"large\", \"huge\", \"giant\"] && priority > 3",
    "parameters.exists(k, k.startsWith(\"debug\"))",
    "!(tenant in [\"acme\", \"beta\", \"gamma\"])",
    "version == \"0\" || digest == \"sha256:0\"",
    "parameters.all(k, size(parameters[k]) > 1000)",
    "model.startsWith(\"internal-\") && tenant != \"own\"",
};

/// Two permits and forbids of all kinds, none of which matches: every rule is evaluated.
std::string policy_text(int rules) {
  std::string text = "policy \"bench\" serial 1;\npermit first on run when tenant == \"acme\" reason \"\";\n";
  for (int i = 1; i < rules; ++i) {
    const char* const condition = kConditions[static_cast<std::size_t>(i) % std::size(kConditions)];
    const bool permits = std::string_view(condition) == kConditions[0];
    text += std::string(permits ? "permit" : "forbid") + " r" + std::to_string(i) + " on run when " + condition +
            " reason \"x\";\n";
  }
  return text;
}

struct Fields {
  FieldId tenant = field_of(Hook::run, "tenant"), model = field_of(Hook::run, "model"),
          version = field_of(Hook::run, "version"), digest = field_of(Hook::run, "digest"),
          priority = field_of(Hook::run, "priority"), parameters = field_of(Hook::run, "parameters"),
          cost = field_of(Hook::run, "forecast.cost_ns"), memory = field_of(Hook::run, "forecast.memory"),
          budget = field_of(Hook::run, "budget_left");
};

void fill(Input& input, const Fields& fields) {
  static const std::vector<std::pair<std::string_view, std::string_view>> parameters = {{"size", "small"},
                                                                                        {"language", "en"}};
  input.clear();
  input.set(fields.tenant, "acme");
  input.set(fields.model, "router");
  input.set(fields.version, "3");
  input.set(fields.digest, "sha256:856d9434ba0a01147302d5793d39f4a005ea7c6c3111dcd9f0f12e899c95404d");
  input.set(fields.priority, std::int64_t{1});
  input.set(fields.parameters, parameters);
  input.set(fields.cost, std::int64_t{50'000});
  input.set(fields.memory, std::int64_t{1'000'000});
  input.set(fields.budget, std::int64_t{1'000'000'000});
}

/// Returns the median of 21 means, in nanoseconds.
template <class F>
double measure(int rounds, const F& call) {
  std::vector<double> means;
  for (int i = 0; i < 21; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for (int j = 0; j < rounds; ++j) call();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    means.push_back(time.count() / rounds);
  }
  std::ranges::sort(means);
  return means[means.size() / 2];
}

/// Times a request whose permit is kept, with and without an expiry of the policy.
void measure_kept(int rounds) {
  for (const char* const until : {"", " until \"2100-01-01T00:00:00Z\""}) {
    const std::string text =
        std::string("policy \"kept\" serial 1") + until + ";\npermit all on run when tenant == \"acme\" reason \"\";\n";
    const auto governor = std::make_shared<Governor>(GovernorOptions{.policy = Policy::read(text, "bench")});
    KeptDecisions kept;
    const TenantRef tenant{.name = "acme", .number = 7};
    int asked = 0;
    bool permits = true;
    const double ns = measure(rounds, [&] {
      permits &= !governor->check_run(kept, tenant, [&](bool) {
        ++asked;
        return RunQuestion{.model = "router", .version = "3", .digest = "sha256:856d"};
      });
    });
    std::printf("look up a kept permit%s: %.1f ns%s\n", *until == '\0' ? "" : ", policy with an expiry", ns,
                permits && asked == 1 ? "" : ", ASKED AGAIN");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20'000;
  measure_kept(rounds * 10);
  const Fields fields;
  Input input(Hook::run);
  std::printf("fill the input of a request: %.0f ns\n", measure(rounds, [&] { fill(input, fields); }));
  for (const int rules : {1, 5, 20, 100}) {
    const auto policy = Policy::read(policy_text(rules), "bench");
    bool permits = true;
    const double ns = measure(rounds, [&] { permits &= policy->decide(input).permits(); });
    double cost = 0;
    for (const RuleOnHook& rule : policy->rules_on(Hook::run)) cost += rule.cost;
    std::printf("decide, %3d rules: %.0f ns (worst case %.0f units)%s\n", rules, ns, cost, permits ? "" : ", DENIED");
  }
  return 0;
}
