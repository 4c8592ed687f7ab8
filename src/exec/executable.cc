#include "exec/executable.h"

#include <algorithm>

#include "base/no_memory.h"
#include "exec/session.h"
#include "ir/rebuild.h"
#include "plan/make_plan.h"

namespace frazil {

Result<std::shared_ptr<Executable>> Executable::make(std::shared_ptr<const Graph> graph, ExecOptions options) try {
  auto exe = std::make_shared<Executable>();
  exe->graph_ = std::move(graph);
  exe->options_ = options;
  exe->packs_ = std::make_shared<PackStore>();
  if (options.reference) {
    exe->plan_.graph = exe->graph_;
    return exe;
  }
  FRAZIL_TRY(exe->plan_, make_plan(*exe->graph_, {options.passes, options.verify}, exe->passes_));
  exe->compile();
  return exe;
} catch (const std::bad_alloc&) {
  return no_memory_left();
}

std::unique_ptr<Session> Executable::open(std::shared_ptr<Governor> governor) {
  return std::make_unique<Session>(shared_from_this(), std::move(governor));
}

/// What all sessions share counts against nobody's limit.
Result<std::shared_ptr<Executable>> Executable::version(const Choices& choices) try {
  const Governed nobody(nullptr);
  const std::scoped_lock lock(versions_mutex_);
  if (const auto it = versions_.find(choices.by_node); it != versions_.end()) return it->second;
  FRAZIL_TRY(Graph graph, rebuild(*graph_, choices));
  FRAZIL_TRY(auto made, make(std::make_shared<const Graph>(std::move(graph)), options_));
  made->packs_ = packs_;
  versions_.emplace(choices.by_node, made);
  return made;
} catch (const std::bad_alloc&) {
  return no_memory_left();
}

std::string Executable::explain() const { return str(passes_) + plan_.str(); }

void Executable::compile() {
  auto operand = [&](std::uint32_t s) {
    if (s == kNone) return Operand{};
    const Slot& slot = plan_.slots[s];
    return Operand{slot.storage, slot.offset, static_cast<std::uint32_t>(byte_size(slot.elem))};
  };
  for (const Step& step : plan_.steps) {
    Code code;
    code.first = static_cast<std::uint32_t>(operands_.size());
    code.inputs = static_cast<std::uint16_t>(step.in.size());
    code.outputs = static_cast<std::uint16_t>(step.out.size());
    for (std::uint32_t s : step.in) operands_.push_back(operand(s));
    for (std::uint32_t s : step.out) {
      operands_.push_back(operand(s));
      code.grows |= s != kNone && plan_.storages[plan_.slots[s].storage].place == Place::growing;
    }
    if (step.kind == Step::Kind::kernel) code.kernel = code_for(step.kernel);
    if (code.kernel != nullptr) {
      code.state = state_bytes_;
      const std::size_t more = code.kernel->more_state != nullptr ? code.kernel->more_state(plan_, step) : 0;
      state_bytes_ += (code.kernel->state_bytes + more + 15) & ~std::size_t{15};
    }
    max_operands_ = std::max(max_operands_, step.in.size() + step.out.size());
    code_.push_back(code);
  }
  for (std::uint32_t i = 0; i < plan_.storages.size(); ++i) {
    const Storage& s = plan_.storages[i];
    if (s.swapped && s.place == Place::arena && s.pool != kNone) swapped_.push_back(i);
  }
}

}  // namespace frazil
