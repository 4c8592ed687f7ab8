#include "exec/native/machine_code.h"

#include "exec/native/backend.h"
#include "exec/native/compile_thread.h"

namespace frazil::exec {
namespace {

Compiling when_of(Tier tier) { return tier == Tier::adaptive ? Compiling::later : Compiling::at_once; }

}  // namespace

std::optional<Tier> tier_named(std::string_view name) {
  if (name == "auto") return Tier::adaptive;
  if (name == "0") return Tier::interpreted;
  if (name == "1") return Tier::compiled;
  if (name == "2") return Tier::specialised;
  return std::nullopt;
}

MachineCode::MachineCode(Tier tier) : tier_(tier) {
  if (tier != Tier::interpreted) bodies_ = std::make_shared<NativeCompiler>(when_of(tier));
}

void MachineCode::add_plan(const Plan& plan, const std::vector<bool>& bodies) {
  if (tier_ >= Tier::specialised) plan_ = PlanCodes::make(plan, bodies, when_of(tier_));
}

/// Missing bodies are compiled together, because each takes milliseconds. The first run only requests a search of the
/// cache.
void MachineCode::spent(double nanoseconds, std::weak_ptr<const void> owner) {
  constexpr double kEnough = 4e6;
  if (!lacks_bodies()) return;
  const bool pays = spent_.fetch_add(nanoseconds) + nanoseconds >= kEnough;
  const bool first = !looked_.exchange(true);
  if (!pays && !first) return;
  if (pays) spent_ = 0;
  CompileThread::instance().post([this, owner = std::move(owner), pays] {
    if (const auto alive = owner.lock()) make_missing(pays);
  });
}

/// Leaves out bodies that the code of the plan contains: that code pays earlier.
void MachineCode::make_missing(bool pays) {
  if (!pays) return bodies_->find_missing();
  bodies_->compile_missing([&](const code::TileCode& body) { return plan_ != nullptr && plan_->contains(body); });
}

std::string MachineCode::explain() const {
  if (bodies_ == nullptr) return {};
  std::string text;
  if (const Status there = has_native_module(); !there) text = "no code is generated: " + there.error().text() + "\n";
  text += bodies_->explain();
  if (plan_ != nullptr) text += plan_->explain();
  return text;
}

}  // namespace frazil::exec
