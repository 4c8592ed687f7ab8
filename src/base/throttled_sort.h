#pragma once

#include "base/poll_throttle.h"

namespace frazil {

/// Calls sort(throttled), where throttled(less) is `less` for an algorithm of the standard library. False: the run has
/// to stop, and the order is anything.
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
