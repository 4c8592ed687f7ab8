#include "lazy/record/interpreter_hooks.h"

#include <optional>

namespace frazil::lazy {
namespace {

std::optional<InterpreterHooks> current_hooks;

}  // namespace

void set_interpreter_hooks(const InterpreterHooks& around) { current_hooks = around; }

bool locked() { return current_hooks && current_hooks->locked(); }

void unlocked(const std::function<void()>& work, const std::function<void()>& cancel) {
  locked() ? current_hooks->unlocked(work, cancel) : work();
}

}  // namespace frazil::lazy
