#include "lazy/record/around.h"

#include <optional>

namespace frazil::lazy {
namespace {

std::optional<Around> around_now;

}  // namespace

void set_around(const Around& around) { around_now = around; }

bool locked() { return around_now && around_now->locked(); }

void unlocked(const std::function<void()>& work, const std::function<void()>& cancel) {
  locked() ? around_now->unlocked(work, cancel) : work();
}

}  // namespace frazil::lazy
