#pragma once

#include <span>
#include <thread>
#include <vector>

#include "base/value/error.h"
#include "lazy/record/node.h"

namespace frazil::lazy {

/// A claim on recorded values that threads of an interpreter (lazy/record/interpreter_hooks.h) may share. While it
/// lives, other threads wait before they run anything that its values depend on. It costs nothing without an
/// interpreter.
class Claim {
 public:
  Claim() = default;
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  /// Waits until no other claim overlaps. Returns Code::bad_input if the other claim belongs to this thread: a program
  /// would depend on itself.
  Status take(std::vector<Ref> wanted);

 private:
  static bool overlap(const Claim& a, const Claim& b);

  std::vector<Ref> wanted_;
  std::thread::id thread_;
  bool taken_ = false;
};

}  // namespace frazil::lazy
