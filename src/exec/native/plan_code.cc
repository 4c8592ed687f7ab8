#include "exec/native/plan_code.h"

#include <algorithm>
#include <utility>

#include "base/os/log.h"
#include "exec/memory/memory.h"
#include "exec/native/code_maker.h"
#include "kernel/simd/isa.h"

namespace frazil::exec {
namespace {

constexpr const char* kStepsName = "frazil_steps";
/// kPays: nanoseconds between steps, at the same extents, that pay for code. kBetweenSteps: nanoseconds that a step
/// takes besides its work.
constexpr double kPays = 2e6, kBetweenSteps = 500;
/// Most versions that a plan has: codes, and extents that wait for theirs. A code takes tens of milliseconds to make
/// and tens of kilobytes of memory.
constexpr std::size_t kMostVersions = 8;
/// Most elements of an inlined body. Larger bodies are launched, so that they can be shared and stopped.
constexpr std::int64_t kMaxElements = 8192;
/// Most instructions of all bodies together. The code generator takes about a second for them.
constexpr std::size_t kMaxInstructions = 4096;
constexpr std::size_t kMaxSteps = 4096;
/// Most sets of extents for which the cache on disk is searched before their code pays.
constexpr std::size_t kMaxLookups = 16;

}  // namespace

std::unique_ptr<PlanCodes> PlanCodes::make(const Plan& plan, const std::vector<bool>& bodies, Compiling when) {
  const bool pays = std::ranges::any_of(plan.steps, [](const Step& s) { return s.as<step::Launch>() != nullptr; });
  if (!pays || plan.steps.size() > kMaxSteps) return nullptr;
  return std::unique_ptr<PlanCodes>(new PlanCodes(plan, bodies, when));
}

PlanCodes::PlanCodes(const Plan& plan, const std::vector<bool>& bodies, Compiling when)
    : plan_(plan), when_(when), fixed_(code::fixed_registers(plan)) {
  std::vector<bool> determining(plan.registers, false);
  for (StepIndex i = 0; i < plan.steps.size(); ++i) {
    if (!bodies[i]) continue;
    for (const Reg r : code::extents_of(plan, *plan.steps[i].as<step::Launch>())) determining[r] = fixed_[r];
  }
  for (Reg r = 0; r < plan.registers; ++r) {
    if (determining[r]) determining_.push_back(r);
  }
}

PlanCodes::Extents PlanCodes::extents(std::span<const std::int64_t> regs) const {
  Extents values;
  for (const Reg r : determining_) values.push_back(regs[r]);
  return values;
}

bool PlanCodes::is_fixed(const step::Launch& launch) const {
  return std::ranges::all_of(code::extents_of(plan_, launch), [&](Reg r) { return fixed_[r]; });
}

std::shared_ptr<const PlanCode> PlanCodes::find(std::span<const std::int64_t> regs) {
  const std::scoped_lock lock(mutex_);
  const auto at = versions_.find(extents(regs));
  if (at == versions_.end()) return nullptr;
  at->second.last_use = ++uses_;
  return at->second.code;
}

PlanCodes::CodeRequest PlanCodes::record_run(std::span<const std::int64_t> regs, double nanoseconds,
                                             std::uint64_t steps) {
  const std::scoped_lock lock(mutex_);
  const auto [at, first] = versions_.try_emplace(extents(regs));
  Version& version = at->second;
  version.last_use = ++uses_;
  version.spent += std::min(nanoseconds, kBetweenSteps * static_cast<double>(steps));
  const bool pays = when_ == Compiling::at_once || version.spent >= kPays;
  CodeRequest code_request = pays && !std::exchange(version.asked, true) ? CodeRequest::compile : CodeRequest::nothing;
  if (first && code_request == CodeRequest::nothing && lookups_ < kMaxLookups)
    ++lookups_, code_request = CodeRequest::look;
  if (first && versions_.size() > kMostVersions) drop_oldest();
  return code_request;
}

void PlanCodes::withdraw(std::span<const std::int64_t> regs) {
  const std::scoped_lock lock(mutex_);
  const auto at = versions_.find(extents(regs));
  if (at != versions_.end() && at->second.code == nullptr) versions_.erase(at);
}

/// Drops the least recently used version. Sessions that use its code keep it until their next run.
void PlanCodes::drop_oldest() {
  const auto older = [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; };
  versions_.erase(std::ranges::min_element(versions_, older));
  generation_.fetch_add(1, std::memory_order_release);
}

code::NativePlan PlanCodes::native_plan(std::span<const std::int64_t> regs,
                                        std::vector<std::optional<code::NativeBody>> bodies) const {
  code::NativePlan native{.plan = &plan_, .bodies = std::move(bodies)};
  native.guards.resize(plan_.steps.size());
  native.capacity_step = Memory::kCapacityStep;
  std::size_t instructions = 0;
  for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
    std::optional<code::NativeBody>& body = native.bodies[i];
    if (!body) continue;
    instructions += body->instructions();
    if (body->elements() > kMaxElements || instructions > kMaxInstructions) {
      body.reset();
      continue;
    }
    native.scratch_bytes = std::max(native.scratch_bytes, body->scratch_bytes);
    for (const Reg r : code::extents_of(plan_, *plan_.steps[i].as<step::Launch>())) {
      if (!fixed_[r]) native.guards[i].push_back({r, regs[r]});
    }
  }
  native.find_entries();
  return native;
}

