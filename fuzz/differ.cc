#include "differ.h"

#include <cmath>

#include "base/os/knobs.h"
#include "coverage.h"
#include "excuse.h"
#include "exec/run/session.h"
#include "ir/graph/verify.h"
#include "ir/text/text.h"
#include "tensor/compare.h"

namespace frazil::fuzz {
namespace {

// What the reference executor can do within its limits tier 0 must do within its own.
const Limits kReferenceLimits{.memory_bytes = 16 << 20, .tensor_elements = 1 << 14, .steps = 2'000, .time = {}};
const Limits kLimits{.memory_bytes = 64 << 20, .tensor_elements = 1 << 18, .steps = 100'000, .time = {}};

bool is_limit(Code code) { return code == Code::limit || code == Code::out_of_memory; }

/// What fails first depends on the order of the work, so that faults of the request, limits and gaps are alike.
Code class_of(Code code) { return is_limit(code) || code == Code::unsupported ? Code::bad_input : code; }

/// A fault that must not leave an executor.
std::optional<Finding> improper(const Fault& fault, std::string_view who) {
  if (fault.code == Code::internal || fault.code == Code::cancelled) {
    return Finding{fmt::format("{} fails with {}: {}", who, name_of(fault.code), kind_of(fault.text())), fault.text()};
  }
  if (fault.message.empty() || fault.text().contains('\n')) {
    return Finding{fmt::format("{} fails without one line", who), fault.text()};
  }
  return std::nullopt;
}

std::optional<Finding> check_text(const Graph& graph) {
  const auto weights = weights_of(graph);
  const auto again = parse(print(graph), [&](std::string_view name) {
    const auto it = weights.find(name);
    return it == weights.end() ? Tensor{} : it->second;
  });
  if (!again) return Finding{"the text does not read back: " + kind_of(again.error().text()), again.error().text()};
  if (structural_hash(*again) != structural_hash(graph) && weights.empty())
    return Finding{"the hash changes with the text", ""};
  return std::nullopt;
}

using Outcome = Result<std::vector<Datum>>;
using Opened = Result<std::unique_ptr<exec::Session>>;

Opened open(const Graph& graph, bool reference, PassSet passes = {}, exec::Tier tier = exec::Tier::interpreted) {
  const exec::Options options{.reference = reference, .passes = passes, .verify = 3, .tier = tier};
  FRAZIL_TRY(const auto made, exec::Executable::make(std::make_shared<const Graph>(graph), options));
  std::unique_ptr<exec::Session> session = made->open();
  session->set_limits(reference ? kReferenceLimits : kLimits);
  return session;
}

std::string outcome_str(const Outcome& outcome) {
  if (outcome) return "results";
  return fmt::format("{} '{}'", name_of(outcome.error().code), outcome.error().text());
}

class Differ {
 public:
  explicit Differ(const Case& c) : case_(c) {}

  std::optional<Finding> run() {
    journal().stage = "verifying";
    if (const Status s = verify(case_.graph, 3); !s) {
      return Finding{"verify: " + kind_of(s.error().text()), s.error().text()};
    }
    if (auto found = check_text(case_.graph)) return found;
    kernel::force_features(CpuFeatures::all_of(case_.isa));
    journal().stage = "planning";
    reference_ = open(case_.graph, true);
    tier0_ = open(case_.graph, false, case_.passes);
    if (knobs()->tier == "1" || knobs()->tier == "2") {
      compiled_ = open(case_.graph, false, case_.passes, *exec::tier_named(knobs()->tier));
    }
    if (!reference_) return improper(reference_.error(), "the reference executor");
    bool all_ran = true;
    for (std::size_t k = 0; k < case_.runs.size(); ++k) {
      if (auto found = compare_run(k, all_ran)) return found;
    }
    if (all_ran) Coverage::global().ran(case_.graph);
    return std::nullopt;
  }

 private:
  std::optional<Finding> compare_run(std::size_t k, bool& all_ran) {
    journal().stage = "running the reference executor";
    const Outcome want = (*reference_)->run(case_.runs[k]);
    journal().stage = "running tier 0";
    const bool endless = !want && is_limit(want.error().code);
    if (tier0_) (*tier0_)->set_limits(endless ? kReferenceLimits : kLimits);
    const Outcome got = tier0_ ? (*tier0_)->run(case_.runs[k]) : Outcome(std::unexpected(tier0_.error()));
    all_ran &= want && got;
    if (!want) {
      if (auto found = improper(want.error(), "the reference executor")) return found;
    }
    if (!got) {
      if (auto found = improper(got.error(), "tier 0")) return found;
    }
    if (compiled_ && !(!got && is_limit(got.error().code))) {
      if (auto found = compare_compiled(k, got)) return found;
    }
    return compare(k, got, want);
  }

  /// Generated code against tier 0, whose bits it has: in the run that has it made, and in the next.
  std::optional<Finding> compare_compiled(std::size_t k, const Outcome& want) {
    journal().stage = "running generated code";
    if (!*compiled_) return want ? std::optional(Finding{"no code: " + compiled_->error().text(), ""}) : std::nullopt;
    for (int time = 0; time < 2; ++time) {
      const Outcome got = (**compiled_)->run(case_.runs[k]);
      if (!got && is_limit(got.error().code)) return std::nullopt;
      if (got.has_value() != want.has_value()) {
        return Finding{"generated code and tier 0 end apart", fmt::format("run {}: generated code gives {}, tier 0 {}",
                                                                          k, outcome_str(got), outcome_str(want))};
      }
      for (std::size_t i = 0; got && i < got->size(); ++i) {
        const auto what = difference((*got)[i], (*want)[i], {.rtol = 0, .atol = 0});
        if (what) return Finding{"generated code and tier 0 differ", fmt::format("run {}, output {}: {}", k, i, *what)};
      }
    }
    return std::nullopt;
  }

  std::optional<Finding> compare(std::size_t k, const Outcome& got, const Outcome& want) {
    if (!want && is_limit(want.error().code)) return std::nullopt;
    if (!got != !want || (!got && class_of(got.error().code) != class_of(want.error().code))) {
      if (got && is_lazy(case_.graph, case_.runs[k], want.error())) return std::nullopt;
      if (!want && !tier0_ && tier0_.error().code == Code::bad_model) return std::nullopt;  // planning sees it earlier
      if (excuse(k).excuses_outcome(want)) return std::nullopt;
      if (!got && got.error().code == Code::unsupported) {
        return Finding{"tier 0 cannot: " + kind_of(got.error().text()), got.error().text(), true};
      }
      return Finding{
          fmt::format("tier 0 gives {}, the reference executor {}", got ? "results" : name_of(got.error().code),
                      want ? "results" : name_of(want.error().code)),
          fmt::format("run {}: tier 0 gives {}, the reference executor {}", k, outcome_str(got), outcome_str(want))};
    }
    if (!got) return std::nullopt;
    for (std::size_t i = 0; i < want->size(); ++i) {
      auto what = usual_difference((*got)[i], (*want)[i]);
      if (what) what = excuse(k).difference(i, (*got)[i], (*want)[i]);
      if (!what) continue;
      const bool tensor = (*want)[i].is_tensor();
      return Finding{
          fmt::format("results differ{}", tensor ? fmt::format(" in {}", name_of((*want)[i].tensor().elem())) : ""),
          fmt::format("run {}, output '{}': {}", k, case_.graph.output_names()[i], *what)};
    }
    return std::nullopt;
  }

  Excuse& excuse(std::size_t k) {
    auto& made = excuses_[k];
    if (!made) made.emplace(case_.graph, case_.runs[k]);
    return *made;
  }

  const Case& case_;
  Opened reference_, tier0_;
  std::optional<Opened> compiled_;  // where FRAZIL_TIER is 1 or 2
  std::map<std::size_t, std::optional<Excuse>> excuses_;
};

}  // namespace

std::optional<Finding> check(const Case& c) {
  journal() = {};
  journal().graph = &c.graph;
  return Differ(c).run();
}

Outcome run_on_reference(const Graph& graph, const std::vector<Datum>& inputs) {
  FRAZIL_TRY(const auto session, open(graph, true));
  return session->run(inputs);
}

Outcome run_on_tier0(const Graph& graph, const std::vector<Datum>& inputs) {
  FRAZIL_TRY(const auto session, open(graph, false));
  return session->run(inputs);
}

std::string kind_of(std::string_view message) {
  std::string kind;
  bool quoted = false;
  for (char c : message) {
    if (c == '\'' || c == '"') quoted = !quoted;
    if (quoted || c == '\'') continue;
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (digit && !kind.empty() && kind.back() == '#') continue;
    kind += digit ? '#' : c;
  }
  if (const auto node = kind.rfind("): "); node != kind.npos) kind.erase(0, node + 3);
  if (kind.size() > 60) kind.resize(60);
  return kind;
}

}  // namespace frazil::fuzz
