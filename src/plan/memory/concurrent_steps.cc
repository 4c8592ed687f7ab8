#include "plan/memory/concurrent_steps.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

namespace frazil {
namespace {

/// Returns true for memory that exists when the request starts.
bool is_fixed(const Plan& plan, SlotId s) {
  const Storage& storage = plan.storage(s);
  return !plan.slot(s).object && (storage.place == Place::arena || storage.place == Place::constant ||
                                  storage.place == Place::input || storage.place == Place::output);
}

/// Returns true for kernels with units. The session runs the other kernels itself, on its own thread.
bool has_units(Kernel kernel) {
  return kernel != Kernel::reference && kernel != Kernel::opaque && kernel != Kernel::pack;
}

const step::Launch* candidate(const Plan& plan, StepIndex i) {
  const auto* launch = i < plan.steps.size() ? plan.steps[i].as<step::Launch>() : nullptr;
  if (launch == nullptr || launch->device != kHost || !launch->extents.empty()) return nullptr;
  if (!has_units(launch->kernel())) return nullptr;
  for (const auto* list : {&launch->in, &launch->out}) {
    if (!std::ranges::all_of(*list, [&](SlotId s) { return !s || is_fixed(plan, s); })) return nullptr;
  }
  return launch;
}

bool is_heavy(const Plan& plan, StepIndex i) {
  const auto kernel = plan.kernel_of(plan.steps[i]);
  if (!kernel) return false;
  switch (*kernel) {
    case Kernel::matmul:
    case Kernel::matmul_nbits:
    case Kernel::gemm:
    case Kernel::conv:
    case Kernel::conv_transpose:
    case Kernel::lstm:
    case Kernel::gru:
    case Kernel::attention:
    case Kernel::contraction: return true;
    default: return false;
  }
}

/// Disjoint sets of storages; each set is named by one of its members.
class Sets {
 public:
  explicit Sets(std::size_t count) : of_(count) { std::iota(of_.begin(), of_.end(), 0u); }
  std::uint32_t find(std::uint32_t s) {
    while (of_[s] != s) s = of_[s] = of_[of_[s]];
    return s;
  }
  void join(std::uint32_t a, std::uint32_t b) { of_[find(a)] = find(b); }

 private:
  std::vector<std::uint32_t> of_;
};

}  // namespace

/// Storages of one pool share bytes. Storages that a loop swaps exchange their bytes.
ConcurrentSteps::ConcurrentSteps(const Plan& plan) : plan_(plan), memory_(plan.storages.size()) {
  Sets sets(plan.storages.size());
  std::vector<std::uint32_t> first_of(plan.pools.size(), kNone);
  for (std::uint32_t s = 0; s < plan.storages.size(); ++s) {
    const std::uint32_t pool = plan.storages[s].pool;
    if (pool == kNone) continue;
    if (first_of[pool] != kNone) sets.join(s, first_of[pool]);
    first_of[pool] = s;
  }
  for (const Step& step : plan.steps) {
    if (const auto* swap = step.as<step::Swap>()) {
      sets.join(plan.slot(swap->source).storage, plan.slot(swap->variable).storage);
    }
  }
  for (std::uint32_t s = 0; s < memory_.size(); ++s) memory_[s] = sets.find(s);
}

bool ConcurrentSteps::touches(const std::vector<SlotId>& written, const std::vector<SlotId>& others) const {
  const auto memory = [&](SlotId s) { return memory_[plan_.slot(s).storage]; };
  return std::ranges::any_of(written, [&](SlotId w) {
    return w && std::ranges::any_of(others, [&](SlotId o) { return o && memory(w) == memory(o); });
  });
}

bool ConcurrentSteps::are_independent(const step::Launch& a, const step::Launch& b) const {
  return !touches(a.out, b.out) && !touches(a.out, b.in) && !touches(b.out, a.in);
}

std::uint32_t ConcurrentSteps::count(StepIndex first) const {
  std::array<const step::Launch*, kMaxConcurrent> steps;
  std::uint32_t count = 0;
  for (; count < kMaxConcurrent; ++count) {
    const auto* const next = candidate(plan_, first + count);
    const auto before = std::span(steps).first(count);
    if (next == nullptr || !std::ranges::all_of(before, [&](const auto* s) { return are_independent(*s, *next); }))
      break;
    steps[count] = next;
  }
  return count;
}

std::uint32_t ConcurrentSteps::heavy(StepIndex first) const {
  const std::uint32_t most = count(first);
  std::uint32_t heavy = 0;
  while (heavy < most && is_heavy(plan_, first + heavy)) ++heavy;
  return heavy;
}

void mark_concurrent(Plan& plan) {
  const ConcurrentSteps together(plan);
  for (StepIndex i = 0; i < plan.steps.size(); ++i) {
    if (auto* launch = plan.steps[i].as<step::Launch>()) launch->concurrent = std::max(together.count(i), 1u);
  }
}

}  // namespace frazil
