#pragma once

#include "base/stop.h"

namespace frazil {

/// Calls sort(paced), where paced(less) is `less` for an algorithm of the standard library. False: the run has to stop,
/// and the order is anything.
template <class Sort>
bool sort_unless_stopped(Sort sort) {
  struct Stopped {};
  Pace pace;
  const auto paced = [&pace](auto less) {
    return [&pace, less](const auto& a, const auto& b) {
      if (pace.stop(4)) throw Stopped();
      return less(a, b);
    };
  };
  try {
    sort(paced);
    return true;
  } catch (const Stopped&) {
    return false;
  }
}

}  // namespace frazil
