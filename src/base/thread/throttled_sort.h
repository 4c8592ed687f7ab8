#pragma once

#include "base/thread/poll_throttle.h"

namespace frazil {

/// Calls sort(throttled), where throttled(less) wraps the comparison `less` so that it polls for cancellation. Returns
/// false if the run must stop; the order is then unspecified.
template <class Sort>
bool sort_unless_stopped(Sort sort) {
  struct Stopped {};
  PollThrottle throttle;
  const auto throttled = [&throttle](auto less) {
    return [&throttle, less](const auto& a, const auto& b) {
      if (throttle.stop(4)) throw Stopped();
      return less(a, b);
    };
  };
  try {
    sort(throttled);
    return true;
  } catch (const Stopped&) {
    return false;
  }
}

}  // namespace frazil