/// Returns a version without code and without a reason if the search of the cache found nothing.
PlanCodes::Version PlanCodes::made(const code::NativePlan& native, CodeRequest code_request) const {
  auto made = std::make_shared<PlanCode>();
  made->enters = native.enters;
  made->scratch_bytes = native.scratch_bytes;
  for (const auto& body : native.bodies) {
    made->runs.push_back(body ? 1 : 0);
    if (body && body->code != nullptr) made->bodies.push_back(body->code);
  }
  const std::string isa(name_of(kernel::features().isa));
  const std::string key = "plan for " + isa + ": " + native.key();
  if (code_request == CodeRequest::look) {
    made->code = cached_code(key, kStepsName);
    if (made->code == nullptr) return {};
  } else {
    auto code = make_code(key, kStepsName, [&](const code::NativeModule& module) {
      return module.compile_plan({.isa = isa, .name = kStepsName, .plan = &native});
    });
    if (!code) return {.why_not = std::move(code).error().text()};
    made->code = std::move(code->code);
    made->milliseconds = code->milliseconds;
  }
  made->run = made->code->entry<code::NativeSteps>();
  return {.code = std::move(made)};
}

void PlanCodes::compile(std::span<const std::int64_t> regs, std::vector<std::optional<code::NativeBody>> bodies,
                        CodeRequest code_request) {
  Version version = made(native_plan(regs, std::move(bodies)), code_request);
  if (version.code == nullptr && version.why_not.empty()) return;
  if (version.code == nullptr) {
    logging::debug(2, "code", "the plan stays on tier 1: {}", version.why_not);
  } else {
    logging::debug(1, "code", "the plan runs on tier 2 from now on: {} of its {} steps, {} bytes in {:.1f} ms",
                   std::ranges::count(version.code->runs, 1), plan_.steps.size(), version.code->code->bytes(),
                   version.code->milliseconds);
  }
  const std::scoped_lock lock(mutex_);
  const auto at = versions_.find(extents(regs));
  if (at == versions_.end() || at->second.code != nullptr) return;
  at->second.asked = true;
  at->second.code = std::move(version.code);
  at->second.why_not = std::move(version.why_not);
  generation_.fetch_add(1, std::memory_order_release);
}

bool PlanCodes::runs(StepIndex i) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(versions_,
                             [i](const auto& v) { return v.second.code != nullptr && v.second.code->runs[i] != 0; });
}

bool PlanCodes::contains(const code::TileCode& body) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(versions_, [&](const auto& v) {
    return v.second.code != nullptr && std::ranges::find(v.second.code->bodies, &body) != v.second.code->bodies.end();
  });
}

std::string PlanCodes::explain() const {
  const std::scoped_lock lock(mutex_);
  std::string text;
  for (const auto& [extents, version] : versions_) {
    std::string where;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      where += fmt::format("{}r{} = {}", i == 0 ? "" : ", ", determining_[i], extents[i]);
    }
    const auto& code = version.code;
    text += code != nullptr
                ? fmt::format("tier 2: {} bytes in {:.1f} ms: {} of {} steps with {}\n", code->code->bytes(),
                              code->milliseconds, std::ranges::count(code->runs, 1), plan_.steps.size(), where)
                : fmt::format("tier 1: {}: the plan with {}\n",
                              version.why_not.empty() ? "not compiled yet" : version.why_not, where);
  }
  return text;
}

}  // namespace frazil::exec
