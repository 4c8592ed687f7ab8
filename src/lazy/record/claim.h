#pragma once

#include <span>
#include <thread>
#include <vector>

#include "base/value/error.h"
#include "lazy/record/node.h"

namespace frazil::lazy {

/// Threads of an interpreter (lazy/record/around.h) may share recorded values: while a claim lives, others wait before
/// they run what its values depend on. Costs nothing elsewhere.
class Claim {
 public:
  Claim() = default;
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  /// Waits until no other claim overlaps. Code::bad_input where the other one is of this thread: a program would need
  /// itself.
  Status take(std::vector<Ref> wanted);

 private:
  static bool overlap(const Claim& a, const Claim& b);

  std::vector<Ref> wanted_;
  std::thread::id thread_;
  bool taken_ = false;
};

}  // namespace frazil::lazy
