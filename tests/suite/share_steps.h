#pragma once

#include "base/os/knobs.h"
#include "base/thread/scheduler.h"
#include "exec/run/session.h"

namespace frazil::test {

/// Of FRAZIL_THREADS.
inline unsigned threads_of_run() { return knobs() ? knobs()->threads : 1; }

/// Gives the session so many threads. In the suite every step that has units is then shared, however little it does.
inline void share_steps(exec::Session& session) {
  if (threads_of_run() != 1) session.set_scheduler(scheduler(threads_of_run()));
}

}  // namespace frazil::test
