#include "exec/run/warm_up.h"

#include <chrono>

#include "exec/native/compile_thread.h"

namespace frazil::exec {

/// Bodies are compiled first. The code of plans, which contains bodies, pays in a later round.
Status warm_up(const std::function<Status()>& run) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 3;
  constexpr std::chrono::milliseconds kRound{10};
  for (int round = 0; round < kRounds; ++round) {
    const auto end = Clock::now() + kRound;
    do FRAZIL_CHECK(run());
    while (Clock::now() < end);
    CompileThread::instance().wait_until_idle();
  }
  return {};
}

}  // namespace frazil::exec
